import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import { clusterSetKind, clusterSetLabel, managedClusterKind } from '../clusters/hubs/ports.ts'
import { claimedUid, isAccepted } from '../clusters/hub-types.ts'
import type { Cluster } from '../clusters/types.ts'
import type { PreparedUser, UserFounder } from '../identity/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId, UserId } from '../kernel/ids.ts'
import { definedFields, ownObject, textAt, toWireJson } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy } from '../kernel/secret.ts'
import type { MembershipStore } from '../organizations/ports.ts'
import type { Organization, OrganizationProfile } from '../organizations/types.ts'
import { clientOrgType } from '../organizations/types.ts'
import type { SubmitFailure, Tasks } from '../tasks/ports.ts'
import type { ClientOrgStores, ClientOrgStore, ClientOrgUnitOfWork } from './ports.ts'
import { ClientOrgExists, ClientOrgInvalid, ClientOrgRefused } from './ports.ts'
import type { ClientPlaces } from './places.ts'
import { openHubRecord } from './places.ts'
import { prepareReconciliation } from './reconciliation.ts'
import type { ClientGrant, ClientOrg, ClientOrgId, ClusterPlan, NewClientCluster } from './types.ts'
import { auditOf, gatewayNamespaceOf, isClientName, namespacesOf } from './types.ts'

/** Names a hub as a request does. */
export interface HubRef {
  readonly ownerName: string
  readonly uid: string
  /** The name of its record; undefined if the request does not state it. */
  readonly name: string | undefined
}

/** What a request asks for on each cluster. Clients send empty objects for what they do not set. */
export type RequestedPlan = Omit<ClusterPlan, 'grants' | 'importsCluster'>

/** A permission as a request gives it: a role on a cluster, or on each cluster of a set. */
export interface RequestedPermission {
  readonly name: string
  readonly isClusterSet: boolean
  readonly roleType: ClientGrant['roleType']
  /** `admin` by default. */
  readonly roleName: string
  /** All namespaces of the client organization by default. */
  readonly namespaces: readonly string[]
  readonly bindingName: string | undefined
}

/** The admin: a user who exists, by id or name, or a new one, by name and address. */
export interface RequestedAdmin {
  readonly id: UserId | undefined
  readonly login: string | undefined
  readonly email: string | undefined
}

export interface CreateClientOrgInput {
  readonly name: string
  readonly profile: Partial<OrganizationProfile>
  /** The client organization is to get a token of the fleet manager, at the end point in its profile. */
  readonly needsFleet: boolean
  readonly hub: HubRef
  readonly admin: RequestedAdmin
  readonly permissions: readonly RequestedPermission[]
  readonly importsClusters: boolean
  readonly isShared: boolean
  readonly plan: RequestedPlan
}

type Invalid = Failure<'ClientOrgInvalid'>
type Refused = Failure<'ClientOrgRefused'>
export type PlaceFailure = HubReadFailure | Invalid | Refused
export type CreateClientOrgFailure =
  | PlaceFailure
  | SubmitFailure
  | Failure<'ClientOrgExists' | 'UserNameTaken' | 'EmailTaken'>

/** What finds the hub and the clusters of a request. */
export interface TargetDeps extends ClientPlaces {
  readonly memberships: Pick<MembershipStore, 'findAccount'>
}

/** A hub that the caller may use for client organizations. */
export interface TargetHub {
  readonly hub: Hub
  readonly record: Cluster
}

/** Opens the hub that a request names. */
export const openTargetHub = async (
  deps: TargetDeps,
  call: SignedInCall<never>,
  { ownerName, uid, name }: HubRef,
): Outcome<PlaceFailure, TargetHub> => {
  const owner = await deps.memberships.findAccount(ownerName)
  const record = owner === undefined ? undefined : await deps.clusters.findByUid(owner.id as AccountId, uid)
  if (record === undefined) return left(ClientOrgInvalid(`${ownerName} has no hub with the UID ${uid}.`))
  if (name !== undefined && name !== record.name)
    return left(ClientOrgRefused(`hubClusterName: the hub with that UID is recorded as ${record.name}.`))
  const hub = await openHubRecord(deps, call, record)
  return isLeft(hub) ? hub : right({ hub: hub.right, record })
}

/** A cluster that a client organization may get. */
export interface TargetCluster extends Pick<NewClientCluster, 'hubOwnerId' | 'hubUid' | 'name' | 'uid'> {}

