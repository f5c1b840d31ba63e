import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays, laterBySeconds } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { isObject, parseJson } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { OpenAuthorityNow } from './authorities.ts'
import type { BoundClusterKey } from './bindings.ts'
import { makeAddressOf, recordEvent } from './contract-events.ts'
import { stateOf } from './contract-rules.ts'
import type { BindingStore, ContractStore, ContractUnitOfWork, LicenseContent, LicenseSigner, LicenseStore, QuotaUsage } from './ports.ts'
import { ContractClusterMissing, ContractMissing } from './ports.ts'
import type { BoundCluster, Contract, License, LicenseKind } from './types.ts'

/** The contract is not in force, or does not allow offline licenses. */
export const LicenseProhibited = defineFailure('LicenseProhibited', 'Prohibited')
/** The quota of the contract is reached. */
export const QuotaReached = defineFailure('QuotaReached', 'Forbidden')

/** A cluster whose clock is slightly behind must not refuse a fresh license. */
const backdatedSeconds = 300
const onlineDays = 7

export type IssueFailure =
  | Failure<'ContractMissing'>
  | Failure<'ContractClusterMissing'>
  | Failure<'LicenseProhibited'>
  | Failure<'LicenseAuthorityMissing'>
  | Failure<'QuotaReached'>

/** Returns the flags that verifiers read from a license. */
export const flagsOf = ({ disablesAnalytics, enablesClientBilling, restrictions }: Contract): Readonly<Record<string, string>> => ({
  ActivationMode: 'full',
  ...(disablesAnalytics ? { DisableAnalytics: 'true' } : {}),
  ...(enablesClientBilling ? { EnableClientBilling: 'true' } : {}),
  ...(restrictions === '' ? {} : { Restrictions: restrictions }),
})

const offlineDaysOf = ({ restrictions }: Contract): number | undefined => {
  const parsed = restrictions === '' ? undefined : parseJson(restrictions)
  const days = parsed?.ok === true && isObject(parsed.value) ? parsed.value['offlineTtlDays'] : undefined
  return typeof days === 'number' && days >= 1 ? days : undefined
}

/** Returns the window of a license: never outside of the contract's own. */
export const windowOf = (contract: Contract, kind: LicenseKind, now: Date): { readonly notBefore: Date; readonly notAfter: Date } => {
  const days = kind === 'online' ? onlineDays : offlineDaysOf(contract)
  const end = days === undefined ? contract.endsAt : laterByDays(now, days)
  const start = laterBySeconds(now, -backdatedSeconds)
  return {
    notBefore: new Date(Math.max(contract.startsAt.getTime(), start.getTime())),
    notAfter: new Date(Math.min(contract.endsAt.getTime(), end.getTime())),
  }
}

const contentOf = (contract: Contract, { clusterUid }: BoundCluster, kind: LicenseKind, now: Date): LicenseContent => ({
  clusterUid,
  features: contract.features,
  plan: `${contract.product}-enterprise`,
  productLine: contract.product,
  tier: 'enterprise',
  flags: flagsOf(contract),
  licensee: contract.emails.licenseUsers[0] ?? contract.emails.contactPerson[0] ?? '',
  ...windowOf(contract, kind, now),
})

/** Returns why no license of that kind may be issued now. */
const prohibition = (contract: Contract, kind: LicenseKind, now: Date): Failure<'LicenseProhibited'> | undefined => {
  const state = stateOf(contract, now)
  if (state === 'revoked') return LicenseProhibited('The contract is revoked.')
  if (state === 'expired') return LicenseProhibited('The contract has expired.')
  if (state === 'scheduled') return LicenseProhibited('The contract has not started yet.')
  return kind === 'offline' && !contract.allowsOffline ? LicenseProhibited('The contract does not allow offline licenses.') : undefined
}

export interface IssueDeps {
  readonly bindings: Pick<BindingStore, 'find'>
  readonly clock: Clock
  readonly contracts: Pick<ContractStore, 'get'>
  readonly licenses: Pick<LicenseStore, 'findNewest'>
  readonly openAuthority: OpenAuthorityNow
  readonly quotaUsage: QuotaUsage
  readonly signer: LicenseSigner
  readonly unitOfWork: ContractUnitOfWork
  readonly users: Pick<UserStore, 'byId'>
}

