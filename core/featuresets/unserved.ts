import { isLeft } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, SpokeSupplies } from '../clusters/hubs/ports.ts'
import { claimedUid, distribution, isIdentified } from '../clusters/hub-types.ts'
import type { ClusterStore } from '../clusters/ports.ts'
import type { Cluster } from '../clusters/types.ts'
import { mapWithin } from '../kernel/concurrency.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { OpenedSet } from './cluster-set.ts'
import { listMembers } from './cluster-set.ts'

/** A spoke of a cluster set to which the controllers of the hub give no features. */
export interface UnservedCluster {
  readonly name: string
  readonly reason: string
}

/** How many spokes are supplied in one request, and at the same time. */
const maxSupplied = 50
const width = 8

const supplied = `What the hub needs was written on the cluster now. Its features follow when its agent has reported the claim ${distribution.infoClaim}.`
const lacking =
  `Its agent does not report the claim ${distribution.infoClaim}, and it could not be written on the cluster. ` +
  'Until it is there, the hub gives features neither to this cluster nor to those after it.'

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

/**
 * Returns the spokes of a set that the hub does not know the identity of, by name, after writing what is missing on
 * those for which the account has a credential. None if the set cannot be listed.
 */
export const makeSupplySet =
  ({ clusters, supplies }: SupplyDeps) =>
  async (call: SignedInCall<never>, opened: OpenedSet): Promise<readonly UnservedCluster[]> => {
    const members = await listMembers(opened)
    const unknown = isLeft(members) ? [] : members.right.filter((member) => !isIdentified(member))
    const recordOf = recordFinder(opened.hub, unknown.length === 0 ? [] : await clusters.listOf(opened.hub.ownerId))
    return mapWithin(unknown, width, async (member, index): Promise<UnservedCluster> => {
      const record = index < maxSupplied ? recordOf(member) : undefined
      const isSupplied = record !== undefined && (await supplies.supply(call, record, member))
      return { name: member.name, reason: isSupplied ? supplied : lacking }
    })
  }
