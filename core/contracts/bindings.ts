import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterImportWatcher, ClusterStore } from '../clusters/ports.ts'
import type { UserStore } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ContractClusterStatus } from './cluster-status.ts'
import { statusesOfContract } from './cluster-status.ts'
import { isActive, maxBindings, parseClusterUid, parseDisplayName, parseTags } from './contract-rules.ts'
import type { ContractKey } from './contracts.ts'
import { makeAddressOf, recordBound, recordEvent } from './contracts.ts'
import type { BindingStore, ContractStores, ContractUnitOfWork } from './ports.ts'
import { ClusterBoundAlready, ContractClusterMissing, ContractNotUsable, ContractRequestInvalid } from './ports.ts'
import type { BoundCluster, ContractClusterId, ContractId } from './types.ts'
import { toWireJson } from '../kernel/json.ts'

/** A cluster to be bound, as a request has it. */
export interface ClusterToBind {
  readonly cluster: string
  readonly displayName: string | undefined
  readonly tags: readonly string[] | undefined
}

interface ParsedCluster {
  readonly clusterUid: string
  readonly displayName: string
  readonly tags: readonly string[] | undefined
}

/** A cluster without a name is shown by its UID. */
const parseCluster = ({
  cluster,
  displayName,
  tags,
}: ClusterToBind): Either<Failure<'ContractRequestInvalid'>, ParsedCluster> => {
  const uid = parseClusterUid(cluster)
  if (isLeft(uid)) return uid
  const name = displayName === undefined || displayName.trim() === '' ? right(uid.right) : parseDisplayName(displayName)
  if (isLeft(name)) return name
  const parsedTags = tags === undefined ? right(undefined) : parseTags(tags)
  return isLeft(parsedTags)
    ? parsedTags
    : right({ clusterUid: uid.right, displayName: name.right, tags: parsedTags.right })
}

/** Returns the clusters of a request, each once. */
const parseClusters = (
  wanted: readonly ClusterToBind[],
): Either<Failure<'ContractRequestInvalid'>, readonly ParsedCluster[]> => {
  if (wanted.length === 0) return left(ContractRequestInvalid('Name at least one cluster.'))
  if (wanted.length > maxBindings) return left(ContractRequestInvalid(`Name at most ${maxBindings} clusters.`))
  const byUid = new Map<string, ParsedCluster>()
  for (const each of wanted) {
    const parsed = parseCluster(each)
    if (isLeft(parsed)) return parsed
    if (byUid.has(parsed.right.clusterUid))
      return left(ContractRequestInvalid(`The cluster ${parsed.right.clusterUid} is named twice.`))
    byUid.set(parsed.right.clusterUid, parsed.right)
  }
  return right([...byUid.values()])
}

export interface BindingDeps {
  readonly bindings: Pick<BindingStore, 'find'>
  readonly clock: Clock
  readonly unitOfWork: ContractUnitOfWork
  readonly users: Pick<UserStore, 'byId'>
}

export interface BindClustersInput extends ContractKey {
  readonly clusters: readonly ClusterToBind[]
}
export type BindFailure = Failure<'ContractRequestInvalid'> | Failure<'ClusterBoundAlready'>

/**
 * Binds clusters to an active contract, all of them or none. Returns the first 1,000 clusters of the contract, by name.
 */
