import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { managedClusterKind } from '../clusters/hubs/ports.ts'
import type { ClusterStore } from '../clusters/ports.ts'
import { mapWithin } from '../kernel/concurrency.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OrgId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy } from '../kernel/secret.ts'
import type { OrganizationStore } from '../organizations/ports.ts'
import type { Organization } from '../organizations/types.ts'
import type { SubmitFailure, Tasks } from '../tasks/ports.ts'
import type { ClientPlaces } from './client-objects.ts'
import { openSpokeOf, presentNamespaces } from './client-objects.ts'
import type { HubRef, PlaceFailure, RequestedPlan, TargetDeps } from './creation.ts'
import { checkPlan, judgeSpoke, lockGateway, openTargetHub } from './creation.ts'
import type { ClientOrgStore, ClientOrgStores, ClientOrgUnitOfWork } from './ports.ts'
import { ClientOrgInUse, ClientOrgInvalid, ClientOrgMissing, ClientOrgRefused } from './ports.ts'
import type { PreparedSettling } from './settling.ts'
import { prepareSettling } from './settling.ts'
import type { ClientCluster, ClientOrg, ClientOrgStatus } from './types.ts'
import { auditOf, namespacesOf, statusOfAll, statusOfCluster } from './types.ts'

/** Lists client organizations by name; with `hubOwner` those with a cluster of a hub of that account. */
export const makeListClientOrgs =
  ({ clientOrgs }: { readonly clientOrgs: ClientOrgStore }) =>
  async (
    _call: SignedInCall,
    { hubOwner, page }: { readonly hubOwner: string | undefined; readonly page: PageRequest },
  ): Outcome<never, Page<Organization>> =>
    right(await clientOrgs.list(hubOwner, page))

const missing = ClientOrgMissing('No client organization has this id.')

export const makeGetClientOrg =
  (deps: { readonly clientOrgs: ClientOrgStore; readonly organizations: Pick<OrganizationStore, 'findById'> }) =>
  async (_call: SignedInCall, id: OrgId): Outcome<Failure<'ClientOrgMissing'>, Organization> => {
    const clientOrg = await deps.clientOrgs.findByOrg(id)
    const organization = clientOrg === undefined ? undefined : await deps.organizations.findById(id)
    return organization === undefined ? left(missing) : right(organization)
  }

interface StatusDeps extends ClientPlaces {
  readonly clientOrgs: ClientOrgStore
}

/** How long a cluster may take to say which namespaces it has. */
const statusMs = 10_000
const concurrentClusters = 8

/** Returns the status on one cluster. Only one that is being deleted or has failed is asked for its namespaces. */
const readStatus = async (
  deps: StatusDeps,
  call: SignedInCall<never>,
  clientOrg: ClientOrg,
  cluster: ClientCluster,
): Promise<ClientOrgStatus> => {
  const { state } = cluster
  if (state !== 'Deleting' && state !== 'Failed') return statusOfCluster(clientOrg.name, cluster, undefined)
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(statusMs)])
  const opened = await openSpokeOf(deps, { ...call, signal }, cluster)
  const present = isLeft(opened) ? opened : await presentNamespaces(opened.right.spoke, clientOrg)
  return statusOfCluster(clientOrg.name, cluster, isLeft(present) ? undefined : new Set(present.right.keys()))
}

export const makeGetClusterStatus =
  (deps: StatusDeps) =>
  async (
    call: SignedInCall,
    { name, cluster: clusterName }: { readonly name: string; readonly cluster: string },
  ): Outcome<never, ClientOrgStatus> => {
    const clientOrg = await deps.clientOrgs.find(name)
    const clusters = clientOrg === undefined ? [] : await deps.clientOrgs.clustersOf(clientOrg.id)
    const cluster = clusters.find((each) => each.name === clusterName)
    return right(
      clientOrg === undefined || cluster === undefined ? 'NotFound' : await readStatus(deps, call, clientOrg, cluster),
    )
  }

export const makeGetClientStatus =
  (deps: StatusDeps) =>
  async (call: SignedInCall, name: string): Outcome<never, ClientOrgStatus> => {
    const clientOrg = await deps.clientOrgs.find(name)
    if (clientOrg === undefined) return right('NotFound')
    const clusters = await deps.clientOrgs.clustersOf(clientOrg.id)
    const statuses = await mapWithin(clusters, concurrentClusters, (each) => readStatus(deps, call, clientOrg, each))
    return right(statusOfAll(clientOrg.state, statuses))
  }

interface ChangeDeps {
  readonly clientOrgs: ClientOrgStore
  readonly entropy: Entropy
  readonly tasks: Pick<Tasks, 'prepare'>
  readonly unitOfWork: ClientOrgUnitOfWork
}

