import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { definedFields } from '../kernel/json.ts'
import { accountNameKey, parseAccountName } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Allowances } from './attempt-ports.ts'
import { parseEmailAddress } from './emails/email-address.ts'
import type { DomainNames, IdentityChanges, IdentityStores } from './ports.ts'
import type { EmailAddress } from './types.ts'
import type { SiteRules } from './accounts/ports.ts'

export const RegistrationClosed = defineFailure(
  'RegistrationClosed',
  'Forbidden',
  'The installation does not accept sign-ups.',
)
/** The site does not accept the domain of the address. */
export const EmailDomainRefused = defineFailure(
  'EmailDomainRefused',
  'Unprocessable',
  'The address is not of a domain from which users may sign up.',
)
export const DomainInvalid = defineFailure('DomainInvalid', 'Unprocessable', 'The domain is not a domain name.')

/** The audit rows about the whole site, with the domain or the address that an action concerns. */
const auditOf = defineAudit(
  'site',
  ['registration.opened', 'registration.closed', 'domain.allowed', 'domain.disallowed', 'mail.tested'],
  (objectName: string | undefined) => definedFields({ objectName }),
)

const domainOf = (email: EmailAddress): string => email.key.slice(email.key.lastIndexOf('@') + 1)

/**
 * Reports whether an ordinary account may have an address. Its domain must equal one of the allowed domains; subdomains
 * do not match.
 */
export const isDomainAllowed = (rules: Pick<SiteRules, 'allowedDomains'>, email: EmailAddress): boolean =>
  rules.allowedDomains.length === 0 || rules.allowedDomains.includes(domainOf(email))

/** The failure for an address of another domain. It names the allowed domains, which are public. */
export const emailDomainRefused = (rules: Pick<SiteRules, 'allowedDomains'>): Failure<'EmailDomainRefused'> =>
  EmailDomainRefused(`The address must be of one of these domains: ${rules.allowedDomains.join(', ')}.`)

/** Parses a domain in the form used in addresses: ASCII, lower case, at least two labels. @internal */
export const parseDomain = (text: string, domains: DomainNames): Either<Failure<'DomainInvalid'>, string> => {
  const address = parseEmailAddress(`a@${text}`, domains)
  const domain = isLeft(address) ? '' : domainOf(address.right)
  return domain.includes('.')
    ? right(domain)
    : left(DomainInvalid('The domain must be a domain name, such as example.org.'))
}

export const DomainThere = defineFailure('DomainThere', 'Conflict', 'The domain is already on the list.')
export const DomainNotThere = defineFailure('DomainNotThere', 'Unprocessable', 'The domain is not on the list.')

export interface ChangeSiteRulesDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly domains: DomainNames
}

/** Opens or closes registration. Setting the current value changes and records nothing. */
export const makeOpenRegistration =
  (deps: Pick<ChangeSiteRulesDeps, 'unitOfWork'>) =>
  (call: SignedInCall, isOpen: boolean): Outcome<never, void> =>
    deps.unitOfWork.run<never, void>(call, async ({ siteRules, audit }) => {
      if ((await siteRules.read()).isRegistrationOpen === isOpen) return right(undefined)
      await siteRules.setRegistrationOpen(isOpen)
      await audit.record(auditOf(undefined, isOpen ? 'registration.opened' : 'registration.closed'))
      return right(undefined)
    })

type AllowFailure = Failure<'DomainInvalid'> | Failure<'DomainThere'>

/** Adds a domain to the allowed ones. Adding the first one excludes all other domains. */
export const makeAllowDomain =
  (deps: ChangeSiteRulesDeps) =>
  async (call: SignedInCall, text: string): Outcome<AllowFailure, void> => {
    const domain = parseDomain(text, deps.domains)
    if (isLeft(domain)) return domain
    return deps.unitOfWork.run<AllowFailure, void>(call, async ({ siteRules, audit }) => {
      if (!(await siteRules.addDomain(domain.right))) return left(DomainThere('The domain is already on the list.'))
      await audit.record(auditOf(domain.right, 'domain.allowed'))
      return right(undefined)
    })
  }