export interface IssuedLicense {
  readonly contract: Contract
  readonly license: License
}

const isQuotaReached = async (usage: QuotaUsage, contract: Contract, now: Date): Promise<boolean> => {
  const { quota } = contract
  if (!quota.enabled || !quota.disableLicenseOnLimitReached) return false
  const used = await usage.usedThisMonth(contract, now)
  return used !== undefined && used >= quota.limit
}

/** An online license is renewed when half of its life has passed; an offline one only when its content changes. */
const isStillGood = (license: License, contentKey: string, kind: LicenseKind, now: Date): boolean => {
  if (license.notAfter.getTime() <= now.getTime()) return false
  if (kind === 'offline') return license.contentKey === contentKey
  return license.notAfter.getTime() - now.getTime() > (license.notAfter.getTime() - license.notBefore.getTime()) / 2
}

/**
 * Issues a license for a bound cluster. A license that was issued before and would have the same content is returned again. The
 * certificate leaves the process only after its row is committed.
 */
export const makeIssueLicense = (deps: IssueDeps) => {
  const addressOf = makeAddressOf(deps.users)
  return async (
    call: SignedInCall<IssuedLicense>,
    { ownerId, id, clusterId, kind }: BoundClusterKey & { readonly kind: LicenseKind },
  ): Outcome<IssueFailure, IssuedLicense> => {
    const now = deps.clock.now()
    const contract = await deps.contracts.get(ownerId, id)
    if (contract === undefined) return left(ContractMissing(`The contract ${id} does not exist.`))
    const binding = await deps.bindings.find(id, clusterId)
    if (binding === undefined) return left(ContractClusterMissing(`The contract has no cluster with the id ${clusterId}.`))
    const prohibited = prohibition(contract, kind, now)
    if (prohibited !== undefined) return left(prohibited)
    if (await isQuotaReached(deps.quotaUsage, contract, now)) return left(QuotaReached('The quota of the contract is reached for this month.'))
    const authority = await deps.openAuthority()
    if (isLeft(authority)) return authority
    const content = contentOf(contract, binding, kind, now)
    const contentKey = deps.signer.contentKey(authority.right.id, content)
    const known = await deps.licenses.findNewest(id, binding.clusterUid, kind)
    const isKnown = known !== undefined && isStillGood(known, contentKey, kind, now)
    // Signed before the transaction, which may run again; the serial is used at most once.
    const signed = isKnown ? undefined : await deps.signer.sign(authority.right, content)
    const by = await addressOf(call)
    return deps.unitOfWork.run<IssueFailure, IssuedLicense>(call, async (stores) => {
      const [locked] = await stores.contracts.lock(ownerId, [id])
      const still = locked === undefined ? undefined : await stores.bindings.find(id, clusterId)
      if (locked === undefined || still === undefined) return left(ContractClusterMissing(`The contract has no cluster with the id ${clusterId}.`))
      const late = prohibition(locked, kind, now)
      if (late !== undefined) return left(late)
      const newest = await stores.licenses.findNewest(id, binding.clusterUid, kind)
      if (newest !== undefined && isStillGood(newest, contentKey, kind, now)) return right({ contract: locked, license: newest })
      if (signed === undefined || locked.version !== contract.version) return left(LicenseProhibited('The contract was changed during the request. Try again.'))
      const license: License = {
        ...signed,
        contractId: id,
        ownerId,
        clusterUid: binding.clusterUid,
        kind,
        authorityId: authority.right.id,
        notBefore: content.notBefore,
        notAfter: content.notAfter,
        contentKey,
        issuedAt: now,
        issuedBy: by,
        revokedAt: undefined,
      }
      await stores.licenses.insert(license)
      const changes = { serial: license.serial, cluster: license.clusterUid, kind, notAfter: license.notAfter.toISOString() }
      await recordEvent(stores, locked, { event: 'license.issued', by, at: now, changes })
      return right({ contract: locked, license })
    })
  }
}