/** A client organization that is locked in the transaction of a change. */
interface Held {
  readonly stores: ClientOrgStores
  readonly clientOrg: ClientOrg
  readonly clusters: readonly ClientCluster[]
  /** No unfinished task works on it. */
  readonly isIdle: boolean
}

/** Changes a client organization, and accepts the task that settles it, in one transaction. */
const changeAndSettle = async <F extends Failure>(
  deps: ChangeDeps,
  call: SignedInCall,
  known: ClientOrg,
  gone: () => F,
  change: (held: Held) => Outcome<F, void>,
): Outcome<F | SubmitFailure, void> => {
  const task: PreparedSettling = await prepareSettling(deps, call, known)
  const changed = await deps.unitOfWork.run<F | SubmitFailure, void>(call, async (stores) => {
    const clientOrg = await stores.clientOrgs.lock(known.id)
    if (clientOrg === undefined || clientOrg.state === 'Deleted') return left(gone())
    const clusters = await stores.clientOrgs.clustersOf(clientOrg.id)
    const settling = await task.acceptIn(stores, clientOrg.settling)
    if (isLeft(settling)) return settling
    const done = await change({ stores, clientOrg, clusters, isIdle: settling.right !== clientOrg.settling })
    if (isLeft(done)) return done
    await stores.clientOrgs.setSettling(clientOrg.id, settling.right)
    return right(undefined)
  })
  if (!isLeft(changed)) task.announce()
  return changed
}

/** Names a cluster of a hub as a request does. */
export interface ClusterRef {
  readonly orgName: string
  readonly hub: HubRef
  readonly spoke: string
}

export interface AddClusterInput extends ClusterRef {
  readonly plan: RequestedPlan
}

const unknown = () => ClientOrgRefused('No client organization has this name.')

export type ChangeClusterFailure = PlaceFailure | SubmitFailure

/** Fails if the client organization has the cluster; returns what is to be written again, if it had it. */
const judgeAddition = async (
  clusters: Pick<ClusterStore, 'find' | 'findByUid'>,
  { clientOrg, clusters: known, isIdle }: Pick<Held, 'clientOrg' | 'clusters' | 'isIdle'>,
  { name, uid, hubOwnerId, hubUid }: Pick<ClientCluster, 'name' | 'uid' | 'hubOwnerId' | 'hubUid'>,
): Outcome<Failure<'ClientOrgInvalid'>, ClientCluster | undefined> => {
  if (clientOrg.state !== 'Live') return left(ClientOrgInvalid('The client organization is being deleted.'))
  const own = known.find((each) => each.name === name)
  const record = (await clusters.find(clientOrg.orgId, name)) ?? (await clusters.findByUid(clientOrg.orgId, uid))
  const imported = ClientOrgInvalid(
    `The client organization has a cluster ${name} already, or the same one by another name.`,
  )
  if (own === undefined)
    return record === undefined && known.every((each) => each.uid !== uid || each.state === 'Deleted')
      ? right(undefined)
      : left(imported)
  if (own.state === 'Deleting') return left(ClientOrgInvalid(`${name} is being removed from the client organization.`))
  const isSame = own.uid === uid && own.hubOwnerId === hubOwnerId && own.hubUid === hubUid
  if (own.state === 'Deleted') return record === undefined ? right(own) : left(imported)
  // What was not finished is continued, and a cluster whose record the client has removed is recorded again.
  const isUnfinished = own.state === 'Failed' || (own.state === 'Provisioning' && isIdle)
  const isContinued = isUnfinished || (own.state === 'Active' && record === undefined && own.plan.importsCluster)
  return isContinued && isSame ? right(own) : left(imported)
}

/** Gives a client organization a cluster more. The hub is asked before the transaction. */
export const makeAddCluster =
  (deps: ChangeDeps & TargetDeps) =>
  async (
    call: SignedInCall,
    { orgName, hub, spoke, plan: asked }: AddClusterInput,
  ): Outcome<ChangeClusterFailure, void> => {
    const known = await deps.clientOrgs.find(orgName)
    if (known === undefined || known.state === 'Deleted') return left(unknown())
    const checked = checkPlan(asked)
    if (isLeft(checked)) return checked
    const opened = await openTargetHub(deps, call, hub)
    if (isLeft(opened)) return opened
    const managed = await opened.right.hub.get(managedClusterKind, { name: spoke })
    if (isLeft(managed)) return managed
    const target = await judgeSpoke(deps, opened.right, spoke, managed.right)
    if (isLeft(target)) return target
    return changeAndSettle<PlaceFailure>(deps, call, known, unknown, async (held) => {
      const { stores, clientOrg } = held
      const again = await judgeAddition(stores.clusters, held, target.right)
      if (isLeft(again)) return again
      const gateway = await lockGateway(stores, orgName, asked, [target.right])
      if (isLeft(gateway)) return gateway
      const namespaces = namespacesOf(orgName, asked)
      const cluster = {
        ...target.right,
        clientOrgId: clientOrg.id,
        gatewayOfId: gateway.right,
        plan: {
          ...asked,
          grants: [{ roleType: 'ClusterRole' as const, roleName: 'admin', namespaces }],
          importsCluster: true,
        },
      }
      await (again.right === undefined
        ? stores.clientOrgs.insertCluster(cluster)
        : stores.clientOrgs.replanCluster(again.right.id, cluster))
      await stores.audit.record(auditOf(clientOrg, 'client_org.cluster_requested', { cluster: spoke }))
      return right(undefined)
    })
  }