export const makeBindClusters = ({
  clock,
  clusters: records,
  unitOfWork,
  users,
}: BindingDeps & { readonly clusters: Pick<ClusterStore, 'listOf'> }) => {
  const addressOf = makeAddressOf(users)
  type Bound = readonly ContractClusterStatus[]
  return async (
    call: SignedInCall<Bound>,
    { ownerId, id, clusters }: BindClustersInput,
  ): Outcome<BindFailure, Bound> => {
    const parsed = parseClusters(clusters)
    if (isLeft(parsed)) return parsed
    const uids = parsed.right.map(({ clusterUid }) => clusterUid)
    const [by, imported] = await Promise.all([addressOf(call), records.listOf(ownerId)])
    return unitOfWork.run<BindFailure, Bound>(call, async (stores) => {
      const at = clock.now()
      const [contract] = await stores.contracts.lock(ownerId, [id])
      if (contract === undefined || !isActive(contract, at))
        return left(ContractRequestInvalid(`The contract ${id} does not exist or is not active.`))
      const bound = await stores.bindings.boundAmong(id, uids)
      if (bound.length > 0)
        return left(ClusterBoundAlready('These clusters are bound to the contract already.', { errors: bound }))
      await stores.bindings.add(contract, parsed.right, at)
      for (const { clusterUid, tags } of parsed.right)
        if (tags !== undefined) await stores.bindings.setTags(ownerId, clusterUid, tags)
      await recordBound(stores, contract, { by, at, clusters: uids })
      return right(
        (await statusesOfContract(stores.bindings, imported, contract, { page: 1, limit: maxBindings }, at)).items,
      )
    })
  }
}

export interface AssignClusterInput {
  readonly ownerId: AccountId
  readonly clusterId: string
  readonly displayName: string | undefined
  readonly contractIds: readonly ContractId[]
}
export type AssignFailure = Failure<'ContractRequestInvalid'> | Failure<'ContractNotUsable'>

/**
 * Binds one cluster to several active contracts of an account, all of them or none. A contract that has it already
 * stays as it is.
 */
export const makeAssignCluster = ({ clock, unitOfWork, users }: BindingDeps) => {
  const addressOf = makeAddressOf(users)
  return async (
    call: SignedInCall,
    { ownerId, clusterId, displayName, contractIds }: AssignClusterInput,
  ): Outcome<AssignFailure, void> => {
    const ids = [...new Set(contractIds)]
    if (ids.length === 0) return left(ContractRequestInvalid('Name at least one contract.'))
    if (ids.length > maxBindings) return left(ContractRequestInvalid(`Name at most ${maxBindings} contracts.`))
    const parsed = parseCluster({ cluster: clusterId, displayName, tags: undefined })
    if (isLeft(parsed)) return parsed
    const cluster = parsed.right
    const by = await addressOf(call)
    return unitOfWork.run<AssignFailure, void>(call, async (stores) => {
      const at = clock.now()
      const contracts = await stores.contracts.lock(ownerId, ids)
      const unusable = ids
        .filter((id) => !contracts.some((contract) => contract.id === id && isActive(contract, at)))
        .map(String)
      if (unusable.length > 0)
        return left(
          ContractNotUsable(`These contracts do not exist or are not active: ${unusable.join(', ')}.`, {
            errors: unusable,
          }),
        )
      for (const contract of contracts) {
        const [bound] = await stores.bindings.boundAmong(contract.id, [cluster.clusterUid])
        if (bound !== undefined) continue
        await stores.bindings.add(contract, [cluster], at)
        await recordBound(stores, contract, { by, at, clusters: [cluster.clusterUid] })
      }
      return right(undefined)
    })
  }
}

export interface BoundClusterKey extends ContractKey {
  readonly clusterId: ContractClusterId
}
export type BoundClusterFailure = Failure<'ContractClusterMissing'> | Failure<'ContractRequestInvalid'>

const clusterMissing = (id: ContractClusterId): Failure<'ContractClusterMissing'> =>
  ContractClusterMissing(`The contract has no cluster with the id ${id}.`)

type Stores = Parameters<Parameters<ContractUnitOfWork['run']>[1]>[0]

/**
 * Runs a change to one bound cluster of a locked contract. `change` returns what the history shows; undefined if
 * nothing changed.
 */
