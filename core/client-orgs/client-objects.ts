import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { Hub, Hubs, HubChangeFailure, HubKind, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import { namespaceKind } from '../clusters/hubs/ports.ts'
import {
  clusterRoleKind,
  configMapKind,
  distribution,
  hubUserName,
  isMadeByUs,
  managedByLabel,
  managedByValue,
  secretKind,
  serviceAccountKind,
} from '../clusters/hub-types.ts'
import type { ClusterStore } from '../clusters/ports.ts'
import type { Cluster } from '../clusters/types.ts'
import { clusterRoleBindingKind } from '../hubs/spokes/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { at, decodedText, isObject, listAt, ownObject, textAt, toWireJson } from '../kernel/json.ts'
import { ClientOrgInvalid } from './ports.ts'
import type { ClientCluster, ClientGrant, ClusterPlan } from './types.ts'
import { gatewayNamespaceOf, monitoringNamespaceOf, namespacesOf } from './types.ts'

/** Something on the cluster is not the client organization's, or is not ready. */
export const ClientObjectBlocked = defineFailure(
  'ClientObjectBlocked',
  'Upstream',
  'An object on the cluster belongs to another program, or is not ready.',
)
type Blocked = Failure<'ClientObjectBlocked'>

const rbacApi = 'rbac.authorization.k8s.io'
const roleBindingKind: HubKind = { apiVersion: `${rbacApi}/v1`, kind: 'RoleBinding', plural: 'rolebindings' }
const { account: accountKind, setRoleBinding, spokeRoleBinding } = distribution.kinds

/** The account on a cluster as which the members of a client organization reach it, in its namespace. */
const accountName = 'moorage-client'
const tokenSecret = 'moorage-client-token'
/** The right to read the UID of a cluster, by which this service knows it. */
const surveyRole = 'moorage:client-survey'
const gatewayMap = 'client-gateway'
const telemetryMap = 'client-telemetry'
/** The annotation with the node selector and tolerations of databases, as JSON. */
const dbProductKey = 'client.ace.appscode.com/db-product-config'
const monitoringLabel = 'ace.appscode.com/client-org-monitoring'
const { clientOrgLabel, organizationKey } = distribution

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

/** Returns the record of a cluster that the owner of its hub has; undefined if it was removed, or names another one. */
export const recordOfSpoke = async (
  { clusters }: Pick<ClientPlaces, 'clusters'>,
  { hubOwnerId, hubUid, name, uid }: Place,
): Promise<Cluster | undefined> => {
  const record = await clusters.findSpoke(hubOwnerId, hubUid, name)
  return record?.uid === uid ? record : undefined
}

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
const marked = ({ orgId }: Client, more: FreeObject = {}): FreeObject => ({
  labels: { ...ownObject(more, 'labels'), [managedByLabel]: managedByValue },
  annotations: { ...ownObject(more, 'annotations'), [organizationKey]: String(orgId) },
})

/** Reports whether this service has made an object for this client organization. */
const isOf = (object: HubObject, { orgId }: Pick<Client, 'orgId'>): boolean =>
  isMadeByUs(object) && textAt(object.body, 'metadata', 'annotations', organizationKey) === String(orgId)

const bindingNameOf = ({ roleType, roleName }: ClientGrant): string =>
  `moorage-client:${roleType.toLowerCase()}:${roleName}`

/** Returns the namespaces of a client organization that exist on a cluster, also those that are being deleted. */
export const presentNamespaces = async (
  spoke: Hub,
  client: Pick<Client, 'orgId' | 'name'>,
): Outcome<HubReadFailure, ReadonlyMap<string, HubObject>> => {
  const present = new Map<string, HubObject>()
  for (const name of namespacesOf(client.name, { useGateway: true })) {
    const found = await spoke.get(namespaceKind, { name })
    if (isLeft(found)) return found
    // A namespace that this service has not made for this client organization is no part of it.
    if (found.right !== undefined && isOf(found.right, client)) present.set(name, found.right)
  }
  return right(present)
}

const metadataOfNamespace = (client: Client, namespace: string, plan: ClusterPlan): FreeObject => {
  if (namespace === client.name)
    return marked(client, {
      labels: { [clientOrgLabel]: 'true' },
      annotations: {
        ...plan.annotations,
        ...(plan.dbProductConfig && { [dbProductKey]: toWireJson(plan.dbProductConfig) }),
      },
    })
  return marked(
    client,
    namespace === monitoringNamespaceOf(client.name) ? { labels: { [monitoringLabel]: 'true' } } : {},
  )
}

/** Writes the namespaces of a client organization. One of another program stays as it is, and fails. */
export const writeNamespaces = async (
  spoke: Hub,
  client: Client,
  plan: ClusterPlan,
): Outcome<HubChangeFailure | Blocked, void> => {
  for (const name of namespacesOf(client.name, plan)) {
    const metadata = metadataOfNamespace(client, name, plan)
    const created = await spoke.create(namespaceKind, { name }, { metadata })
    if (isLeft(created)) return created
    if (created.right === 'created') continue
    const edited = await spoke.edit<Blocked>(namespaceKind, { name }, (object) => {
      if (!isOf(object, client))
        return left(ClientObjectBlocked(`The cluster has a namespace ${name} that is not of this client organization.`))
      return object.isDeleting
        ? left(ClientObjectBlocked(`The namespace ${name} of the cluster is being deleted.`))
        : right({ merge: { metadata } })
    })
    if (isLeft(edited)) return edited
    if (edited.right === 'missing') return left(ClientObjectBlocked(`The namespace ${name} was deleted by others.`))
  }
  return right(undefined)
}

/** Writes an object by server-side apply; fails if its namespace does not exist. */
const applied = async (
  spoke: Hub,
  kind: HubKind,
  key: { readonly namespace?: string; readonly name: string },
  content: FreeObject,
): Outcome<HubChangeFailure | Blocked, void> => {
  const done = await spoke.apply(kind, key, content)
  if (isLeft(done)) return done
  return done.right === undefined
    ? left(ClientObjectBlocked(`The namespace ${key.namespace ?? ''} of the cluster does not exist.`))
    : right(undefined)
}

const surveyBindingOf = ({ name }: Pick<Client, 'name'>): string => `${surveyRole}:${name}`

/**
 * Writes the account of a client organization and its roles in its namespaces. Roles that an earlier plan gave are
 * taken back.
 */
export const writeRights = async (
  spoke: Hub,
  client: Client,
  plan: ClusterPlan,
): Outcome<HubChangeFailure | Blocked, void> => {
  const { name } = client
  const subjects = [{ kind: 'ServiceAccount', name: accountName, namespace: name }]
  const account = await applied(
    spoke,
    serviceAccountKind,
    { namespace: name, name: accountName },
    {
      metadata: marked(client),
    },
  )
  if (isLeft(account)) return account
  for (const namespace of namespacesOf(name, plan)) {
    const grants = plan.grants.filter(({ namespaces }) => namespaces.includes(namespace))
    for (const grant of grants) {
      const { roleType: kind, roleName } = grant
      const content = { metadata: marked(client), roleRef: { apiGroup: rbacApi, kind, name: roleName }, subjects }
      const bound = await applied(spoke, roleBindingKind, { namespace, name: bindingNameOf(grant) }, content)
      if (isLeft(bound)) return bound
    }
    const kept = new Set(grants.map(bindingNameOf))
    const listed = await spoke.list(roleBindingKind, {
      namespace,
      labelSelector: `${managedByLabel}=${managedByValue}`,
    })
    if (isLeft(listed)) return listed
    for (const binding of listed.right.filter((each) => isOf(each, client) && !kept.has(each.name))) {
      const removed = await spoke.remove(roleBindingKind, binding)
      if (isLeft(removed)) return removed
    }
  }
  const role = await applied(
    spoke,
    clusterRoleKind,
    { name: surveyRole },
    {
      metadata: { labels: { [managedByLabel]: managedByValue } },
      rules: [{ apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] }],
    },
  )
  if (isLeft(role)) return role
  return applied(
    spoke,
    clusterRoleBindingKind,
    { name: surveyBindingOf(client) },
    {
      metadata: marked(client),
      roleRef: { apiGroup: rbacApi, kind: 'ClusterRole', name: surveyRole },
      subjects,
    },
  )
}

