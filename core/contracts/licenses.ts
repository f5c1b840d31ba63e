import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays, laterBySeconds } from '../kernel/clock.ts'
import { untilNotOvertaken } from '../kernel/concurrency.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { OpenAuthorities } from './authorities.ts'
import { backdatedSeconds } from './authorities.ts'
import type { BoundClusterKey } from './bindings.ts'
import { offlineDaysOf, stateOf } from './contract-rules.ts'
import { makeAddressOf, recordEvent } from './contracts.ts'
import type {
  BindingStore,
  ContractStore,
  ContractUnitOfWork,
  LicenseContent,
  LicenseSigner,
  LicenseStore,
  QuotaUsage,
  Validity,
} from './ports.ts'
import { ContractChanged, ContractClusterMissing, ContractMissing } from './ports.ts'
import type {
  BoundCluster,
  Contract,
  ContractClusterId,
  License,
  LicenseKind,
  ReadLicense,
  ReadRevocations,
} from './types.ts'

/** The contract is not in force, or does not allow offline licenses. */
export const LicenseProhibited = defineFailure(
  'LicenseProhibited',
  'Prohibited',
  'The contract is not in force, or it does not allow offline licenses.',
)
/** The quota of the contract is reached. */
export const QuotaReached = defineFailure(
  'QuotaReached',
  'Forbidden',
  'The quota of the contract is reached for this month.',
)

const onlineDays = 7

export type IssueFailure =
  | Failure<'ContractChanged'>
  | Failure<'ContractMissing'>
  | Failure<'ContractClusterMissing'>
  | Failure<'LicenseProhibited'>
  | Failure<'LicenseAuthorityMissing'>
  | Failure<'QuotaReached'>

/** Returns the flags that verifiers read from a license. */
const flagsOf = ({
  disablesAnalytics,
  enablesClientBilling,
  restrictions,
}: Contract): Readonly<Record<string, string>> => ({
  ActivationMode: 'full',
  ...(disablesAnalytics ? { DisableAnalytics: 'true' } : {}),
  ...(enablesClientBilling ? { EnableClientBilling: 'true' } : {}),
  ...(restrictions === '' ? {} : { Restrictions: restrictions }),
})

/** A certificate has whole seconds. */
const wholeSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000) * 1000

export interface LicenseWindow extends Validity {
  /** No license may be valid after it. */
  readonly latestEnd: Date
  /** The end moves with the time of issue, so that a license is renewed before its end. */
  readonly isRolling: boolean
}

/**
 * Returns the window of a license: never outside of the contract's own, and never outside of the authority's.
 *
 * @internal
 */
export const windowOf = (contract: Contract, kind: LicenseKind, now: Date, authority: Validity): LicenseWindow => {
  const days = kind === 'online' ? onlineDays : offlineDaysOf(contract.restrictions)
  const start = wholeSeconds(laterBySeconds(now, -backdatedSeconds).getTime())
  const latestEnd = wholeSeconds(Math.min(contract.endsAt.getTime(), authority.notAfter.getTime()))
  const end = days === undefined ? latestEnd : wholeSeconds(laterByDays(now, days).getTime())
  return {
    notBefore: new Date(Math.max(contract.startsAt.getTime(), authority.notBefore.getTime(), start)),
    notAfter: new Date(Math.min(latestEnd, end)),
    latestEnd: new Date(latestEnd),
    isRolling: days !== undefined,
  }
}

const isSameWindow = (a: Validity, b: Validity): boolean =>
  a.notBefore.getTime() === b.notBefore.getTime() && a.notAfter.getTime() === b.notAfter.getTime()

/** A certificate has mail addresses in ASCII only. With another one, verifiers refuse it as a whole. */
const ascii = /^[\x21-\x7e]+$/

const contentOf = (
  contract: Contract,
  { clusterUid }: BoundCluster,
  { notBefore, notAfter }: Validity,
): LicenseContent => ({
  clusterUid,
  features: contract.features,
  plan: `${contract.product}-enterprise`,
  productLine: contract.product,
  tier: 'enterprise',
  flags: flagsOf(contract),
  licensee:
    [...contract.emails.licenseUsers, ...contract.emails.contactPerson].find((address) => ascii.test(address)) ?? '',
  notBefore,
  notAfter,
})

/** Returns why no license of that kind may be issued now. */
const prohibition = (contract: Contract, kind: LicenseKind, now: Date): Failure<'LicenseProhibited'> | undefined => {
  const state = stateOf(contract, now)
  if (state === 'revoked') return LicenseProhibited('The contract is revoked.')
  if (state === 'expired') return LicenseProhibited('The contract has expired.')
  if (state === 'scheduled') return LicenseProhibited('The contract has not started yet.')
  return kind === 'offline' && !contract.allowsOffline
    ? LicenseProhibited('The contract does not allow offline licenses.')
    : undefined
}

