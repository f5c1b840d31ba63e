import { isLeft, right } from 'fp-ts/lib/Either.js'
import { claimedUid, isAccepted } from '../clusters/hubs/managed-cluster-types.ts'
import type { Hub, HubObject, HubReadFailure, Hubs } from '../clusters/hubs/ports.ts'
import { clusterSetKind, managedClusterKind } from '../clusters/hubs/ports.ts'
import { distribution } from '../clusters/hubs/vendor-types.ts'
import type { ClusterStore } from '../clusters/ports.ts'
import type { Cluster, HostingProvider } from '../clusters/types.ts'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
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
 * Returns how many clusters each set selects. Most sets select by the label that names one set, so these are counted in one
 * pass over the clusters, and not in one for each set.
 */
export const countMembers = (sets: readonly HubObject[], clusters: readonly HubObject[]): ReadonlyMap<string, number> => {
  const named = new Map<string, number>()
  for (const name of clusters.map(namedSetOf)) named.set(name, (named.get(name) ?? 0) + 1)
  return new Map(sets.map((set) => [set.name, selectsByLabels(set) ? clusters.filter((each) => includes(set, each)).length : (named.get(set.name) ?? 0)]))
}

const isOfProfile = ({ name }: HubObject): boolean => name.startsWith(profileSetPrefix)

/** Returns the cluster sets with their titles: those of their profiles. A hub that does not serve or show profiles has none. */
const listTitled = async (hub: Hub): Outcome<HubReadFailure, readonly { readonly set: HubObject; readonly title: string }[]> => {
  const sets = await hub.list(clusterSetKind)
  if (isLeft(sets)) return sets
  const profiles = sets.right.some(isOfProfile) ? await hub.list(distribution.kinds.clusterProfile) : right([])
  const titles = new Map(isLeft(profiles) ? [] : profiles.right.map(({ name, body }) => [name, textAt(body, 'spec', 'title')]))
  return right(sets.right.map((set) => ({ set, title: isOfProfile(set) ? (titles.get(set.name.slice(profileSetPrefix.length)) ?? '') : '' })))
}

/** Lists the cluster sets of a hub by name. */
export const makeListClusterSets = ({ hubs }: HubDeps) =>
  async (call: SignedInCall<never>, grant: AccessGrant): Outcome<HubReadFailure, readonly ClusterSetSummary[]> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [titled, clusters] = await Promise.all([listTitled(hub.right), hub.right.list(managedClusterKind, { isMetadataOnly: true })])
    if (isLeft(titled)) return titled
    if (isLeft(clusters)) return clusters
    const counts = countMembers(titled.right.map(({ set }) => set), clusters.right)
    return right(titled.right.map(({ set: { name }, title }) => ({ name, title, clusters: counts.get(name) ?? 0 })).sort(byName))
  }

/** Finds the record of a managed cluster: by the UID that it claims, otherwise by the name under which this hub manages it. */
const recordFinder = (hub: Hub, records: readonly Cluster[]): ((cluster: HubObject) => Cluster | undefined) => {
  const hubUid = records.find(({ id }) => id === hub.id)?.uid ?? ''
  // A record that is not surveyed yet has no UID, and the agent of a plain spoke claims none.
  const byUid = new Map(records.filter(({ uid }) => uid !== '').map((record) => [record.uid, record]))
  const byManagedName = new Map(
    records.filter(({ hubClusterUid }) => hubClusterUid !== '' && hubClusterUid === hubUid).map((record) => [record.managedClusterName, record]),
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
export const makeListAvailableClusterSets = ({ hubs, clusters: store, profiles }: RecordDeps & { readonly profiles: ProfileJudge }) =>
  async (call: SignedInCall<never>, { grant, eligibleFor }: AvailableSetsInput): Outcome<HubReadFailure, readonly string[]> => {
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
    return right(namesOf(sets.right.filter((set) => !builtInSets.includes(set.name) && usable.right.some((each) => includes(set, each)))))
  }

/** Lists the managed clusters that a set selects, by name. */
export const makeListMembersOfSet = ({ hubs, clusters: store }: RecordDeps) =>
  async (call: SignedInCall<never>, { grant, clusterSet }: ClusterSetInput): Outcome<SetReadFailure, readonly MemberOfSet[]> => {
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
    return right(clusters.right.filter((each) => includes(set.right, each)).map(memberOf).sort(byName))
  }

/** Lists the names of the accepted clusters that can be added to a set. To a set that selects by labels none can. */
export const makeListCandidatesOfSet = ({ hubs }: HubDeps) =>
  async (call: SignedInCall<never>, { grant, clusterSet }: ClusterSetInput): Outcome<SetReadFailure, readonly string[]> => {
    const hub = await hubs.open(call, grant)
    if (isLeft(hub)) return hub
    const [set, clusters] = await Promise.all([findClusterSet(hub.right, clusterSet), hub.right.list(managedClusterKind)])
    if (isLeft(set)) return set
    if (isLeft(clusters)) return clusters
    if (selectsByLabels(set.right)) return right([])
    const candidates = clusters.right.filter((each) => isAccepted(each) && !each.isDeleting && !includes(set.right, each))
    return right(candidates.map(({ name }) => name).sort())
  }
