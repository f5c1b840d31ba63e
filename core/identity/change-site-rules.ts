import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { DomainNames, IdentityChanges } from './ports.ts'
import { parseDomain } from './site-rules.ts'

export const DomainThere = defineFailure('DomainThere', 'Conflict')
export const DomainNotThere = defineFailure('DomainNotThere', 'Unprocessable')

export interface ChangeSiteRulesDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly domains: DomainNames
}

/** Opens or closes sign-up for everyone. Setting what is set already changes and records nothing. */
export const makeOpenRegistration =
  (deps: Pick<ChangeSiteRulesDeps, 'unitOfWork'>) =>
  (call: SignedInCall, isOpen: boolean): Outcome<never, void> =>
    deps.unitOfWork.run<never, void>(call, async ({ siteRules, audit }) => {
      if ((await siteRules.read()).isRegistrationOpen === isOpen) return right(undefined)
      await siteRules.setRegistrationOpen(isOpen)
      await audit.record({ action: isOpen ? 'registration.opened' : 'registration.closed', objectType: 'site' })
      return right(undefined)
    })

type AllowFailure = Failure<'DomainInvalid'> | Failure<'DomainThere'>

/** Lets addresses of one more domain in. The first one shuts out every other domain. */
export const makeAllowDomain =
  (deps: ChangeSiteRulesDeps) =>
  async (call: SignedInCall, text: string): Outcome<AllowFailure, void> => {
    const domain = parseDomain(text, deps.domains)
    if (isLeft(domain)) return domain
    return deps.unitOfWork.run<AllowFailure, void>(call, async ({ siteRules, audit }) => {
      if (!(await siteRules.addDomain(domain.right))) return left(DomainThere('This domain is allowed already.'))
      await audit.record({ action: 'domain.allowed', objectType: 'site', objectName: domain.right })
      return right(undefined)
    })
  }

/** Takes a domain off the list. Accounts that have addresses of it keep them. */
export const makeDisallowDomain =
  (deps: ChangeSiteRulesDeps) =>
  async (call: SignedInCall, text: string): Outcome<Failure<'DomainNotThere'>, void> => {
    const domain = parseDomain(text, deps.domains)
    const missing = left(DomainNotThere('This domain is not on the list.'))
    if (isLeft(domain)) return missing
    return deps.unitOfWork.run<Failure<'DomainNotThere'>, void>(call, async ({ siteRules, audit }) => {
      if (!(await siteRules.removeDomain(domain.right))) return missing
      await audit.record({ action: 'domain.disallowed', objectType: 'site', objectName: domain.right })
      return right(undefined)
    })
  }