export interface IssueDeps {
  readonly authorities: Pick<OpenAuthorities, 'current'>
  readonly bindings: Pick<BindingStore, 'find'>
  readonly clock: Clock
  readonly contracts: Pick<ContractStore, 'get'>
  readonly licenses: Pick<LicenseStore, 'findNewest'>
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

/**
 * Reports whether a license that was issued before serves as well as a new one: its content is the same, it is valid
 * now and not longer than a new one could be. One whose end moves with the time of issue is renewed when half of its
 * life has passed.
 *
 * @internal
 */
export const isStillGood = (
  license: Pick<License, 'contentKey' | 'notBefore' | 'notAfter'>,
  contentKey: string,
  { latestEnd, isRolling }: LicenseWindow,
  now: Date,
): boolean => {
  const [start, end] = [license.notBefore.getTime(), license.notAfter.getTime()]
  if (license.contentKey !== contentKey || now.getTime() < start || now.getTime() >= end || end > latestEnd.getTime())
    return false
  return end === latestEnd.getTime() || (isRolling && end - now.getTime() > (end - start) / 2)
}

/** How often an issue starts again because the contract has changed since it was read. */
const maxAttempts = 3

export type LicenseRequest = BoundClusterKey & { readonly kind: LicenseKind }
export type Issue = (call: SignedInCall<IssuedLicense>, request: LicenseRequest) => Outcome<IssueFailure, IssuedLicense>

const clusterMissing = (id: ContractClusterId): Failure<'ContractClusterMissing'> =>
  ContractClusterMissing(`The contract has no cluster with the id ${id}.`)

/**
 * Issues a license for a bound cluster. A license that was issued before and would have the same content is returned
 * again. The certificate leaves the process only after its row is committed.
 */
export const makeIssueLicense = (deps: IssueDeps): Issue => {
  const addressOf = makeAddressOf(deps.users)
  const attempt: Issue = async (call, { ownerId, id, clusterId, kind }) => {
    const now = deps.clock.now()
    const contract = await deps.contracts.get(ownerId, id)
    if (contract === undefined) return left(ContractMissing(`The contract ${id} does not exist.`))
    const binding = await deps.bindings.find(id, clusterId)
    if (binding === undefined) return left(clusterMissing(clusterId))
    const prohibited = prohibition(contract, kind, now)
    if (prohibited !== undefined) return left(prohibited)
    if (await isQuotaReached(deps.quotaUsage, contract, now))
      return left(QuotaReached('The quota of the contract is reached for this month.'))
    const current = await deps.authorities.current()
    if (isLeft(current)) return current
    const authority = current.right
    const window = windowOf(contract, kind, now, authority)
    const content = contentOf(contract, binding, window)
    const contentKey = deps.signer.contentKey(authority.id, content)
    const isGood = (license: License | undefined): license is License =>
      license !== undefined && isStillGood(license, contentKey, window, now)
    // Signed before the transaction, which may run again; the serial is used at most once.
    const signed = isGood(await deps.licenses.findNewest(id, binding.clusterUid, kind))
      ? undefined
      : await deps.signer.sign(authority, content)
    const by = await addressOf(call)
    return deps.unitOfWork.run<IssueFailure, IssuedLicense>(call, async (stores) => {
      const [locked] = await stores.contracts.lock(ownerId, [id])
      const still = locked === undefined ? undefined : await stores.bindings.find(id, clusterId)
      if (locked === undefined || still === undefined) return left(clusterMissing(clusterId))
      const late = prohibition(locked, kind, now)
      if (late !== undefined) return left(late)
      // Another change of the contract, such as a new document, makes no difference.
      const lateWindow = windowOf(locked, kind, now, authority)
      if (
        !isSameWindow(window, lateWindow) ||
        contentKey !== deps.signer.contentKey(authority.id, contentOf(locked, still, lateWindow))
      )
        return left(contractChanged())
      const newest = await stores.licenses.findNewest(id, binding.clusterUid, kind)
      if (isGood(newest)) return right({ contract: locked, license: newest })
      if (signed === undefined) return left(contractChanged())
      const license: License = {
        ...signed,
        contractId: id,
        ownerId,
        clusterUid: binding.clusterUid,
        kind,
        authorityId: authority.id,
        notBefore: content.notBefore,
        notAfter: content.notAfter,
        contentKey,
        issuedAt: now,
        issuedBy: by,
        revokedAt: undefined,
      }
      await stores.licenses.insert(license)
      const changes = {
        serial: license.serial,
        cluster: license.clusterUid,
        kind,
        notAfter: license.notAfter.toISOString(),
      }
      await recordEvent(stores, locked, { event: 'license.issued', by, at: now, changes })
      return right({ contract: locked, license })
    })
  }
  return (call, request) =>
    untilNotOvertaken(
      maxAttempts,
      ({ tag }) => tag === 'ContractChanged',
      () => attempt(call, request),
    )
}

const contractChanged = (): Failure<'ContractChanged'> =>
  ContractChanged('The contract was changed during the request. Try again.')

/** What a verifier asks for. */
export interface VerificationRequest {
  readonly now: Date
  readonly feature: string | undefined
  /** Undefined: the verifier does not read revocation lists. */
  readonly revocations: ReadRevocations | undefined
}

/** Returns why a verifier must refuse a license; empty if it must accept it. */
export const licenseFaults = (
  license: ReadLicense,
  { now, feature, revocations }: VerificationRequest,
): readonly string[] => [
  ...(license.isTrusted ? [] : ['It is not signed by a known authority.']),
  ...(license.isForClients ? [] : ['It is not a license: its extended key usage is not clientAuth.']),
  ...(now.getTime() < license.notBefore.getTime()
    ? [`It is not valid before ${license.notBefore.toISOString()}.`]
    : []),
  ...(now.getTime() > license.notAfter.getTime() ? [`It expired at ${license.notAfter.toISOString()}.`] : []),
  ...(license.authorityEnd !== undefined && now.getTime() > license.authorityEnd.getTime()
    ? [`The authority that signed it expired at ${license.authorityEnd.toISOString()}.`]
    : []),
  ...(license.matchesCluster === false ? ['It is for another cluster.'] : []),
  ...(feature === undefined || license.features.includes(feature)
    ? []
    : [`It does not license the feature ${feature}.`]),
  // Without the list of its authority, a license would be accepted by removing that list from the file.
  ...(revocations === undefined || license.authority === undefined || revocations.listed.has(license.authority)
    ? []
    : ['There is no revocation list of the authority that signed it. Fetch a new one.']),
  ...(revocations?.revoked.has(license.serial) === true ? ['It was revoked.'] : []),
]