/** Writes what the vendor's controllers read about the gateway and the telemetry of a client organization. */
export const writeSupplies = async (
  spoke: Hub,
  client: Client,
  { useGateway, gatewayConfig, gatewayRef, telemetry }: ClusterPlan,
): Outcome<HubChangeFailure | Blocked, void> => {
  const maps: readonly (readonly [string, string, FreeObject])[] = [
    ...(useGateway
      ? [
          [
            gatewayNamespaceOf(client.name),
            gatewayMap,
            { 'config.json': toWireJson(gatewayConfig ?? {}), 'reference.json': toWireJson(gatewayRef ?? {}) },
          ] as const,
        ]
      : []),
    [monitoringNamespaceOf(client.name), telemetryMap, { 'telemetry.json': toWireJson(telemetry ?? {}) }],
  ]
  for (const [namespace, name, data] of maps) {
    const written = await applied(spoke, configMapKind, { namespace, name }, { metadata: marked(client), data })
    if (isLeft(written)) return written
  }
  return right(undefined)
}

/** Asks the cluster for a token of the client's account, which has no expiry and ends with its namespace. */
export const writeTokenSecret = (spoke: Hub, client: Client): Outcome<HubChangeFailure, unknown> =>
  spoke.create(
    secretKind,
    { namespace: client.name, name: tokenSecret },
    {
      type: 'kubernetes.io/service-account-token',
      metadata: marked(client, { annotations: { 'kubernetes.io/service-account.name': accountName } }),
    },
  )

