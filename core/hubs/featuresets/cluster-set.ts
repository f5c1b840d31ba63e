import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubReadFailure, Hubs } from '../../clusters/hubs/ports.ts'
import { clusterSetLabel, managedClusterKind } from '../../clusters/hubs/ports.ts'
import { findClusterSet, includes, selectsByLabels } from '../clustersets/types.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { definedFields } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'

/** A cluster set, in the hub of the grant. */
export interface ClusterSetRef {
  readonly grant: AccessGrant
  /** A DNS-1123 label. */
  readonly clusterSet: string
}

/** A cluster set that was found on its hub. */
export interface OpenedSet {
  readonly hub: Hub
  readonly set: HubObject
}

/** The failures of a read about a cluster set. */
export type SetReadFailure = HubReadFailure | Failure<'ClusterSetMissing'>

/** Opens the hub of a cluster set and reads the set. */
export const openSet = async (
  hubs: Hubs,
  call: SignedInCall<never>,
  { grant, clusterSet }: ClusterSetRef,
): Outcome<SetReadFailure, OpenedSet> => {
  const hub = await hubs.open(call, grant)
  if (isLeft(hub)) return hub
  const set = await findClusterSet(hub.right, clusterSet)
  return isLeft(set) ? set : right({ hub: hub.right, set: set.right })
}

interface MemberSelection {
  /** At most the cluster of that name. */
  readonly only?: string
  readonly isMetadataOnly?: boolean
}

/** Lists the clusters of a set with one list, sorted by name. */
export const listMembers = async (
  { hub, set }: OpenedSet,
  { only, isMetadataOnly = false }: MemberSelection = {},
): Outcome<HubReadFailure, readonly HubObject[]> => {
  const labelSelector = selectsByLabels(set) ? undefined : `${clusterSetLabel}=${set.name}`
  const fieldSelector = only === undefined ? undefined : `metadata.name=${only}`
  const listed = await hub.list(managedClusterKind, {
    isMetadataOnly,
    ...definedFields({ labelSelector, fieldSelector }),
  })
  if (isLeft(listed)) return listed
  return right(listed.right.filter((cluster) => includes(set, cluster)).sort((a, b) => (a.name < b.name ? -1 : 1)))
}

/** Finds a cluster set of a hub and lists its clusters, sorted by name. */
export const findMembers = async (hub: Hub, clusterSet: string): Outcome<SetReadFailure, readonly HubObject[]> => {
  const set = await findClusterSet(hub, clusterSet)
  return isLeft(set) ? set : listMembers({ hub, set: set.right })
}
