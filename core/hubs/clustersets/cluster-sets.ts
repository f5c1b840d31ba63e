import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubReadFailure, Hubs, HubSelection } from '../../clusters/hubs/ports.ts'
import {
  clusterSetBindingKind,
  clusterSetKind,
  clusterSetLabel,
  managedClusterKind,
} from '../../clusters/hubs/ports.ts'
import { claimedUid, distribution, isAccepted } from '../../clusters/hub-types.ts'
import type { ClusterStore } from '../../clusters/ports.ts'
import type { Cluster, HostingProvider } from '../../clusters/types.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { listAt, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { ChangeDeps, MembershipInput, MoveResult, SetChangeFailure } from './membership.ts'
import { addToSet, auditOf, ClusterSetRefused, moveClusters, movesAudit, recordMoves } from './membership.ts'
import type { ProfileJudge } from './ports.ts'
import { builtInSets, findClusterSet, includes, namedSetOf, selectsByLabels } from './types.ts'

interface HubDeps {
  readonly hubs: Hubs
}
interface RecordDeps extends HubDeps {
  readonly clusters: Pick<ClusterStore, 'listOf'>
}

/** The hub is the cluster of the grant. */
export interface ClusterSetInput {
  readonly grant: AccessGrant
  readonly clusterSet: string
}

type SetReadFailure = HubReadFailure | Failure<'ClusterSetMissing'>

/** A cluster set as a list shows it. */
export interface ClusterSetSummary {
  readonly name: string
  /** For display; may be empty. */
  readonly title: string
  /** How many managed clusters the set selects. */
  readonly clusters: number
}

/** A managed cluster of a set, with what its record says. */
export interface MemberOfSet {
  readonly name: string
  readonly displayName: string
  readonly nodeCount: number
  readonly provider: HostingProvider
  readonly kubernetesVersion: string
  /** The owner of the hub has imported the cluster. */
  readonly isImported: boolean
}

const { profileSetPrefix } = distribution

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1)

/**
 * Returns how many clusters each set selects. Most sets select by the label that names one set, so these are counted in
 * one pass over the clusters, and not in one for each set.
 *
 * @internal
 */
export const countMembers = (
  sets: readonly HubObject[],
  clusters: readonly HubObject[],
): ReadonlyMap<string, number> => {
  const named = new Map<string, number>()
  for (const name of clusters.map(namedSetOf)) named.set(name, (named.get(name) ?? 0) + 1)
  return new Map(
    sets.map((set) => [
      set.name,
      selectsByLabels(set) ? clusters.filter((each) => includes(set, each)).length : (named.get(set.name) ?? 0),
    ]),
  )
}

const isOfProfile = ({ name }: HubObject): boolean => name.startsWith(profileSetPrefix)

/**
 * Returns the cluster sets with their titles: those of their profiles. A hub that does not serve or show profiles has
 * none.
 */
const listTitled = async (
  hub: Hub,
): Outcome<HubReadFailure, readonly { readonly set: HubObject; readonly title: string }[]> => {
  const sets = await hub.list(clusterSetKind)
  if (isLeft(sets)) return sets
  const profiles = sets.right.some(isOfProfile) ? await hub.list(distribution.kinds.clusterProfile) : right([])
  const titles = new Map(
    isLeft(profiles) ? [] : profiles.right.map(({ name, body }) => [name, textAt(body, 'spec', 'title')]),
  )
  return right(
    sets.right.map((set) => ({
      set,
      title: isOfProfile(set) ? (titles.get(set.name.slice(profileSetPrefix.length)) ?? '') : '',
    })),
  )
}

