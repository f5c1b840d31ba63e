import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { isActive, parseClusterUid } from './contract-rules.ts'
import type { Issue, IssuedLicense, IssueFailure } from './licenses.ts'
import type { BindingStore, ContractOfCluster } from './ports.ts'
import { ContractClusterMissing, ContractNotUsable, ContractRequestInvalid } from './ports.ts'
import type { ContractId } from './types.ts'

/** No contract of the cluster licenses all features of the request. */
export const FeaturesNotLicensed = defineFailure(
  'FeaturesNotLicensed',
  'Forbidden',
  'No contract of the cluster licenses all of the features.',
)

/** Contracts of one cluster that are considered. A cluster has a few. */
const maxContracts = 1000

export interface MachineLicenseInput {
  /** The UID of the namespace kube-system. */
  readonly cluster: string
  readonly features: readonly string[]
}

interface MachineLicenseDeps {
  readonly authorizer: Pick<Authorizer, 'authorize'>
  readonly bindings: Pick<BindingStore, 'listContractsOf'>
  readonly clock: Clock
  readonly issue: Issue
}

export type MachineLicenseFailure = IssueFailure | Failure<'ContractRequestInvalid'> | Failure<'FeaturesNotLicensed'>

/**
 * Issues an online license for a cluster and renews it, as a program in the cluster asks for it. It uses the contract
 * that ends last of those to which the cluster is bound, that license all features, and for which the caller may issue
 * licenses. A contract whose quota is reached is passed over if another one fits.
 */
export const makeIssueForMachine = ({ authorizer, bindings, clock, issue }: MachineLicenseDeps) => {
  const usable = async (
    { principal }: SignedInCall<never>,
    found: readonly ContractOfCluster[],
  ): Promise<readonly ContractOfCluster[]> => {
    const allowed = new Map<string, boolean>()
    for (const { contract } of found) {
      const { id, ownerName: account } = contract
      // The right is one on all contracts of an account, so one of them is asked about.
      if (!allowed.has(account))
        allowed.set(
          account,
          isRight(await authorizer.authorize(principal, { type: 'contract', account, id }, 'can_issue_license')),
        )
    }
    return found.filter(({ contract }) => allowed.get(contract.ownerName) === true)
  }
  return async (
    call: SignedInCall<IssuedLicense>,
    { cluster, features }: MachineLicenseInput,
  ): Outcome<MachineLicenseFailure, IssuedLicense> => {
    const uid = parseClusterUid(cluster)
    if (isLeft(uid)) return uid
    if (features.length === 0) return left(ContractRequestInvalid('Name at least one feature.'))
    const own = await usable(call, await bindings.listContractsOf(uid.right, maxContracts))
    if (own.length === 0)
      return left(ContractClusterMissing('The cluster is not bound to a contract for which you may issue licenses.'))
    const fitting = own.filter(({ contract }) => features.every((feature) => contract.features.includes(feature)))
    const [newest] = fitting
    if (newest === undefined)
      return left(
        FeaturesNotLicensed('No contract of the cluster licenses all of these features.', { errors: features }),
      )
    const now = clock.now()
    const active = fitting.filter(({ contract }) => isActive(contract, now))
    const [best] = active
    // `issue` says why the contract cannot be used.
    if (best === undefined) return issue(call, requestOf(newest))
    for (const each of active.slice(0, -1)) {
      const issued = await issue(call, requestOf(each))
      if (isRight(issued) || issued.left.tag !== 'QuotaReached') return issued
    }
    return issue(call, requestOf(active.at(-1) ?? best))
  }
}

export interface ProxyInput {
  readonly ownerId: AccountId
  /** The UID of the namespace kube-system. */
  readonly cluster: string
  readonly contractIds: readonly ContractId[]
}
export type ProxyFailure = IssueFailure | Failure<'ContractRequestInvalid'> | Failure<'ContractNotUsable'>

/** Contracts in one request for the values of a proxy. */
const maxProxyContracts = 50

/** Issues the offline licenses of a cluster for several contracts of an account, in the order of the request. */
export const makeIssueForProxy =
  ({
    bindings,
    clock,
    issue,
  }: {
    readonly bindings: Pick<BindingStore, 'listFor'>
    readonly clock: Clock
    readonly issue: Issue
  }) =>
  async (
    { keyed: _stored, ...call }: SignedInCall<never>,
    { ownerId, cluster, contractIds }: ProxyInput,
  ): Outcome<ProxyFailure, readonly IssuedLicense[]> => {
    const uid = parseClusterUid(cluster)
    if (isLeft(uid)) return uid
    const wanted = [...new Set(contractIds)]
    if (wanted.length === 0 || wanted.length > maxProxyContracts)
      return left(ContractRequestInvalid(`Name 1 to ${maxProxyContracts} contracts.`))
    const bound = new Map(
      (await bindings.listFor(ownerId, [uid.right], clock.now())).map(({ binding, contract }) => [
        contract.id,
        { clusterId: binding.id, contract },
      ]),
    )
    const unusable = wanted.filter((id) => bound.get(id)?.contract.allowsOffline !== true)
    if (unusable.length > 0)
      return left(
        ContractNotUsable(
          'The cluster must be bound to each of the contracts, and these must be active contracts of the ' +
            'account that allow offline licenses.',
          { errors: unusable.map(String) },
        ),
      )
    const licenses: IssuedLicense[] = []
    for (const id of wanted) {
      const found = bound.get(id)
      // Each license is a change of its own. One that was issued before a failure is returned again by the next
      // request.
      const issued =
        found === undefined
          ? undefined
          : await issue(call, { ownerId, id, clusterId: found.clusterId, kind: 'offline' })
      if (issued !== undefined && isLeft(issued)) return issued
      if (issued !== undefined) licenses.push(issued.right)
    }
    return right(licenses)
  }

const requestOf = ({ contract, clusterId }: ContractOfCluster) => ({
  ownerId: contract.ownerId,
  id: contract.id,
  clusterId,
  kind: 'online' as const,
})
