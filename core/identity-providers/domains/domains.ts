import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { Entropy } from '../../kernel/secret.ts'
import { randomBase62 } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { AddressReader } from '../../organizations/invitations/ports.ts'
import { auditOfDomain } from '../audit.ts'
import { DomainNotProven, DomainRefused, OrganizationDomainMissing } from '../failures.ts'
import type { DomainProofs, DomainStore, ProviderStores } from '../ports.ts'
import type { DomainId, OrganizationDomain } from '../types.ts'

/** Maximum number of domains of an organization. */
const maxDomains = 50
const tokenLength = 40
/** A verified domain is checked again each day. */
const checkDays = 1
/** A domain whose proof is missing for this many days is no longer verified. DNS is sometimes away. */
const graceDays = 3
const domainsAtOnce = 100

export interface DomainDeps {
  readonly domains: DomainStore
  readonly unitOfWork: UnitOfWork<ProviderStores>
  readonly addresses: AddressReader
  readonly proofs: DomainProofs
  readonly entropy: Entropy
  readonly clock: Clock
}

/** Returns the domain in the form of addresses: ASCII, lower case, at least two labels. */
const parseDomain = (text: string, addresses: AddressReader): string | undefined => {
  const address = addresses.read(`a@${text}`)
  if (isLeft(address)) return undefined
  const domain = address.right.key.slice(address.right.key.lastIndexOf('@') + 1)
  return domain.includes('.') && domain.length <= 253 ? domain : undefined
}

export interface AddDomainInput {
  readonly orgId: OrgId
  readonly domain: string
}

/** Adds a domain, which is not verified yet. Several organizations may add one; one of them verifies it. */
export const makeAddDomain =
  (deps: DomainDeps) =>
  async (
    call: SignedInCall<OrganizationDomain>,
    { orgId, domain: text }: AddDomainInput,
  ): Outcome<Failure<'DomainRefused'>, OrganizationDomain> => {
    const domain = parseDomain(text, deps.addresses)
    if (domain === undefined) return left(DomainRefused('domain: must be a domain name, such as example.org.'))
    return deps.unitOfWork.run<Failure<'DomainRefused'>, OrganizationDomain>(call, async (stores) => {
      await stores.organizations.organizations.lock(orgId)
      if ((await stores.domains.list(orgId)).length >= maxDomains)
        return left(DomainRefused(`The organization has ${maxDomains} domains already. Remove one first.`))
      const token = randomBase62(deps.entropy, tokenLength)
      const isNew = await stores.domains.insert({ orgId, domain, token, createdAt: deps.clock.now() })
      if (!isNew) return left(DomainRefused('domain: the organization has this domain already.'))
      const added = (await stores.domains.list(orgId)).find((each) => each.domain === domain)
      if (added === undefined) throw new Error('a domain that was just inserted is not there')
      await stores.audit.record(auditOfDomain(added, 'organization_domain.added'))
      return right(added)
    })
  }

interface DomainRef {
  readonly orgId: OrgId
  readonly id: DomainId
}

const domainMissing = () => left(OrganizationDomainMissing('The organization has no such domain.'))

type VerifyFailure = Failure<'OrganizationDomainMissing'> | Failure<'DomainNotProven'>

/** Looks for the proof of a domain now, and marks the domain as verified if it is there. */
export const makeVerifyDomain =
  (deps: DomainDeps) =>
  async (
    call: SignedInCall<OrganizationDomain>,
    { orgId, id }: DomainRef,
  ): Outcome<VerifyFailure, OrganizationDomain> => {
    const found = await deps.domains.find(orgId, id)
    if (found === undefined) return domainMissing()
    const proof = await deps.proofs.find(found.domain, found.token, call.signal)
    if (proof !== 'present')
      return left(
        DomainNotProven(
          `The proof of ${found.domain} was not found, neither as a TXT record of _moorage.${found.domain} nor at ` +
            `https://${found.domain}/.well-known/moorage-domain. A new record may take an hour to be seen.`,
        ),
      )
    return deps.unitOfWork.run<VerifyFailure, OrganizationDomain>(call, async (stores) => {
      const isOwn = await stores.domains.verify(id, found.domain, deps.clock.now())
      const verified = isOwn ? await stores.domains.find(orgId, id) : undefined
      if (!isOwn)
        return left(DomainNotProven('Another organization has verified this domain. It must remove the domain first.'))
      if (verified === undefined) return domainMissing()
      if (found.verifiedAt === undefined)
        await stores.audit.record(auditOfDomain(verified, 'organization_domain.verified'))
      return right(verified)
    })
  }

/** Removes a domain: it no longer leads to the providers of the organization. */
export const makeRemoveDomain =
  (deps: Pick<DomainDeps, 'unitOfWork'>) =>
  (call: SignedInCall<void>, { orgId, id }: DomainRef): Outcome<Failure<'OrganizationDomainMissing'>, void> =>
    deps.unitOfWork.run<Failure<'OrganizationDomainMissing'>, void>(call, async (stores) => {
      const domain = await stores.domains.find(orgId, id)
      if (domain === undefined || !(await stores.domains.remove(orgId, id))) return domainMissing()
      await stores.audit.record(auditOfDomain(domain, 'organization_domain.removed'))
      return right(undefined)
    })

/**
 * Checks the verified domains again, each once a day. One whose proof has been missing for three days is no longer
 * verified. Where neither DNS nor the web server answers, nothing changes.
 */
export const makeCheckDomains = (deps: Omit<DomainDeps, 'addresses' | 'entropy'>) => {
  const check = async (call: Call, domain: OrganizationDomain): Promise<void> => {
    const proof = await deps.proofs.find(domain.domain, domain.token, call.signal)
    const now = deps.clock.now()
    await deps.unitOfWork.run<never, void>(call, async (stores) => {
      if (proof === 'present') {
        await stores.domains.verify(domain.id, domain.domain, now)
        return right(undefined)
      }
      const since = domain.failingSince ?? now
      const isLost = proof === 'absent' && since.getTime() <= laterByDays(now, -graceDays).getTime()
      if (isLost) {
        await stores.domains.unverify(domain.id, now)
        await stores.audit.record(auditOfDomain(domain, 'organization_domain.lost'))
      } else await stores.domains.markFailing(domain.id, since, now)
      return right(undefined)
    })
  }
  return async (call: Call): Promise<void> => {
    const before = laterByDays(deps.clock.now(), -checkDays)
    while (!call.signal.aborted) {
      const due = await deps.domains.toCheck(before, domainsAtOnce)
      for (const domain of due) await check(call, domain)
      if (due.length < domainsAtOnce) break
    }
  }
}