/** Lists the cluster sets of a hub by name. */
export const makeListClusterSets =
  ({ hubs }: HubDeps) =>
  async (call: SignedInCall<never>, grant: AccessGrant): Outcome<HubReadFailure, readonly ClusterSetSummary[]> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [titled, clusters] = await Promise.all([
      listTitled(hub.right),
      hub.right.list(managedClusterKind, { isMetadataOnly: true }),
    ])
    if (isLeft(titled)) return titled
    if (isLeft(clusters)) return clusters
    const counts = countMembers(
      titled.right.map(({ set }) => set),
      clusters.right,
    )
    return right(
      titled.right.map(({ set: { name }, title }) => ({ name, title, clusters: counts.get(name) ?? 0 })).sort(byName),
    )
  }

/**
 * Finds the record of a managed cluster: by the UID that it claims, otherwise by the name under which this hub manages
 * it.
 */
const recordFinder = (hub: Hub, records: readonly Cluster[]): ((cluster: HubObject) => Cluster | undefined) => {
  const hubUid = records.find(({ id }) => id === hub.id)?.uid ?? ''
  // A record that is not surveyed yet has no UID, and the agent of a plain spoke claims none.
  const byUid = new Map(records.filter(({ uid }) => uid !== '').map((record) => [record.uid, record]))
  const byManagedName = new Map(
    records
      .filter(({ hubClusterUid }) => hubClusterUid !== '' && hubClusterUid === hubUid)
      .map((record) => [record.managedClusterName, record]),
  )
  return (cluster) => byUid.get(claimedUid(cluster)) ?? byManagedName.get(cluster.name)
}

/** `eligibleFor: 'client-org'` omits the sets without a spoke that a client organization could use. */
export interface AvailableSetsInput {
  readonly grant: AccessGrant
  readonly eligibleFor: 'client-org' | undefined
}

/** What the spokes of client organizations must have installed. */
const clientProfile = 'dbaas-client-org'

/** Lists the names of the cluster sets that the owner of a hub may use. */
export const makeListAvailableClusterSets =
  ({ hubs, clusters: store, profiles }: RecordDeps & { readonly profiles: ProfileJudge }) =>
  async (
    call: SignedInCall<never>,
    { grant, eligibleFor }: AvailableSetsInput,
  ): Outcome<HubReadFailure, readonly string[]> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const sets = await hub.right.list(clusterSetKind)
    if (isLeft(sets)) return sets
    const namesOf = (found: readonly HubObject[]): readonly string[] => found.map(({ name }) => name).sort()
    if (eligibleFor === undefined) return right(namesOf(sets.right))
    const [clusters, records] = await Promise.all([hub.right.list(managedClusterKind), store.listOf(hub.right.ownerId)])
    if (isLeft(clusters)) return clusters
    const recordOf = recordFinder(hub.right, records)
    const imported = clusters.right.filter((each) => isAccepted(each) && recordOf(each) !== undefined)
    const usable = await profiles.satisfying(hub.right, imported, clientProfile)
    if (isLeft(usable)) return usable
    return right(
      namesOf(
        sets.right.filter((set) => !builtInSets.includes(set.name) && usable.right.some((each) => includes(set, each))),
      ),
    )
  }

/** Lists the managed clusters that a set selects, by name. */
export const makeListMembersOfSet =
  ({ hubs, clusters: store }: RecordDeps) =>
  async (
    call: SignedInCall<never>,
    { grant, clusterSet }: ClusterSetInput,
  ): Outcome<SetReadFailure, readonly MemberOfSet[]> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [set, clusters, records] = await Promise.all([
      findClusterSet(hub.right, clusterSet),
      hub.right.list(managedClusterKind),
      store.listOf(hub.right.ownerId),
    ])
    if (isLeft(set)) return set
    if (isLeft(clusters)) return clusters
    const recordOf = recordFinder(hub.right, records)
    const memberOf = (cluster: HubObject): MemberOfSet => {
      const record = recordOf(cluster)
      return {
        name: cluster.name,
        displayName: record?.displayName || cluster.name,
        nodeCount: record?.nodeCount ?? 0,
        provider: record?.provider ?? 'Generic',
        kubernetesVersion: textAt(cluster.body, 'status', 'version', 'kubernetes'),
        isImported: record !== undefined,
      }
    }
    return right(
      clusters.right
        .filter((each) => includes(set.right, each))
        .map(memberOf)
        .sort(byName),
    )
  }

