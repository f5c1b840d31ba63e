import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import type { Hub, HubKind, HubReadFailure, Hubs } from '../../clusters/hubs/ports.ts'
import { managedClusterKind } from '../../clusters/hubs/ports.ts'
import type { ClusterStore } from '../../clusters/ports.ts'
import type { Cluster } from '../../clusters/types.ts'
import type { Outcome } from '../../kernel/failure.ts'
import { mapWithin } from '../../kernel/concurrency.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { addOnDefinitionKind } from './ports.ts'

const nodeKind: HubKind = { apiVersion: 'v1', kind: 'Node', plural: 'nodes' }

/**
 * How long one hub may take, so that the list of a few hubs that hang is there within 3 seconds, and how many are asked
 * at a time.
 */
const patienceMilliseconds = 2_500
const concurrentHubs = 8
/** How long all hubs together may take. Those that were not asked by then are shown as if they did not answer. */
const wholePatienceMilliseconds = 9_000

/** A hub and its counts, as the hub states them or, if it does not answer, as they are stored. */
export interface HubSummary {
  readonly cluster: Cluster
  readonly spokes: number
  readonly addOns: number
  readonly nodes: number
  /**
   * Which counts the hub did not state. That of spokes is then the number of records of its spokes, the others are as
   * stored.
   */
  readonly unknown: readonly CountedKind[]
}

export type CountedKind = 'spokes' | 'addOns' | 'nodes'
const allKinds: readonly CountedKind[] = ['spokes', 'addOns', 'nodes']

/** A hub without workloads serves neither nodes nor deployments. */
export const hasNoWorkloads = ({ managers }: Pick<Cluster, 'managers'>): boolean =>
  managers.includes('OCMMulticlusterControlplane')

const orStored = (counted: Either<HubReadFailure, number>, stored: number): number =>
  isLeft(counted) ? stored : counted.right

const count = async (hub: Hub, { cluster, ...stored }: HubSummary): Promise<HubSummary> => {
  const [spokes, addOns, nodes] = await Promise.all([
    hub.count(managedClusterKind),
    hub.count(addOnDefinitionKind),
    hasNoWorkloads(cluster) ? right(0) : hub.count(nodeKind),
  ])
  const unknown = allKinds.filter((kind) => isLeft({ spokes, addOns, nodes }[kind]))
  return {
    cluster,
    spokes: orStored(spokes, stored.spokes),
    addOns: orStored(addOns, stored.addOns),
    nodes: orStored(nodes, stored.nodes),
    unknown,
  }
}

/** Reports whether a record is that of a spoke: the phase of one whose import has not succeeded is Registered. */
const isSpokeOf = (hub: Cluster, { hubClusterUid, status }: Cluster): boolean =>
  hub.uid !== '' && hubClusterUid === hub.uid && status.phase !== 'Registered'

/**
 * Lists the hubs of an account that the caller may view, by name. The hubs are asked concurrently; one that does not
 * answer in time is listed with the stored counts, so that the list never fails.
 */
export const makeListHubs =
  (deps: { readonly hubs: Hubs; readonly authorizer: Authorizer; readonly clusters: Pick<ClusterStore, 'listOf'> }) =>
  async (call: SignedInCall<never>, ownerId: AccountId): Outcome<never, readonly HubSummary[]> => {
    const records = await deps.clusters.listOf(ownerId)
    const allInTime = AbortSignal.any([call.signal, AbortSignal.timeout(wholePatienceMilliseconds)])

    const summaryOf = async (cluster: Cluster): Promise<HubSummary | undefined> => {
      const grant = await deps.authorizer.authorize(
        call.principal,
        { type: 'hub', account: cluster.ownerName, name: cluster.name },
        'can_view',
      )
      if (isLeft(grant)) return undefined
      const known = records.filter((record) => isSpokeOf(cluster, record)).length
      const stored = {
        cluster,
        spokes: known,
        addOns: 0,
        nodes: hasNoWorkloads(cluster) ? 0 : cluster.nodeCount,
        unknown: allKinds,
      }
      const signal = AbortSignal.any([allInTime, AbortSignal.timeout(patienceMilliseconds)])
      const hub = await deps.hubs.open({ ...call, signal }, grant.right)
      return isLeft(hub) ? stored : count(hub.right, stored)
    }

    const found = await mapWithin(
      records.filter(({ managers }) => managers.includes('OCMHub')),
      concurrentHubs,
      summaryOf,
    )
    return right(found.filter((summary) => summary !== undefined))
  }

const concurrentAccounts = 4

/**
 * Lists the hubs of the caller's own account and of every organization in which the caller may list clusters, by
 * account and name.
 */
export const makeListAllHubs = (deps: {
  readonly hubs: Hubs
  readonly authorizer: Authorizer
  readonly clusters: Pick<ClusterStore, 'accountsOf' | 'listOf'>
}) => {
  const listHubs = makeListHubs(deps)
  return async (call: SignedInCall<never>): Outcome<never, readonly HubSummary[]> => {
    const accounts = await deps.clusters.accountsOf(call.principal.userId)
    const lists = await mapWithin(
      accounts.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      concurrentAccounts,
      async ({ id, name }) => {
        const allowed = await deps.authorizer.authorize(call.principal, { type: 'account', name }, 'can_list_clusters')
        const listed = isLeft(allowed) ? allowed : await listHubs(call, id)
        return isLeft(listed) ? [] : listed.right
      },
    )
    return right(lists.flat())
  }
}