/** Judges a spoke of a hub: it must be accepted, and recorded with an access config by the owner of the hub. */
export const judgeSpoke = async (
  { clusters }: Pick<TargetDeps, 'clusters'>,
  { record: { ownerId: hubOwnerId, ownerName, uid: hubUid, name: hubName } }: TargetHub,
  name: string,
  managed: HubObject | undefined,
): Promise<Either<Refused, TargetCluster>> => {
  if (managed === undefined || managed.isDeleting || !isAccepted(managed))
    return left(ClientOrgRefused(`The hub ${hubName} has no accepted cluster ${name}.`))
  const record = await clusters.findSpoke(hubOwnerId, hubUid, name)
  if (record?.hasCredential !== true || record.uid === '')
    return left(
      ClientOrgRefused(`${ownerName} has not imported the cluster ${name} with an access config, which this needs.`),
    )
  const claimed = claimedUid(managed)
  return claimed === '' || claimed === record.uid
    ? right({ hubOwnerId, hubUid, name, uid: record.uid })
    : left(ClientOrgRefused(`The record of ${name} is of another cluster than the hub has under this name.`))
}

/** Returns the clusters that a permission names. */
const clustersNamed = async (
  { hub }: TargetHub,
  { name, isClusterSet }: RequestedPermission,
): Outcome<PlaceFailure, readonly (readonly [string, HubObject | undefined])[]> => {
  if (!isClusterSet) {
    const managed = await hub.get(managedClusterKind, { name })
    return isLeft(managed) ? managed : right([[name, managed.right]])
  }
  const set = await hub.get(clusterSetKind, { name })
  if (isLeft(set)) return set
  if (set.right === undefined) return left(ClientOrgRefused(`The hub has no cluster set ${name}.`))
  if (textAt(set.right.body, 'spec', 'clusterSelector', 'selectorType') === 'LabelSelector')
    return left(ClientOrgRefused(`The cluster set ${name} selects clusters by labels. Name its clusters instead.`))
  const listed = await hub.list(managedClusterKind, { labelSelector: `${clusterSetLabel}=${name}` })
  if (isLeft(listed)) return listed
  const accepted = listed.right.filter((each) => isAccepted(each) && !each.isDeleting)
  return accepted.length === 0
    ? left(ClientOrgRefused(`The cluster set ${name} has no accepted cluster.`))
    : right(accepted.map((each) => [each.name, each] as const))
}

/** Returns the grant of a permission, within the namespaces of the client organization. */
const grantOf = (
  name: string,
  plan: RequestedPlan,
  { namespaces, roleType, roleName, isClusterSet, name: target, bindingName }: RequestedPermission,
): Either<Refused, ClientGrant> => {
  const own = namespacesOf(name, plan)
  const foreign = namespaces.find((namespace) => !own.includes(namespace))
  return foreign === undefined
    ? right({
        roleType,
        roleName,
        namespaces: namespaces.length === 0 ? own : namespaces,
        ...definedFields({ clusterSet: isClusterSet ? target : undefined, bindingName }),
      })
    : left(ClientOrgRefused(`userPermission: ${foreign} is no namespace of the client organization.`))
}

/** Returns each cluster of the permissions once, with the grants on it. */
const targetsOf = async (
  deps: TargetDeps,
  opened: TargetHub,
  { name, permissions, plan }: Pick<CreateClientOrgInput, 'name' | 'permissions' | 'plan'>,
): Outcome<PlaceFailure, readonly (readonly [TargetCluster, readonly ClientGrant[]])[]> => {
  const found = new Map<string, { readonly target: TargetCluster; readonly grants: ClientGrant[] }>()
  for (const permission of permissions) {
    const grant = grantOf(name, plan, permission)
    if (isLeft(grant)) return grant
    const named = await clustersNamed(opened, permission)
    if (isLeft(named)) return named
    for (const [cluster, managed] of named.right) {
      const target = await judgeSpoke(deps, opened, cluster, managed)
      if (isLeft(target)) return target
      const known = found.get(cluster) ?? { target: target.right, grants: [] }
      known.grants.push(grant.right)
      found.set(cluster, known)
    }
  }
  const all = [...found.values()]
  const doubled = all.find(({ target }, index) => all.findIndex((other) => other.target.uid === target.uid) !== index)
  return doubled === undefined
    ? right(all.map(({ target, grants }) => [target, grants] as const))
    : left(ClientOrgRefused(`${doubled.target.name} is the same cluster as another one that is named.`))
}

const annotationKey = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/
const reservedKeys = /(?:^|\.)(?:kubernetes\.io|k8s\.io|appscode\.com)\//

/** In bytes as JSON: what is written on the cluster is also stored. */
const maxPlanBytes = 48 * 1024