/** Lists the names of the accepted clusters that can be added to a set. To a set that selects by labels none can. */
export const makeListCandidatesOfSet =
  ({ hubs }: HubDeps) =>
  async (
    call: SignedInCall<never>,
    { grant, clusterSet }: ClusterSetInput,
  ): Outcome<SetReadFailure, readonly string[]> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [set, clusters] = await Promise.all([
      findClusterSet(hub.right, clusterSet),
      hub.right.list(managedClusterKind),
    ])
    if (isLeft(set)) return set
    if (isLeft(clusters)) return clusters
    if (selectsByLabels(set.right)) return right([])
    const candidates = clusters.right.filter(
      (each) => isAccepted(each) && !each.isDeleting && !includes(set.right, each),
    )
    return right(candidates.map(({ name }) => name).sort())
  }

const { setProfile } = distribution.kinds

const refusedName = (name: string): Failure<'ClusterSetRefused'> | undefined =>
  builtInSets.includes(name) ? ClusterSetRefused(`The cluster set ${name} is made by the hub itself.`) : undefined

/** Returns the set of a request to create it, if it is the one that the request describes. */
const usableSet = (
  name: string,
  set: HubObject | undefined,
  isNew: boolean,
): Either<Failure<'ClusterSetRefused'>, HubObject> => {
  if (set === undefined) return left(ClusterSetRefused(`The cluster set ${name} was deleted during the request.`))
  if (set.isDeleting) return left(ClusterSetRefused(`A cluster set ${name} exists and is being deleted.`))
  const isSame = isNew || (!selectsByLabels(set) && listAt(set.body, 'spec', 'managedNamespaces').length === 0)
  return isSame
    ? right(set)
    : left(
        ClusterSetRefused(`Another cluster set ${name} exists: it selects clusters by labels, or manages namespaces.`),
      )
}

/** Creates a cluster set and adds clusters to it. A set that exists and is the same is used. */
export const makeCreateClusterSet =
  ({ hubs, ...deps }: ChangeDeps) =>
  async (call: SignedInCall, { grant, clusterSet, clusters }: MembershipInput): Outcome<SetChangeFailure, void> => {
    const reserved = refusedName(clusterSet)
    if (reserved !== undefined) return left(reserved)
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const created = await hub.create(
      clusterSetKind,
      { name: clusterSet },
      { spec: { clusterSelector: { selectorType: 'ExclusiveClusterSetLabel' } } },
    )
    if (isLeft(created)) return created
    const isNew = created.right === 'created'
    const set = await hub.get(clusterSetKind, { name: clusterSet })
    const usable: Either<SetChangeFailure, HubObject> = isLeft(set) ? set : usableSet(clusterSet, set.right, isNew)
    const { moves, failure } = isLeft(usable)
      ? { moves: [], failure: usable.left }
      : await addToSet(hub, usable.right, clusters)
    const entries = [...(isNew ? [auditOf(hub, 'cluster.set_created', { clusterSet })] : []), ...movesAudit(hub, moves)]
    return recordMoves(deps, call, { hub, moves, entries, failure })
  }

/** Selects the clusters whose label names a set. Only their names count. */
const byLabel = (clusterSet: string): HubSelection => ({
  labelSelector: `${clusterSetLabel}=${clusterSet}`,
  isMetadataOnly: true,
})

/** At most three names, and that there are more. */
const some = (names: readonly string[]): string =>
  `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`

