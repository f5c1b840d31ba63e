import { isLeft } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, SpokeSupplies } from '../../clusters/hubs/ports.ts'
import {
  claimedUid,
  claimText,
  distribution,
  isIdentified,
  manifestWorkReplicaSetKind,
} from '../../clusters/hub-types.ts'
import type { ClusterStore } from '../../clusters/ports.ts'
import type { Cluster } from '../../clusters/types.ts'
import { mapWithin } from '../../kernel/concurrency.ts'
import { at, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { OpenedSet } from './cluster-set.ts'
import { listMembers } from './cluster-set.ts'

/** A spoke of a cluster set to which the controllers of the hub do not give a feature set. */
export interface UnservedCluster {
  readonly name: string
  readonly reason: string
}

/** Spokes that are supplied at the same time. */
const width = 8

/** How many spokes are supplied in one request. */
const maxSupplied = 50

const supplied = `What the hub needs was written on the cluster now. Its features follow when its agent has reported the claim ${distribution.infoClaim}.`
const lacking =
  `Its agent does not report the claim ${distribution.infoClaim}, and it could not be written on the cluster. ` +
  'Until it is there, the hub gives features neither to this cluster nor to those after it.'

/**
 * Says that a spoke does not report its features. The agents of the core set write that claim, so a spoke lacks it
 * until that set has arrived.
 */
export const lacksFeaturesClaim =
  `Its agent does not report the claim ${distribution.featuresClaim}. ` +
  `Until it does, the hub gives it only the feature set ${distribution.coreFeatureSet}.`

/** Reports whether a spoke reports its features: the controllers give any other spoke the core feature set only. */
export const hasFeaturesClaim = (managed: Pick<HubObject, 'body'>): boolean =>
  claimText(managed, distribution.featuresClaim) !== undefined

/**
 * Returns why the controllers reject a profile with these features as a whole; undefined if they accept it. A profile
 * without features is not rejected: there is nothing to give.
 */
export const whyRejected = (features: Iterable<string>): string | undefined => {
  const present = new Set(features)
  const missing = distribution.coreFeatures.filter((name) => !present.has(name))
  return present.size === 0 || missing.length === 0
    ? undefined
    : `The hub gives no features to a cluster set without ${missing.join(' and ')}. Install them on the set.`
}

/**
 * Returns why the hub gives features to no spoke, whatever is installed: it lacks what brings the bootstrap of the suite
 * to spokes. Undefined if it has it, or if the credential may not read it.
 */
export const whyNotBootstrapped = async (hub: Pick<Hub, 'list'>): Promise<string | undefined> => {
  const { namespace, names } = distribution.bootstrap
  const found = await hub.list(manifestWorkReplicaSetKind, { namespace, isMetadataOnly: true })
  if (isLeft(found)) return undefined
  const present = new Set(found.right.map(({ name }) => name))
  const missing = names.filter((name) => !present.has(name))
  return missing.length === 0
    ? undefined
    : `The hub gives features to no cluster: it lacks ${missing.join(' and ')} (${manifestWorkReplicaSetKind.kind} in ${namespace}).`
}

/**
 * Returns why the controllers give a spoke nothing further, by its binding: a version of the suite that it stays at
 * needs values of the suite in the binding.
 */
export const whyPinnedInVain = ({ body }: Pick<HubObject, 'body'>): string | undefined => {
  const version = textAt(body, 'spec', distribution.pinnedVersion)
  return version === '' || at(body, 'spec', 'features', distribution.suiteFeature, 'values') !== undefined
    ? undefined
    : `It stays at version ${version} of the suite, and its profile has no values of ${distribution.suiteFeature}: ` +
        'the hub gives it nothing new. Update the values of the feature on this cluster, or let it follow its set.'
}

/** Finds the record of a managed cluster: by the hub and the name there, otherwise by its UID. */
const recordFinder = (hub: Hub, records: readonly Cluster[]): ((cluster: HubObject) => Cluster | undefined) => {
  const hubUid = records.find(({ id }) => id === hub.id)?.uid ?? ''
  return (cluster) =>
    records.find(
      ({ hubClusterUid, managedClusterName }) =>
        hubUid !== '' && hubClusterUid === hubUid && managedClusterName === cluster.name,
    ) ?? records.find(({ uid }) => uid !== '' && uid === claimedUid(cluster))
}

export interface SupplyDeps {
  readonly clusters: Pick<ClusterStore, 'listOf'>
  readonly supplies: Pick<SpokeSupplies, 'supply'>
}

/** What was installed on a cluster set. */
interface Installation {
  readonly featureSet: string
  /** The features that the cluster set has now. */
  readonly present: readonly string[]
}

/**
 * Returns the spokes of a set to which the hub does not give the installed feature set, by name, after writing what is
 * missing on those that the hub does not know the identity of and for which the account has a credential. None if the
 * set cannot be listed.
 */
export const makeSupplySet =
  ({ clusters, supplies }: SupplyDeps) =>
  async (
    call: SignedInCall<never>,
    opened: OpenedSet,
    { featureSet, present }: Installation,
  ): Promise<readonly UnservedCluster[]> => {
    const members = await listMembers(opened)
    if (isLeft(members)) return []
    const unknown = members.right.filter((member) => !isIdentified(member))
    const recordOf = recordFinder(opened.hub, unknown.length === 0 ? [] : await clusters.listOf(opened.hub.ownerId))
    const suppliedNames = new Set<string>()
    await mapWithin(unknown.slice(0, maxSupplied), width, async (member) => {
      const record = recordOf(member)
      if (record !== undefined && (await supplies.supply(call, record, member))) suppliedNames.add(member.name)
    })
    const rejected = whyRejected(present)
    const notBootstrapped = await whyNotBootstrapped(opened.hub)
    const isCore = featureSet === distribution.coreFeatureSet
    return members.right.flatMap((member) => {
      const reasons = [
        notBootstrapped,
        rejected,
        isIdentified(member) ? undefined : suppliedNames.has(member.name) ? supplied : lacking,
        isCore || hasFeaturesClaim(member) ? undefined : lacksFeaturesClaim,
      ].filter((reason) => reason !== undefined)
      return reasons.length === 0 ? [] : [{ name: member.name, reason: reasons.join(' ') }]
    })
  }