const changeBoundCluster = async (
  { clock, unitOfWork, users }: BindingDeps,
  call: SignedInCall,
  { ownerId, id, clusterId }: BoundClusterKey,
  change: (
    stores: Stores,
    binding: BoundCluster,
    at: Date,
  ) => Promise<Omit<Parameters<typeof recordEvent>[2], 'by' | 'at'> | undefined>,
): Outcome<Failure<'ContractClusterMissing'>, void> => {
  const by = await makeAddressOf(users)(call)
  return unitOfWork.run<Failure<'ContractClusterMissing'>, void>(call, async (stores) => {
    const [contract] = await stores.contracts.lock(ownerId, [id])
    const binding = contract === undefined ? undefined : await stores.bindings.find(id, clusterId)
    if (contract === undefined || binding === undefined) return left(clusterMissing(clusterId))
    const at = clock.now()
    const done = await change(stores, binding, at)
    if (done !== undefined) await recordEvent(stores, contract, { ...done, by, at })
    return right(undefined)
  })
}

/** Removes a cluster from a contract. The interval in which it counted stays for usage reports. */
export const makeUnbindCluster =
  (deps: BindingDeps) =>
  (call: SignedInCall, key: BoundClusterKey): Outcome<Failure<'ContractClusterMissing'>, void> =>
    changeBoundCluster(deps, call, key, async ({ bindings }, binding, at) => {
      await bindings.remove(binding, at)
      return { event: 'cluster.removed', changes: { cluster: binding.clusterUid } }
    })

/** Changes the name under which a contract shows a cluster. */
export const makeRenameBoundCluster =
  (deps: BindingDeps) =>
  async (
    call: SignedInCall,
    { name, ...key }: BoundClusterKey & { readonly name: string },
  ): Outcome<BoundClusterFailure, void> => {
    const parsed = parseDisplayName(name)
    if (isLeft(parsed)) return parsed
    return changeBoundCluster(deps, call, key, async ({ bindings }, binding) => {
      if (binding.displayName === parsed.right) return undefined
      await bindings.rename(binding, parsed.right)
      return {
        event: 'cluster.renamed',
        changes: { cluster: binding.clusterUid, from: binding.displayName, to: parsed.right },
      }
    })
  }

/** Replaces the tags of a cluster, for all contracts of the owner that license it. */
export const makeRetagBoundCluster =
  (deps: BindingDeps) =>
  async (
    call: SignedInCall,
    { tags, ...key }: BoundClusterKey & { readonly tags: readonly string[] },
  ): Outcome<BoundClusterFailure, void> => {
    const parsed = parseTags(tags)
    if (isLeft(parsed)) return parsed
    return changeBoundCluster(deps, call, key, async ({ bindings }, binding) => {
      if (toWireJson(binding.tags) === toWireJson(parsed.right)) return undefined
      await bindings.setTags(key.ownerId, binding.clusterUid, parsed.right)
      return { event: 'cluster.retagged', changes: { cluster: binding.clusterUid, tags: parsed.right } }
    })
  }

/** Under this name the history of a contract shows what was bound without a request. */
const bindsNewClusters = 'contracts.bindNewClusters'

/**
 * Returns the watcher that binds a newly imported cluster to the active contracts of its owner that say so, in the
 * transaction of the import.
 */
export const makeBindImported =
  (clock: Clock) =>
  (stores: Pick<ContractStores, 'contracts' | 'bindings' | 'events' | 'audit'>): ClusterImportWatcher => ({
    async imported({ ownerId, uid, name, displayName }) {
      const parsed = parseClusterUid(uid)
      if (isLeft(parsed)) return
      const clusterUid = parsed.right
      const at = clock.now()
      const wanting = await stores.contracts.listBindingNew(ownerId, at)
      if (wanting.length === 0) return
      const shown = parseDisplayName(displayName)
      const binding = { clusterUid, displayName: isLeft(shown) ? name : shown.right }
      for (const contract of await stores.contracts.lock(
        ownerId,
        wanting.map(({ id }) => id),
      )) {
        const [bound] = await stores.bindings.boundAmong(contract.id, [clusterUid])
        if (bound !== undefined || !contract.bindsNewClusters || !isActive(contract, at)) continue
        await stores.bindings.add(contract, [binding], at)
        await recordBound(stores, contract, { by: bindsNewClusters, at, clusters: [clusterUid] })
      }
    },
  })
