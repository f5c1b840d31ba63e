import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubEdit, HubObject, Hubs } from '../../clusters/hubs/ports.ts'
import { clusterSetKind, clusterSetLabel, managedClusterKind } from '../../clusters/hubs/ports.ts'
import type { ClusterStore } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import { atATime } from '../../kernel/concurrency.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { AuditEntry, AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import { defineAudit, recordChange, recordPart } from '../../kernel/unit-of-work.ts'
import { includes, namedSetOf, rivalSets, selectsByLabels } from './types.ts'

/**
 * A cluster set, or a managed cluster of the request, does not allow the change. `errors` has a line for each cluster.
 */
export const ClusterSetRefused = defineFailure(
  'ClusterSetRefused',
  'Unprocessable',
  'The cluster set or its clusters do not permit the change.',
)

export type SetChangeFailure = HubChangeFailure | Failure<'ClusterSetRefused'>

export interface ChangeDeps {
  readonly hubs: Hubs
  readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>
  readonly clusters: Pick<ClusterStore, 'listOf' | 'observeSet'>
}

/** The hub is the cluster of the grant. The names are DNS-1123 labels. */
export interface MembershipInput {
  readonly grant: AccessGrant
  readonly clusterSet: string
  /** Names of managed clusters. */
  readonly clusters: readonly string[]
}

export const auditOf = defineAudit(
  'cluster',
  ['cluster.set_created', 'cluster.set_deleted', 'cluster.spokes_moved'],
  ({ id, ownerId, name }: Hub) => ({
    objectId: id,
    objectName: name,
    tenantId: ownerId,
  }),
)

/** A cluster whose set was changed; an empty name is no set. */
export interface Move {
  readonly cluster: string
  readonly from: string
  readonly to: string
}

/** Names in one audit row: its column holds 64 KiB. */
const namesInRow = 500

/** Returns the audit rows of moves, one for each pair of sets. */
export const movesAudit = (hub: Hub, moves: readonly Move[]): readonly AuditEntry[] =>
  [...Map.groupBy(moves, ({ from, to }) => `${from}/${to}`).values()].flatMap((group) => {
    const [{ from, to }] = group as [Move]
    const names = group.map(({ cluster }) => cluster).sort()
    const rows = Array.from({ length: Math.ceil(names.length / namesInRow) }, (_, row) =>
      names.slice(row * namesInRow, (row + 1) * namesInRow),
    )
    return rows.map((clusters) => auditOf(hub, 'cluster.spokes_moved', { from, to, clusters }))
  })

/** How many clusters are changed at a time, so that one request does not take the whole capacity of a hub. */
const changedAtATime = 8

/** What became of a change of several clusters. */
export interface MoveResult {
  /** In the order of the request. */
  readonly moves: readonly Move[]
  /** Undefined if each cluster is as requested. */
  readonly failure: SetChangeFailure | undefined
}

interface Refusal {
  readonly cluster: string
  readonly failure: SetChangeFailure
}

/**
 * After these the hub is not asked about further clusters. The other failures may be those of one cluster, or of the
 * set that it is in.
 */
const ofHub = ['ClusterUnreachable', 'ClusterMissing', 'ClusterNotConnected', 'NotAHub']
/** What is wrong with the request. The other failures keep their own status, if there is only one kind of them. */
const ofRequest = ['ClusterSetRefused', 'HubRefused']

/** Returns the failure of a request of which these clusters were refused. */
const refusalOf = (refused: readonly Refusal[], all: number): SetChangeFailure | undefined => {
  const [first] = refused
  if (first === undefined) return undefined
  const unreachable = refused.find(({ failure }) => ofHub.includes(failure.tag))
  if (unreachable !== undefined) return unreachable.failure
  const errors = refused.map(({ cluster, failure }) => `${cluster}: ${failure.message}`).sort()
  if (!ofRequest.includes(first.failure.tag) && refused.every(({ failure }) => failure.tag === first.failure.tag))
    return { ...first.failure, errors }
  const rest = refused.length === all ? '' : ' The other clusters are done.'
  return ClusterSetRefused(
    `${refused.length} of ${all} clusters could not be changed. ` +
      `${errors.slice(0, 3).join(' ')}${errors.length > 3 ? ' …' : ''}${rest}`,
    { errors },
  )
}

/**
 * Returns the set that a cluster is to have, or why it may not be changed. Returns undefined if it is to stay as it is.
 */
type Judge = (cluster: HubObject) => string | Failure<'ClusterSetRefused'> | undefined

const setLabel = (to: string): HubEdit => ({
  merge: { metadata: { labels: { [clusterSetLabel]: to === '' ? null : to } } },
})

/**
 * Changes the sets of clusters, each only if it is still as it was judged. One that is refused does not keep the
 * others.
 */
export const moveClusters = async (hub: Hub, names: readonly string[], judge: Judge): Promise<MoveResult> => {
  const moved = new Map<string, Move>()
  const refused: Refusal[] = []
  const distinct = [...new Set(names)]
  await atATime(distinct, changedAtATime, async (cluster) => {
    let move: Move | undefined
    const edited = await hub.edit<Failure<'ClusterSetRefused'>>(managedClusterKind, { name: cluster }, (object) => {
      const to = judge(object)
      if (to !== undefined && typeof to !== 'string') return left(to)
      move = to === undefined ? undefined : { cluster, from: namedSetOf(object), to }
      return right(to === undefined ? undefined : setLabel(to))
    })
    if (!isLeft(edited)) {
      if (edited.right === 'missing')
        refused.push({ cluster, failure: ClusterSetRefused('The cluster does not exist on the hub.') })
      if (edited.right === 'changed' && move !== undefined) moved.set(cluster, move)
      return right(undefined)
    }
    refused.push({ cluster, failure: edited.left })
    return ofHub.includes(edited.left.tag) ? edited : right(undefined)
  })
  return {
    moves: distinct.flatMap((cluster) => moved.get(cluster) ?? []),
    failure: refusalOf(refused, distinct.length),
  }
}