/** Judges what does not depend on the hub. */
export const checkPlan = (plan: RequestedPlan): Either<Refused, void> => {
  const { annotations, dbProductConfig, useGateway, gatewayConfig, gatewayRef } = plan
  if (new TextEncoder().encode(toWireJson(plan)).length > maxPlanBytes)
    return left(
      ClientOrgRefused('annotations, dbProductConfig, the gateway and telemetryParams have more than 48 KiB.'),
    )
  const malformed = [
    ...Object.keys(annotations),
    ...Object.keys(ownObject(dbProductConfig ?? {}, 'nodeSelector')),
  ].find((key) => !annotationKey.test(key))
  if (malformed !== undefined)
    return left(
      ClientOrgRefused(`annotations, dbProductConfig.nodeSelector: "${malformed}" is not a key of Kubernetes.`),
    )
  const reserved = Object.keys(annotations).find((key) => reservedKeys.test(key))
  if (reserved !== undefined)
    return left(ClientOrgRefused(`annotations: ${reserved} is written by the platform itself.`))
  if (!useGateway && (gatewayConfig !== undefined || gatewayRef !== undefined))
    return left(ClientOrgRefused('useGateway must be true for a configuration of the gateway.'))
  if (gatewayRef !== undefined && (textAt(gatewayRef, 'name') === '' || textAt(gatewayRef, 'namespace') === ''))
    return left(ClientOrgRefused('The reference to a gateway must have a name and a namespace.'))
  return right(undefined)
}

/**
 * Finds and locks the client organization whose gateway a plan refers to. It must exist and be usable by others.
 * Undefined if the reference is to a namespace of no client organization, such as one of the vendor.
 */
export const lockGateway = async (
  { clientOrgs }: Pick<ClientOrgStores, 'clientOrgs'>,
  own: string,
  { gatewayRef }: Pick<ClusterPlan, 'gatewayRef'>,
  clusters: readonly Pick<TargetCluster, 'uid' | 'name'>[],
): Outcome<Invalid, ClientOrgId | undefined> => {
  const namespace = textAt(gatewayRef, 'namespace')
  let owner: ClientOrg | undefined
  for (const { uid, name } of clusters) {
    const found = namespace === '' ? undefined : await clientOrgs.ofNamespace(uid, namespace)
    if (found === undefined || found.name === own) continue
    const locked = await clientOrgs.lock(found.id)
    if (locked?.state !== 'Live' || !locked.isShared || namespace !== gatewayNamespaceOf(locked.name))
      return left(ClientOrgInvalid(`The namespace ${namespace} of ${name} has no gateway that others may use.`))
    owner = locked
  }
  return right(owner?.id)
}

/** What creates the admin, in the transaction. */
type Admin = (stores: ClientOrgStores, now: Date) => Outcome<Refused | Failure<'UserNameTaken' | 'EmailTaken'>, UserId>

const existingAdmin =
  ({ id, login, email }: RequestedAdmin): Admin =>
  async ({ users, emails }) => {
    const named = id === undefined ? await users.byLogin(login ?? '') : await users.byId(id)
    const user = named === undefined ? undefined : await users.lock(named.id)
    if (user === undefined) return left(ClientOrgRefused('userPermission: the user does not exist.'))
    if (login !== undefined && login.toLowerCase() !== user.login.toLowerCase())
      return left(ClientOrgRefused('userPermission: id and userName are of two users.'))
    if (!user.isActive) return left(ClientOrgRefused('userPermission: the account of the user is not active.'))
    const known = email === undefined ? [] : await emails.list(user.id)
    return email === undefined || known.some((each) => each.email.toLowerCase() === email.toLowerCase())
      ? right(user.id)
      : left(ClientOrgRefused('userPermission: the user exists and does not have this address.'))
  }

const newAdmin =
  (prepared: PreparedUser): Admin =>
  async (stores, now) => {
    const user = await prepared.insertIn(stores, now)
    return isLeft(user) ? user : right(user.right.id)
  }

interface CreateDeps extends TargetDeps {
  readonly clientOrgs: ClientOrgStore
  readonly clock: Clock
  readonly entropy: Entropy
  readonly tasks: Pick<Tasks, 'prepare'>
  readonly unitOfWork: ClientOrgUnitOfWork
  readonly userFounder: UserFounder
}

const prepareAdmin = async (
  { memberships, userFounder }: CreateDeps,
  admin: RequestedAdmin,
): Outcome<Refused, Admin> => {
  const { id, login, email } = admin
  if (id === undefined && login === undefined)
    return left(ClientOrgRefused('userPermission must have the id or the userName of the admin.'))
  const known = login === undefined ? undefined : await memberships.findAccount(login)
  if (id !== undefined || known?.kind === 'user') return right(existingAdmin(admin))
  if (email === undefined)
    return left(ClientOrgRefused('userPermission: the user does not exist, and a new one needs an email.'))
  const prepared = await userFounder.prepare({ login: login ?? '', email })
  if (!isLeft(prepared)) return right(newAdmin(prepared.right))
  return left(ClientOrgRefused(`userPermission: ${prepared.left.message}`))
}

