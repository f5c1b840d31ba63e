import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubSelection } from '../clusters/hubs/ports.ts'
import { clusterSetBindingKind, clusterSetKind, clusterSetLabel, managedClusterKind } from '../clusters/hubs/ports.ts'
import { distribution } from '../clusters/hubs/vendor-types.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { listAt, textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ChangeDeps, MembershipInput, MoveResult, SetChangeFailure } from './membership.ts'
import { addToSet, auditOf, ClusterSetRefused, moveClusters, movesAudit, recordMoves } from './membership.ts'
import { builtInSets, namedSetOf, selectsByLabels } from './types.ts'

const { setProfile } = distribution.kinds

const refusedName = (name: string): Failure<'ClusterSetRefused'> | undefined =>
  builtInSets.includes(name) ? ClusterSetRefused(`The cluster set ${name} is made by the hub itself.`) : undefined

/** Returns the set of a request to create it, if it is the one that the request describes. */
const usableSet = (name: string, set: HubObject | undefined, isNew: boolean): Either<Failure<'ClusterSetRefused'>, HubObject> => {
  if (set === undefined) return left(ClusterSetRefused(`The cluster set ${name} was deleted during the request.`))
  if (set.isDeleting) return left(ClusterSetRefused(`A cluster set ${name} exists and is being deleted.`))
  const isSame = isNew || (!selectsByLabels(set) && listAt(set.body, 'spec', 'managedNamespaces').length === 0)
  return isSame ? right(set) : left(ClusterSetRefused(`Another cluster set ${name} exists: it selects clusters by labels, or manages namespaces.`))
}

/** Creates a cluster set and adds clusters to it. A set that exists and is the same is used. */
export const makeCreateClusterSet = ({ hubs, ...deps }: ChangeDeps) =>
  async (call: SignedInCall, { grant, clusterSet, clusters }: MembershipInput): Outcome<SetChangeFailure, void> => {
    const reserved = refusedName(clusterSet)
    if (reserved !== undefined) return left(reserved)
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const created = await hub.create(clusterSetKind, { name: clusterSet }, { spec: { clusterSelector: { selectorType: 'ExclusiveClusterSetLabel' } } })
    if (isLeft(created)) return created
    const isNew = created.right === 'created'
    const set = await hub.get(clusterSetKind, { name: clusterSet })
    const usable: Either<SetChangeFailure, HubObject> = isLeft(set) ? set : usableSet(clusterSet, set.right, isNew)
    const { moves, failure } = isLeft(usable) ? { moves: [], failure: usable.left } : await addToSet(hub, usable.right, clusters)
    const entries = [...(isNew ? [auditOf(hub, 'cluster.set_created', { clusterSet })] : []), ...movesAudit(hub, moves)]
    return recordMoves(deps, call, { hub, moves, entries, failure })
  }

/** Selects the clusters whose label names a set. Only their names count. */
const byLabel = (clusterSet: string): HubSelection => ({ labelSelector: `${clusterSetLabel}=${clusterSet}`, isMetadataOnly: true })

/** At most three names, and that there are more. */
const some = (names: readonly string[]): string => `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`

/** Returns why a set may not be deleted. */
const inUse = async (hub: Hub, name: string): Outcome<SetChangeFailure, void> => {
  const [bindings, members] = await Promise.all([hub.list(clusterSetBindingKind), hub.list(managedClusterKind, byLabel(name))])
  if (isLeft(bindings)) return bindings
  if (isLeft(members)) return members
  // The name of a binding may differ from that of its set, on a hub without the webhooks of OCM.
  const bound = bindings.right.filter(({ body }) => textAt(body, 'spec', 'clusterSet') === name).map(({ namespace }) => namespace)
  if (bound.length > 0) return left(ClusterSetRefused(`The cluster set ${name} is bound to the namespaces ${some(bound)}. Unbind it first.`))
  const clusters = members.right.map((cluster) => cluster.name)
  return clusters.length > 0 ? left(ClusterSetRefused(`The cluster set ${name} has the clusters ${some(clusters)}. Remove them first.`)) : right(undefined)
}

/** Returns the profile of a set, which has its name. A hub without the controller of profiles has none. */
const profileOf = async (hub: Hub, name: string): Outcome<SetChangeFailure, HubObject | undefined> => {
  const profile = await hub.get(setProfile, { name })
  return isLeft(profile) && profile.left.tag === 'NotAHub' ? right(undefined) : profile
}

/** Deletes the profile of a deleted set, and removes the clusters that were added between the check and the deletion. */
const sweep = async (hub: Hub, name: string, profile: HubObject | undefined): Promise<MoveResult> => {
  const [set, labelled] = await Promise.all([hub.get(clusterSetKind, { name }), hub.list(managedClusterKind, byLabel(name))])
  if (isLeft(set)) return { moves: [], failure: set.left }
  if (isLeft(labelled)) return { moves: [], failure: labelled.left }
  // Profile and clusters are those of a new set of this name.
  if (set.right !== undefined && !set.right.isDeleting) return { moves: [], failure: undefined }
  const names = labelled.right.map((cluster) => cluster.name)
  const { moves, failure } = await moveClusters(hub, names, (cluster) => (namedSetOf(cluster) === name ? '' : undefined))
  const removed = profile === undefined ? right(false) : await hub.remove(setProfile, profile)
  return { moves, failure: failure ?? (isLeft(removed) ? removed.left : undefined) }
}

/**
 * Deletes a cluster set that is bound to no namespace and has no clusters. If it does not exist, the request succeeds, and removes
 * the clusters whose labels still name it: a deletion that failed halfway may be repeated.
 */
export const makeDeleteClusterSet = ({ hubs, ...deps }: ChangeDeps) =>
  async (call: SignedInCall, { grant, clusterSet }: Omit<MembershipInput, 'clusters'>): Outcome<SetChangeFailure, void> => {
    const reserved = refusedName(clusterSet)
    if (reserved !== undefined) return left(reserved)
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const [set, profile] = await Promise.all([hub.get(clusterSetKind, { name: clusterSet }), profileOf(hub, clusterSet)])
    if (isLeft(set)) return set
    if (isLeft(profile)) return profile
    const used = set.right === undefined ? right(undefined) : await inUse(hub, clusterSet)
    if (isLeft(used)) return used
    const removed = set.right === undefined ? right(false) : await hub.remove(clusterSetKind, set.right)
    if (isLeft(removed)) return removed
    const { moves, failure } = await sweep(hub, clusterSet, profile.right)
    const entries = [...(removed.right ? [auditOf(hub, 'cluster.set_deleted', { clusterSet })] : []), ...movesAudit(hub, moves)]
    return recordMoves(deps, call, { hub, moves, entries, failure })
  }
