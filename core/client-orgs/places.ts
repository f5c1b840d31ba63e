import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { Hub, HubObject, Hubs } from '../clusters/hubs/ports.ts'
import { distribution, isMadeByUs, managedByLabel, managedByValue } from '../clusters/hub-types.ts'
import type { ClusterStore } from '../clusters/ports.ts'
import type { Cluster } from '../clusters/types.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import { ownObject, textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { ClientOrgInvalid } from './ports.ts'
import type { ClientCluster } from './types.ts'

const { organizationKey } = distribution

/** Something on the cluster is not the client organization's, or is not ready. */
export const ClientObjectBlocked = defineFailure(
  'ClientObjectBlocked',
  'Upstream',
  'An object on the cluster belongs to another program, or is not ready.',
)
export type Blocked = Failure<'ClientObjectBlocked'>

/** Opens hubs, and spokes by the records of the owners of their hubs. */
export interface ClientPlaces {
  readonly authorizer: Authorizer
  readonly clusters: Pick<ClusterStore, 'findByUid' | 'findSpoke'>
  readonly hubs: Hubs
}

/** A cluster as the owner of its hub reaches it. */
export interface OpenedSpoke {
  readonly record: Cluster
  readonly spoke: Hub
}

type Place = Pick<ClientCluster, 'hubOwnerId' | 'hubUid' | 'name' | 'uid'>

/** Returns the record of a cluster that the owner of its hub has, also if the hub no longer manages it. */
export const recordOfSpoke = (
  { clusters }: { readonly clusters: Pick<ClusterStore, 'findByUid'> },
  { hubOwnerId, uid }: Pick<Place, 'hubOwnerId' | 'uid'>,
): Promise<Cluster | undefined> => clusters.findByUid(hubOwnerId, uid)

/** Opens the record of a hub, as the caller. */
export const openHubRecord = async (
  { authorizer, hubs }: ClientPlaces,
  call: SignedInCall<never>,
  record: Pick<Cluster, 'ownerName' | 'name' | 'id'>,
): Outcome<Failure<'ClientOrgInvalid' | 'ClusterMissing' | 'ClusterNotConnected'>, Hub> => {
  const object = { type: 'hub', account: record.ownerName, name: record.name }
  const grant = await authorizer.authorize(call.principal, object, 'can_import_spokes')
  return isLeft(grant) || (grant.right.container?.id ?? grant.right.objectId) !== record.id
    ? left(ClientOrgInvalid('You may not import spokes into the hub, or it was removed.'))
    : hubs.open(call, grant.right)
}

export const openHubOf = async (deps: ClientPlaces, call: SignedInCall<never>, place: Place): Outcome<Failure, Hub> => {
  const record = await deps.clusters.findByUid(place.hubOwnerId, place.hubUid)
  return record === undefined
    ? left(ClientOrgInvalid(`The hub of ${place.name} was removed.`))
    : openHubRecord(deps, call, record)
}

/** Opens a spoke by the access config in the record of the owner of its hub. */
export const openSpokeOf = async (
  { authorizer, clusters, hubs }: ClientPlaces,
  call: SignedInCall<never>,
  place: Place,
): Outcome<Failure, OpenedSpoke> => {
  const { name } = place
  const record = await recordOfSpoke({ clusters }, place)
  if (record?.hasCredential !== true)
    return left(ClientOrgInvalid(`The owner of the hub has no access config of ${name}.`))
  const object = { type: 'cluster', account: record.ownerName, name: record.name }
  const grant = await authorizer.authorize(call.principal, object, 'can_connect')
  if (isLeft(grant) || grant.right.objectId !== record.id)
    return left(ClientOrgInvalid(`You may not connect to ${name}, or its record was removed.`))
  const spoke = await hubs.openSpoke(call, grant.right)
  return isLeft(spoke) ? spoke : right({ record, spoke: spoke.right })
}

/** The client organization as its objects name it. */
export interface Client {
  readonly orgId: OrgId
  readonly name: string
  readonly adminId: UserId
}

/** What marks the objects of a client organization. */
export const marked = ({ orgId }: Pick<Client, 'orgId'>, more: FreeObject = {}): FreeObject => ({
  labels: { ...ownObject(more, 'labels'), [managedByLabel]: managedByValue },
  annotations: { ...ownObject(more, 'annotations'), [organizationKey]: String(orgId) },
})

/** Reports whether this service has made an object for this client organization. */
export const isOf = (object: HubObject, { orgId }: Pick<Client, 'orgId'>): boolean =>
  isMadeByUs(object) && textAt(object.body, 'metadata', 'annotations', organizationKey) === String(orgId)