const checkInput = (input: CreateClientOrgInput): Either<Invalid | Refused, void> => {
  if (!isClientName(input.name))
    return left(
      ClientOrgRefused(
        'clientOrg.orgName must be 1 to 40 lower-case letters, digits and hyphens, beginning and ending with a ' +
          'letter or digit, and must not end with -gw or -monitoring: the namespaces of the client organization have this name.',
      ),
    )
  if (input.needsFleet && (input.profile.fleetEndpoint ?? '') === '')
    return left(ClientOrgInvalid('clientOrg.fleetManagementClusterEndPoint is missing.'))
  return checkPlan(input.plan)
}

/** Inserts the organization with its admin; the name is unique among all accounts. */
const foundIn = async (
  stores: ClientOrgStores,
  input: CreateClientOrgInput,
  admin: Admin,
  now: Date,
): Outcome<CreateClientOrgFailure, Organization & { readonly adminId: UserId }> => {
  const adminId = await admin(stores, now)
  if (isLeft(adminId)) return adminId
  const founded = await stores.founder.found(
    { name: input.name, profile: input.profile, orgType: clientOrgType, ownerId: adminId.right },
    now,
  )
  if (!isLeft(founded)) return right({ ...founded.right, adminId: adminId.right })
  return left(
    founded.left.tag === 'OrganizationNameTaken'
      ? ClientOrgExists(`A user or an organization has the name ${input.name}.`)
      : ClientOrgRefused(founded.left.message, definedFields({ errors: founded.left.errors })),
  )
}

/** Fails if clusters still have what an earlier client organization of this name had: that row is what removes it. */
const checkFormer = async (
  { clientOrgs }: Pick<ClientOrgStores, 'clientOrgs'>,
  name: string,
): Outcome<Failure<'ClientOrgExists'>, void> => {
  const former = await clientOrgs.find(name)
  const clusters = former === undefined ? [] : await clientOrgs.clustersOf(former.id)
  const kept = clusters.filter(({ state }) => state !== 'Deleted').map((cluster) => cluster.name)
  return former?.state === 'Deleted' && kept.length > 0
    ? left(
        ClientOrgExists(
          `Objects of an earlier client organization ${name} remain on ${kept.join(', ')}. Remove them by delete-cluster.`,
        ),
      )
    : right(undefined)
}

/**
 * Creates a client organization: the organization, its admin and what its clusters are to have, with the task that
 * makes it there, in one transaction. The hub is asked before.
 */
export const makeCreateClientOrg =
  (deps: CreateDeps) =>
  async (call: SignedInCall, input: CreateClientOrgInput): Outcome<CreateClientOrgFailure, void> => {
    const { name, plan } = input
    const checked = checkInput(input)
    if (isLeft(checked)) return checked
    if ((await deps.memberships.findAccount(name)) !== undefined)
      return left(ClientOrgExists(`A user or an organization has the name ${name}.`))
    const opened = await openTargetHub(deps, call, input.hub)
    if (isLeft(opened)) return opened
    const targets = await targetsOf(deps, opened.right, input)
    if (isLeft(targets)) return targets
    const admin = await prepareAdmin(deps, input.admin)
    if (isLeft(admin)) return admin
    const { ownerId: vendorId } = opened.right.record
    const task = await prepareReconciliation(deps, call, { name, vendorId })
    const created = await deps.unitOfWork.run<CreateClientOrgFailure, void>(call, async (stores) => {
      const now = deps.clock.now()
      // Client organizations are locked before accounts, as in every change.
      const gateway = await lockGateway(
        stores,
        name,
        plan,
        targets.right.map(([target]) => target),
      )
      if (isLeft(gateway)) return gateway
      const former = await checkFormer(stores, name)
      if (isLeft(former)) return former
      const settling = await task.acceptIn(stores, '')
      if (isLeft(settling)) return settling
      const founded = await foundIn(stores, input, admin.right, now)
      if (isLeft(founded)) return founded
      const { id: orgId, adminId } = founded.right
      const clientOrg = {
        orgId,
        name,
        vendorId,
        adminId,
        isShared: input.isShared,
        settling: settling.right,
        createdAt: now,
      }
      const id = await stores.clientOrgs.insert(clientOrg)
      for (const [target, grants] of targets.right) {
        await stores.clientOrgs.insertCluster({
          ...target,
          clientOrgId: id,
          gatewayOfId: gateway.right,
          plan: { ...plan, grants, importsCluster: input.importsClusters },
        })
      }
      const clusters = targets.right.map(([target]) => target.name)
      await stores.audit.record(auditOf(clientOrg, 'client_org.created', { admin: adminId, clusters }))
      return right(undefined)
    })
    if (!isLeft(created)) task.announce()
    return created
  }