/** Finds the set of a body, which clusters are to be added to or removed from by name. */
const findNamedSet = async (hub: Hub, name: string): Outcome<SetChangeFailure, HubObject> => {
  const found = await hub.get(clusterSetKind, { name })
  if (isLeft(found)) return found
  if (found.right === undefined) return left(ClusterSetRefused(`The cluster set ${name} does not exist on the hub.`))
  if (selectsByLabels(found.right))
    return left(ClusterSetRefused(`The cluster set ${name} selects its clusters by their labels.`))
  return right(found.right)
}

/** Writes the sets of clusters that were moved into their records. */
const observeMoves = async (clusters: ChangeDeps['clusters'], hub: Hub, moves: readonly Move[]): Promise<void> => {
  const records = moves.length === 0 ? [] : await clusters.listOf(hub.ownerId)
  const hubUid = records.find(({ id }) => id === hub.id)?.uid
  const sets = new Map(moves.map(({ cluster, to }) => [cluster, to]))
  for (const { id, hubClusterUid, managedClusterName, clusterSetName } of records) {
    const to = hubClusterUid !== '' && hubClusterUid === hubUid ? sets.get(managedClusterName) : undefined
    if (to !== undefined && to !== clusterSetName) await clusters.observeSet(id, to)
  }
}

/** What was done in a request: the moves, the audit rows, and why the rest failed. */
interface SetChange extends MoveResult {
  readonly hub: Hub
  readonly entries: readonly AuditEntry[]
}

/**
 * Records what was done, also if the rest failed. Under an Idempotency-Key a request that failed may be sent again, so
 * its transaction does not store a response.
 */
export const recordMoves = async (
  { unitOfWork, clusters }: Omit<ChangeDeps, 'hubs'>,
  call: SignedInCall,
  { hub, moves, entries, failure }: SetChange,
): Outcome<SetChangeFailure, void> => {
  const recorded = failure === undefined ? await recordChange(unitOfWork, call, ...entries) : left(failure)
  if (failure !== undefined) await recordPart(unitOfWork, call, entries)
  await observeMoves(clusters, hub, moves)
  return recorded
}

/**
 * Adds clusters to an existing set, from whatever set they are in. If the set is deleted during the request, they leave
 * it again: a label may not name a set that does not exist, since a later set of that name would have them.
 */
export const addToSet = async (hub: Hub, set: HubObject, clusters: readonly string[]): Promise<MoveResult> => {
  const rivals = await rivalSets(hub, set.name)
  if (isLeft(rivals)) return { moves: [], failure: rivals.left }
  const added = await moveClusters(hub, clusters, (cluster) => {
    if (cluster.isDeleting) return ClusterSetRefused('The cluster is being deleted.')
    const rival = namedSetOf(cluster) === set.name ? undefined : rivals.right.find((each) => includes(each, cluster))
    if (rival !== undefined)
      return ClusterSetRefused(
        `The cluster is in the set ${rival.name} too. Both have features, and a cluster has those of one set.`,
      )
    return namedSetOf(cluster) === set.name ? undefined : set.name
  })
  if (added.moves.length === 0) return added
  const after = await hub.get(clusterSetKind, { name: set.name })
  if (isLeft(after)) return { ...added, failure: added.failure ?? after.left }
  if (after.right?.uid === set.uid && !after.right.isDeleting) return added
  const names = added.moves.map(({ cluster }) => cluster)
  const undone = await moveClusters(hub, names, (cluster) => (namedSetOf(cluster) === set.name ? '' : undefined))
  return {
    moves: [...added.moves, ...undone.moves],
    failure: ClusterSetRefused(`The cluster set ${set.name} was deleted during the request.`),
  }
}

/** Adds managed clusters to a cluster set. Those that are in another set leave it; those that are in this set stay. */
export const makeAddToClusterSet =
  ({ hubs, ...deps }: ChangeDeps) =>
  async (call: SignedInCall, { grant, clusterSet, clusters }: MembershipInput): Outcome<SetChangeFailure, void> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const set = await findNamedSet(hub.right, clusterSet)
    if (isLeft(set)) return set
    if (set.right.isDeleting) return left(ClusterSetRefused(`The cluster set ${clusterSet} is being deleted.`))
    const { moves, failure } = await addToSet(hub.right, set.right, clusters)
    return recordMoves(deps, call, { hub: hub.right, moves, entries: movesAudit(hub.right, moves), failure })
  }

/**
 * Removes managed clusters from a cluster set. Those that are not in this set stay as they are. A cluster or a set that
 * is being deleted is accepted, since a set with clusters cannot be deleted.
 */
export const makeRemoveFromClusterSet =
  ({ hubs, ...deps }: ChangeDeps) =>
  async (call: SignedInCall, { grant, clusterSet, clusters }: MembershipInput): Outcome<SetChangeFailure, void> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const set = await findNamedSet(hub.right, clusterSet)
    if (isLeft(set)) return set
    const { moves, failure } = await moveClusters(hub.right, clusters, (cluster) =>
      namedSetOf(cluster) === clusterSet ? '' : undefined,
    )
    return recordMoves(deps, call, { hub: hub.right, moves, entries: movesAudit(hub.right, moves), failure })
  }