/** Returns the token that the cluster has issued; undefined if it has not yet. */
export const readToken = async (
  spoke: Hub,
  client: Pick<Client, 'name'>,
): Outcome<HubReadFailure, string | undefined> => {
  const found = await spoke.get(secretKind, { namespace: client.name, name: tokenSecret })
  if (isLeft(found)) return found
  const token = decodedText(textAt(found.right?.body, 'data', 'token'))
  return right(token === '' ? undefined : token)
}

/**
 * Marks the main namespace as terminating, so that programs that watch it take down what they have, and revokes the
 * rights of the client.
 */
export const revokeRights = async (
  spoke: Hub,
  client: Pick<Client, 'orgId' | 'name'>,
  namespaces: ReadonlyMap<string, HubObject>,
): Outcome<HubChangeFailure, void> => {
  const main = namespaces.get(client.name)
  if (main !== undefined && !main.isDeleting) {
    const edited = await spoke.edit(namespaceKind, { name: client.name }, ({ body }) =>
      right(
        textAt(body, 'metadata', 'labels', clientOrgLabel) === 'terminating'
          ? undefined
          : { merge: { metadata: { labels: { [clientOrgLabel]: 'terminating' } } } },
      ),
    )
    if (isLeft(edited)) return edited
  }
  const survey = await spoke.get(clusterRoleBindingKind, { name: surveyBindingOf(client) })
  if (isLeft(survey)) return survey
  if (survey.right !== undefined && isOf(survey.right, client)) {
    const removed = await spoke.remove(clusterRoleBindingKind, survey.right)
    if (isLeft(removed)) return removed
  }
  for (const namespace of namespaces.keys()) {
    const listed = await spoke.list(roleBindingKind, {
      namespace,
      labelSelector: `${managedByLabel}=${managedByValue}`,
    })
    if (isLeft(listed)) return listed
    for (const binding of listed.right.filter((each) => isOf(each, client))) {
      const removed = await spoke.remove(roleBindingKind, binding)
      if (isLeft(removed)) return removed
    }
  }
  return right(undefined)
}

/** Requests the deletion of namespaces, and does not wait. */
export const removeNamespaces = async (
  spoke: Hub,
  namespaces: ReadonlyMap<string, HubObject>,
): Outcome<HubChangeFailure, void> => {
  for (const namespace of namespaces.values()) {
    const removed = namespace.isDeleting ? right(true) : await spoke.remove(namespaceKind, namespace)
    if (isLeft(removed)) return removed
  }
  return right(undefined)
}

/** Whether the hub has the controllers of accounts and roles. */
type HubRights = 'written' | 'not served'

const isNotServed = ({ tag }: Failure): boolean => tag === 'NotAHub'

/**
 * Adds the client organization to the account of its admin on the hub. An account of another program stays as it is.
 */
const writeAccount = async (hub: Hub, { orgId, adminId }: Client): Outcome<HubChangeFailure, void> => {
  const [name, org] = [hubUserName(adminId), String(orgId)]
  const created = await hub.create(
    accountKind,
    { name },
    {
      metadata: { labels: { [managedByLabel]: managedByValue, [distribution.ownerLabel]: org } },
      spec: { username: name, uid: String(adminId), groups: { [org]: [] }, extra: { [organizationKey]: [org] } },
    },
  )
  if (isLeft(created)) return created
  const edited = await hub.edit(accountKind, { name }, (object) => {
    const known = listAt(object.body, 'spec', 'extra', organizationKey) as readonly string[]
    return right(
      !isMadeByUs(object) || known.includes(org)
        ? undefined
        : { merge: { spec: { groups: { [org]: [] }, extra: { [organizationKey]: [...known, org] } } } },
    )
  })
  return isLeft(edited) ? edited : right(undefined)
}

