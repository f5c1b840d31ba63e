import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterStore } from '../clusters/ports.ts'
import type { Cluster } from '../clusters/types.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { mapPage } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { DuplicateFeatures } from './contract-rules.ts'
import { duplicateFeatures, maxBindings, parseClusterUid } from './contract-rules.ts'
import type { ContractKey } from './contracts.ts'
import type { BindingStore, ContractStore, LicensedBinding, LicensedCluster } from './ports.ts'
import { ContractMissing, ContractRequestInvalid } from './ports.ts'
import type { BoundCluster, Contract, ContractId } from './types.ts'

/**
 * A cluster with respect to one contract: whether it is bound and imported, and which features other contracts license
 * too.
 */
export interface ContractClusterStatus {
  readonly clusterUid: string
  /** The contract that was asked about; undefined if none was. */
  readonly contractId: ContractId | undefined
  readonly binding: BoundCluster | undefined
  /** The owner's record of the cluster. */
  readonly imported: Pick<Cluster, 'name' | 'displayName'> | undefined
  /** The first contract in force that licenses the cluster. */
  readonly associatedContractId: ContractId | undefined
  readonly duplicates: readonly DuplicateFeatures[]
  /** Why the status is not known; empty otherwise. */
  readonly error: string
}

interface StatusDeps {
  readonly bindings: Pick<BindingStore, 'listFor' | 'listOf' | 'listLicensed'>
  readonly clusters: Pick<ClusterStore, 'listOf'>
  readonly contracts: Pick<ContractStore, 'get'>
  readonly clock: Clock
}

/** What is known about the clusters of one account. */
interface Known {
  readonly licensed: ReadonlyMap<string, readonly LicensedBinding[]>
  readonly imported: ReadonlyMap<string, Cluster>
}

const knownFrom = (licensed: readonly LicensedBinding[], records: readonly Cluster[]): Known => ({
  licensed: Map.groupBy(licensed, ({ binding }) => binding.clusterUid),
  imported: new Map(records.map((record) => [record.uid, record])),
})

const statusOf = (
  { licensed, imported }: Known,
  clusterUid: string,
  contract: Contract | undefined,
  own?: BoundCluster,
): ContractClusterStatus => {
  const all = licensed.get(clusterUid) ?? []
  const mine = contract === undefined ? all[0] : all.find((each) => each.contract.id === contract.id)
  const about = contract ?? mine?.contract
  const others = all.map((each) => each.contract)
  return {
    clusterUid,
    contractId: contract?.id,
    binding: own ?? mine?.binding,
    imported: imported.get(clusterUid),
    associatedContractId: all[0]?.contract.id,
    duplicates: about === undefined ? [] : duplicateFeatures(about, others),
    error: '',
  }
}

const unknown = (clusterUid: string, contractId: ContractId | undefined, error: string): ContractClusterStatus => ({
  clusterUid,
  contractId,
  error,
  binding: undefined,
  imported: undefined,
  associatedContractId: undefined,
  duplicates: [],
})

/** Returns the clusters of a contract, by name, with the status of each. `records` are those of the owner. */
export const statusesOfContract = async (
  bindings: Pick<BindingStore, 'listFor' | 'listOf'>,
  records: readonly Cluster[],
  contract: Contract,
  page: PageRequest,
  now: Date,
): Promise<Page<ContractClusterStatus>> => {
  const bound = await bindings.listOf(contract.id, page)
  const licensed = await bindings.listFor(
    contract.ownerId,
    bound.items.map(({ clusterUid }) => clusterUid),
    now,
  )
  const found = knownFrom(licensed, records)
  return mapPage(bound, (binding) => statusOf(found, binding.clusterUid, contract, binding))
}

export interface ClusterStatusesInput {
  readonly ownerId: AccountId
  readonly clusters: readonly string[]
  readonly contractId: ContractId | undefined
}

/** Returns the status of one cluster. What is wrong with it is its `error`. */
export const makeGetClusterStatus = (deps: StatusDeps) => {
  const list = makeListClusterStatuses(deps)
  return async (
    call: SignedInCall<never>,
    { cluster, ...about }: Omit<ClusterStatusesInput, 'clusters'> & { readonly cluster: string },
  ): Outcome<Failure<'ContractRequestInvalid'>, ContractClusterStatus> => {
    const listed = await list(call, { ...about, clusters: [cluster] })
    return isLeft(listed) ? listed : right(listed.right[0] ?? unknown(cluster, about.contractId, ''))
  }
}

/** Returns the status of each cluster, in the order of the request. What is wrong with one of them is its `error`. */
export const makeListClusterStatuses =
  (deps: StatusDeps) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, clusters, contractId }: ClusterStatusesInput,
  ): Outcome<Failure<'ContractRequestInvalid'>, readonly ContractClusterStatus[]> => {
    if (clusters.length > maxBindings) return left(ContractRequestInvalid(`Name at most ${maxBindings} clusters.`))
    const contract = contractId === undefined ? undefined : await deps.contracts.get(ownerId, contractId)
    if (contractId !== undefined && contract === undefined)
      return right(clusters.map((uid) => unknown(uid, contractId, `The contract ${contractId} does not exist.`)))
    const parsed = clusters.map(parseClusterUid)
    const uids = [...new Set(parsed.flatMap((uid) => (isLeft(uid) ? [] : [uid.right])))]
    const [licensed, records] = await Promise.all([
      deps.bindings.listFor(ownerId, uids, deps.clock.now()),
      deps.clusters.listOf(ownerId),
    ])
    const found = knownFrom(licensed, records)
    return right(
      parsed.map((uid, index) =>
        isLeft(uid)
          ? unknown(clusters[index] ?? '', contractId, uid.left.message)
          : statusOf(found, uid.right, contract),
      ),
    )
  }

/** Returns the clusters of a contract, by name, with the status of each. */
export const makeListContractClusters =
  (deps: StatusDeps) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, id, page }: ContractKey & { readonly page: PageRequest },
  ): Outcome<Failure<'ContractMissing'>, Page<ContractClusterStatus>> => {
    const contract = await deps.contracts.get(ownerId, id)
    if (contract === undefined) return left(ContractMissing(`The contract ${id} does not exist.`))
    return right(
      await statusesOfContract(deps.bindings, await deps.clusters.listOf(ownerId), contract, page, deps.clock.now()),
    )
  }

/** Returns the clusters of the active offline contracts of an account, by UID. */
export const makeListLicensedClusters =
  ({ bindings, clock }: StatusDeps) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, page }: { readonly ownerId: AccountId; readonly page: PageRequest },
  ): Outcome<never, Page<LicensedCluster>> =>
    right(await bindings.listLicensed(ownerId, clock.now(), page))

/** Returns the imported clusters of the owner that are not bound to the contract, by name. */
export const makeListUnboundClusters =
  (deps: Pick<StatusDeps, 'clusters' | 'contracts'> & { readonly bindings: Pick<BindingStore, 'boundAmong'> }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, id }: ContractKey,
  ): Outcome<Failure<'ContractRequestInvalid'>, readonly Cluster[]> => {
    if ((await deps.contracts.get(ownerId, id)) === undefined)
      return left(ContractRequestInvalid(`The contract ${id} does not exist.`))
    const records = await deps.clusters.listOf(ownerId)
    const bound = new Set(
      records.length === 0
        ? []
        : await deps.bindings.boundAmong(
            id,
            records.map(({ uid }) => uid),
          ),
    )
    return right(records.filter(({ uid }) => !bound.has(uid)))
  }