/** Returns why a set may not be deleted. */
const inUse = async (hub: Hub, set: HubObject): Outcome<SetChangeFailure, void> => {
  const { name } = set
  const selection = selectsByLabels(set) ? { isMetadataOnly: true } : byLabel(name)
  const [bindings, members] = await Promise.all([
    hub.list(clusterSetBindingKind),
    hub.list(managedClusterKind, selection),
  ])
  if (isLeft(bindings)) return bindings
  if (isLeft(members)) return members
  // The name of a binding may differ from that of its set, on a hub without the webhooks of OCM.
  const bound = bindings.right
    .filter(({ body }) => textAt(body, 'spec', 'clusterSet') === name)
    .map(({ namespace }) => namespace)
  if (bound.length > 0)
    return left(
      ClusterSetRefused(`The cluster set ${name} is bound to the namespaces ${some(bound)}. Unbind it first.`),
    )
  const clusters = members.right.filter((cluster) => includes(set, cluster)).map((cluster) => cluster.name)
  const remedy = selectsByLabels(set) ? 'Change their labels first.' : 'Remove them first.'
  return clusters.length > 0
    ? left(ClusterSetRefused(`The cluster set ${name} has the clusters ${some(clusters)}. ${remedy}`))
    : right(undefined)
}

/** Returns the profile of a set, which has its name. A hub without the controller of profiles has none. */
const profileOf = async (hub: Hub, name: string): Outcome<SetChangeFailure, HubObject | undefined> => {
  const profile = await hub.get(setProfile, { name })
  return isLeft(profile) && profile.left.tag === 'NotAHub' ? right(undefined) : profile
}

/**
 * Deletes the profile of a deleted set, and removes the clusters that were added between the check and the deletion.
 */
const sweep = async (hub: Hub, name: string, profile: HubObject | undefined): Promise<MoveResult> => {
  const [set, labelled] = await Promise.all([
    hub.get(clusterSetKind, { name }),
    hub.list(managedClusterKind, byLabel(name)),
  ])
  if (isLeft(set)) return { moves: [], failure: set.left }
  if (isLeft(labelled)) return { moves: [], failure: labelled.left }
  // Profile and clusters are those of a new set of this name.
  if (set.right !== undefined && !set.right.isDeleting) return { moves: [], failure: undefined }
  const names = labelled.right.map((cluster) => cluster.name)
  const { moves, failure } = await moveClusters(hub, names, (cluster) =>
    namedSetOf(cluster) === name ? '' : undefined,
  )
  const removed = profile === undefined ? right(false) : await hub.remove(setProfile, profile)
  return { moves, failure: failure ?? (isLeft(removed) ? removed.left : undefined) }
}

/**
 * Deletes a cluster set that is bound to no namespace and has no clusters. If it does not exist, the request succeeds,
 * and removes the clusters whose labels still name it: a deletion that failed halfway may be repeated.
 */
export const makeDeleteClusterSet =
  ({ hubs, ...deps }: ChangeDeps) =>
  async (
    call: SignedInCall,
    { grant, clusterSet }: Omit<MembershipInput, 'clusters'>,
  ): Outcome<SetChangeFailure, void> => {
    const reserved = refusedName(clusterSet)
    if (reserved !== undefined) return left(reserved)
    const opened = await hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const [set, profile] = await Promise.all([
      hub.get(clusterSetKind, { name: clusterSet }),
      profileOf(hub, clusterSet),
    ])
    if (isLeft(set)) return set
    if (isLeft(profile)) return profile
    const used = set.right === undefined ? right(undefined) : await inUse(hub, set.right)
    if (isLeft(used)) return used
    const removed = set.right === undefined ? right(false) : await hub.remove(clusterSetKind, set.right)
    if (isLeft(removed)) return removed
    const { moves, failure } = await sweep(hub, clusterSet, profile.right)
    const entries = [
      ...(removed.right ? [auditOf(hub, 'cluster.set_deleted', { clusterSet })] : []),
      ...movesAudit(hub, moves),
    ]
    return recordMoves(deps, call, { hub, moves, entries, failure })
  }