/**
 * Accepts the removal of a client organization from a cluster. One that is removed already, or is being removed, is
 * accepted too: a task that failed is continued.
 */
export const makeRemoveCluster =
  (deps: ChangeDeps & Pick<TargetDeps, 'clusters' | 'memberships'>) =>
  async (
    call: SignedInCall,
    { orgName, hub, spoke }: ClusterRef,
  ): Outcome<Failure<'ClientOrgRefused'> | SubmitFailure, void> => {
    const known = await deps.clientOrgs.find(orgName)
    if (known === undefined || known.state === 'Deleted') return left(unknown())
    const owner = await deps.memberships.findAccount(hub.ownerName)
    return changeAndSettle(deps, call, known, unknown, async ({ stores, clientOrg, clusters }) => {
      const cluster = clusters.find(({ name }) => name === spoke)
      if (cluster === undefined || cluster.hubOwnerId !== owner?.id || cluster.hubUid !== hub.uid)
        return left(ClientOrgRefused(`The client organization has no cluster ${spoke} of this hub.`))
      const record = await stores.clusters.findByUid(cluster.hubOwnerId, hub.uid)
      if (record !== undefined && hub.name !== undefined && hub.name !== record.name)
        return left(ClientOrgRefused(`hubClusterName: the hub with that UID is recorded as ${record.name}.`))
      if (cluster.state === 'Deleted' || cluster.state === 'Deleting') return right(undefined)
      await stores.clientOrgs.setClusterState(cluster.id, 'Deleting', '')
      await stores.audit.record(auditOf(clientOrg, 'client_org.cluster_removal_requested', { cluster: spoke }))
      return right(undefined)
    })
  }

const namedObjects = 20

/** Returns why a client organization cannot be deleted; undefined if it can. */
const obstacleTo = async ({ stores, clientOrg, clusters }: Held): Promise<Failure<'ClientOrgInUse'> | undefined> => {
  const users = await stores.clientOrgs.gatewayUsers(clientOrg.id, namedObjects)
  if (users.length > 0) return ClientOrgInUse(`Its gateway is used by ${users.join(', ')}.`, { errors: users })
  const own = new Set(clusters.filter(({ state }) => state !== 'Deleted').map(({ name }) => name))
  const blocking = await stores.organizations.blockingObjects(clientOrg.orgId, namedObjects + own.size)
  const errors = blocking
    .filter(({ type, name }) => type !== 'cluster' || !own.has(name))
    .map(({ type, name }) => `${type} ${name}`)
  return errors.length === 0
    ? undefined
    : ClientOrgInUse(`The client organization cannot be deleted while it owns ${errors.slice(0, 5).join(', ')}.`, {
        errors,
      })
}

export type DeleteClientOrgFailure = Failure<'ClientOrgInUse' | 'ClientOrgMissing'> | SubmitFailure

/** Accepts the deletion of a client organization: from each cluster, and then itself. Also during its creation. */
export const makeDeleteClientOrg =
  (deps: ChangeDeps) =>
  async (call: SignedInCall, id: OrgId): Outcome<DeleteClientOrgFailure, void> => {
    const known = await deps.clientOrgs.findByOrg(id)
    if (known === undefined || known.state === 'Deleted') return left(missing)
    return changeAndSettle<Failure<'ClientOrgInUse' | 'ClientOrgMissing'>>(
      deps,
      call,
      known,
      () => missing,
      async (held) => {
        const { stores, clientOrg, clusters } = held
        const obstacle = await obstacleTo(held)
        if (obstacle !== undefined) return left(obstacle)
        if (clientOrg.state === 'Deleting') return right(undefined)
        await stores.clientOrgs.setState(clientOrg.id, 'Deleting')
        for (const cluster of clusters.filter(({ state }) => state !== 'Deleting' && state !== 'Deleted'))
          await stores.clientOrgs.setClusterState(cluster.id, 'Deleting', '')
        await stores.audit.record(auditOf(clientOrg, 'client_org.deletion_requested'))
        return right(undefined)
      },
    )
  }