/** Where the binding of a grant is on the hub. */
const placeOf = (spokeName: string, { name }: Pick<Client, 'name'>, grant: ClientGrant) => {
  const { clusterSet, bindingName, roleType, roleName } = grant
  const own = bindingName ?? `moorage-client-${name}-${roleType.toLowerCase()}-${roleName}`.replaceAll(':', '-')
  return clusterSet === undefined
    ? { kind: spokeRoleBinding, key: { namespace: spokeName, name: own }, content: {} }
    : { kind: setRoleBinding, key: { name: own }, content: { clusterSetRef: { name: clusterSet } } }
}

/**
 * Writes the account of the client's admin on the hub, and its roles on the cluster, for the controllers there. A hub
 * without these controllers gets nothing: the roles in the namespaces do not depend on them.
 */
export const writeHubRights = async (
  hub: Hub,
  client: Client,
  spokeName: string,
  grants: readonly ClientGrant[],
): Outcome<HubChangeFailure | Blocked, HubRights> => {
  const account = await writeAccount(hub, client)
  if (isLeft(account)) return isNotServed(account.left) ? right('not served') : account
  for (const grant of grants) {
    const { kind, key, content } = placeOf(spokeName, client, grant)
    const created = await hub.create(kind, key, {
      ...content,
      metadata: {
        labels: {
          [managedByLabel]: managedByValue,
          [distribution.userLabel]: String(client.adminId),
          [distribution.ownerLabel]: String(client.orgId),
        },
        annotations: { [organizationKey]: String(client.orgId) },
      },
      subjects: [{ apiGroup: rbacApi, kind: 'User', name: hubUserName(client.adminId) }],
      roleRef: { apiGroup: rbacApi, kind: grant.roleType, name: grant.roleName, namespaces: grant.namespaces },
    })
    if (isLeft(created)) {
      if (isNotServed(created.left)) return right('not served')
      return created
    }
    if (created.right === 'unplaced')
      return left(ClientObjectBlocked(`The hub has no namespace ${spokeName}, or is deleting it.`))
    const found = created.right === 'exists' ? await hub.get(kind, key) : right(undefined)
    if (isLeft(found)) return found
    if (found.right !== undefined && !isOf(found.right, client))
      return left(ClientObjectBlocked(`The hub has a role binding ${key.name} of another program.`))
  }
  return right('written')
}

/**
 * Removes the roles of the client's admin on a cluster from its hub. With `leaves`, the organization has no cluster of
 * this hub any more: its account, or its part of one, is removed too.
 */
export const removeHubRights = async (
  hub: Hub,
  client: Client,
  spokeName: string,
  { leaves }: { readonly leaves: boolean },
): Outcome<HubChangeFailure, void> => {
  const own = `${distribution.ownerLabel}=${client.orgId}`
  const kinds = [[spokeRoleBinding, { namespace: spokeName, labelSelector: own }] as const]
  for (const [kind, selection] of leaves ? [...kinds, [setRoleBinding, { labelSelector: own }] as const] : kinds) {
    const listed = await hub.list(kind, selection)
    if (isLeft(listed) && isNotServed(listed.left)) continue
    if (isLeft(listed)) return listed
    for (const binding of listed.right.filter((each) => isOf(each, client))) {
      const removed = await hub.remove(kind, binding)
      if (isLeft(removed)) return removed
    }
  }
  return leaves ? leaveAccount(hub, client) : right(undefined)
}

const leaveAccount = async (hub: Hub, { orgId, adminId }: Client): Outcome<HubChangeFailure, void> => {
  const [name, org] = [hubUserName(adminId), String(orgId)]
  const found = await hub.get(accountKind, { name })
  if (isLeft(found)) return isNotServed(found.left) ? right(undefined) : found
  const account = found.right
  if (account === undefined || !isMadeByUs(account)) return right(undefined)
  const others = listAt(account.body, 'spec', 'extra', organizationKey).filter((each) => each !== org)
  if (others.length === 0) {
    const removed = await hub.remove(accountKind, account, { asRead: true })
    return isLeft(removed) ? removed : right(undefined)
  }
  const edited = await hub.edit(accountKind, { name }, ({ body }) => {
    const known = listAt(body, 'spec', 'extra', organizationKey) as readonly string[]
    const hasGroups = isObject(at(body, 'spec', 'groups'))
    return right(
      known.includes(org)
        ? {
            merge: {
              spec: {
                extra: { [organizationKey]: known.filter((each) => each !== org) },
                ...(hasGroups ? { groups: { [org]: null } } : {}),
              },
            },
          }
        : undefined,
    )
  })
  return isLeft(edited) ? edited : right(undefined)
}