/** Removes a domain from the list. Accounts with addresses of that domain keep them. */
export const makeDisallowDomain =
  (deps: ChangeSiteRulesDeps) =>
  async (call: SignedInCall, text: string): Outcome<Failure<'DomainNotThere'>, void> => {
    const domain = parseDomain(text, deps.domains)
    const missing = left(DomainNotThere('This domain is not on the list.'))
    if (isLeft(domain)) return missing
    return deps.unitOfWork.run<Failure<'DomainNotThere'>, void>(call, async ({ siteRules, audit }) => {
      if (!(await siteRules.removeDomain(domain.right))) return missing
      await audit.record(auditOf(domain.right, 'domain.disallowed'))
      return right(undefined)
    })
  }

/** The result of checking a name or address before a form is sent. */
export interface Verdict {
  readonly status: 'VALID' | 'USER_EXISTS' | 'RESERVED' | 'INVALID' | 'NOT_ALLOWED'
  readonly message: string
}

const valid: Verdict = { status: 'VALID', message: '' }

export interface ValidateNameInput {
  readonly name: string
  /** The present name of the account that is renamed. */
  readonly current?: string | undefined
}

/**
 * Checks the name of a new account, or a new name of the account `current`. Its own name in another spelling is valid.
 */
export const makeValidateName =
  ({ stores }: { readonly stores: Pick<IdentityStores, 'users'> }) =>
  async (_call: SignedInCall<never>, { name, current }: ValidateNameInput): Outcome<never, Verdict> => {
    const parsed = parseAccountName(name)
    if (isLeft(parsed)) return right({ status: parsed.left.reason, message: parsed.left.message })
    if (current !== undefined && accountNameKey(current) === accountNameKey(name)) return right(valid)
    const kind = await stores.users.kindOfName(name)
    return right(
      kind === undefined
        ? valid
        : { status: 'USER_EXISTS', message: 'This name is already in use by a user or an organization.' },
    )
  }

/** The limit of address checks is reached. */
export const TooManyAddressChecks = defineFailure(
  'TooManyAddressChecks',
  'Backoff',
  'The caller has checked too many addresses; try again after `Retry-After` seconds.',
)

export interface ValidateEmailDeps {
  readonly stores: IdentityStores
  readonly domains: DomainNames
  readonly allowances: Allowances
}

/**
 * Checks an e-mail address. Whether an account has the address is disclosed a limited number of times only, per user
 * and per the user's network.
 */
export const makeValidateEmail =
  (deps: ValidateEmailDeps) =>
  async (
    { principal, sourceIp }: SignedInCall<never>,
    text: string,
  ): Outcome<Failure<'TooManyAddressChecks'>, Verdict> => {
    const email = parseEmailAddress(text, deps.domains)
    if (isLeft(email)) return right({ status: 'INVALID', message: email.left.message })
    const rules = await deps.stores.siteRules.read()
    if (!isDomainAllowed(rules, email.right))
      return right({ status: 'NOT_ALLOWED', message: emailDomainRefused(rules).message })
    const retryAfterSeconds =
      (await deps.allowances.take('address-check', String(principal.impersonator?.userId ?? principal.userId))) ??
      (await deps.allowances.take('address-check-network', sourceIp))
    if (retryAfterSeconds !== undefined)
      return left(TooManyAddressChecks('Too many addresses were checked; wait and try again.', { retryAfterSeconds }))
    const isTaken = await deps.stores.emails.isTaken(email.right.key)
    return right(isTaken ? { status: 'USER_EXISTS', message: 'This e-mail address is already in use.' } : valid)
  }

/** Posts a mail whose only content is that mail works. */
export const makeSendTestMail =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges>; readonly domains: DomainNames }) =>
  async (call: SignedInCall, address: string): Outcome<Failure<'EmailInvalid'>, void> => {
    const email = parseEmailAddress(address, deps.domains)
    if (isLeft(email)) return email
    return deps.unitOfWork.run<Failure<'EmailInvalid'>, void>(call, async (stores) => {
      await stores.mail.post({
        to: email.right.text,
        subject: 'Test mail',
        paragraphs: [`The administrator ${call.principal.login} requested this mail to test whether mail arrives.`],
      })
      await stores.audit.record(auditOf(email.right.text, 'mail.tested'))
      return right(undefined)
    })
  }
