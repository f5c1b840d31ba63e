import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { managedClusterKind } from '../clusters/hubs/ports.ts'
import type { ClusterStore, ClusterTransport } from '../clusters/ports.ts'
import { mapWithin } from '../kernel/concurrency.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ClusterId, OrgId } from '../kernel/ids.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy } from '../kernel/secret.ts'
import type { OrganizationStore } from '../organizations/ports.ts'
import type { Organization } from '../organizations/types.ts'
import type { SubmitFailure, Tasks } from '../tasks/ports.ts'
import type { ClientPlaces } from './places.ts'
import { openSpokeOf, recordOfSpoke } from './places.ts'
import { listAccounts } from './accounts.ts'
import { presentNamespaces } from './client-objects.ts'
import type { HubRef, PlaceFailure, RequestedPlan, TargetDeps } from './creation.ts'
import { checkPlan, judgeSpoke, lockGateway, openTargetHub } from './creation.ts'
import type { ClientOrgStore, ClientOrgStores, ClientOrgUnitOfWork } from './ports.ts'
import { ClientOrgInUse, ClientOrgInvalid, ClientOrgMissing, ClientOrgRefused } from './ports.ts'
import type { PreparedReconciliation } from './reconciliation.ts'
import { prepareReconciliation } from './reconciliation.ts'
import type { ClientCluster, ClientOrg, ClientOrgStatus } from './types.ts'
import { auditOf, holdsObjects, namespacesOf, statusOfAll, statusOfCluster } from './types.ts'

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

/** The status of a client organization on one cluster, and what it still has there. */
export interface ClientClusterStatus {
  readonly cluster: string
  readonly status: ClientOrgStatus
  /** Objects of the client organization on a cluster that it is being removed from, or that was given up. */
  readonly remains: readonly string[]
  /** Why the last attempt failed, or what it found; empty if nothing is to be said. */
  readonly message: string
}

export interface ClientOrgReport {
  readonly status: ClientOrgStatus
  readonly clusters: readonly ClientClusterStatus[]
}

const neverThere: ClientOrgReport = { status: 'NotFound', clusters: [] }

/** Reads from a cluster what is there of a client organization. */
const readRemains = async (
  deps: StatusDeps,
  call: SignedInCall<never>,
  clientOrg: ClientOrg,
  cluster: ClientCluster,
): Outcome<Failure, { readonly namespaces: readonly string[]; readonly accounts: readonly string[] }> => {
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(statusMs)])
  const opened = await openSpokeOf(deps, { ...call, signal }, cluster)
  if (isLeft(opened)) return opened
  const { spoke } = opened.right
  const [present, accounts] = await Promise.all([presentNamespaces(spoke, clientOrg), listAccounts(spoke, clientOrg)])
  if (isLeft(present)) return present
  if (isLeft(accounts)) return accounts
  const names = accounts.right.map(({ namespace, name }) => `${namespace}/${name}`)
  return right({ namespaces: [...present.right.keys()], accounts: names })
}

/**
 * Returns the status on one cluster. Only one that is being deleted, was given up or has failed is asked what is there.
 */
const readStatus = async (
  deps: StatusDeps,
  call: SignedInCall<never>,
  clientOrg: ClientOrg,
  cluster: ClientCluster,
): Promise<ClientClusterStatus> => {
  const { state, name, message } = cluster
  const isAsked = state === 'Deleting' || state === 'Failed' || state === 'Abandoned'
  if (!isAsked)
    return { cluster: name, status: statusOfCluster(clientOrg.name, cluster, undefined), remains: [], message }
  const found = await readRemains(deps, call, clientOrg, cluster)
  if (isLeft(found)) {
    const status = statusOfCluster(clientOrg.name, cluster, undefined)
    const unknown = `It is not known what remains on the cluster: ${found.left.message}`
    return { cluster: name, status, remains: [], message: [message, unknown].filter((text) => text !== '').join(' ') }
  }
  const { namespaces, accounts } = found.right
  const remains = [
    ...namespaces.map((each) => `Namespace ${each}`),
    ...accounts.map((each) => `ServiceAccount ${each}`),
  ]
  return { cluster: name, status: statusOfCluster(clientOrg.name, cluster, new Set(namespaces)), remains, message }
}

export const makeGetClusterStatus =
  (deps: StatusDeps) =>
  async (
    call: SignedInCall,
    { name, cluster: clusterName }: { readonly name: string; readonly cluster: string },
  ): Outcome<never, ClientOrgReport> => {
    const clientOrg = await deps.clientOrgs.find(name)
    const clusters = clientOrg === undefined ? [] : await deps.clientOrgs.clustersOf(clientOrg.id)
    const cluster = clusters.find((each) => each.name === clusterName)
    if (clientOrg === undefined || cluster === undefined) return right(neverThere)
    const read = await readStatus(deps, call, clientOrg, cluster)
    return right({ status: read.status, clusters: [read] })
  }

export const makeGetClientStatus =
  (deps: StatusDeps) =>
  async (call: SignedInCall, name: string): Outcome<never, ClientOrgReport> => {
    const clientOrg = await deps.clientOrgs.find(name)
    if (clientOrg === undefined) return right(neverThere)
    const clusters = await deps.clientOrgs.clustersOf(clientOrg.id)
    const read = await mapWithin(clusters, concurrentClusters, (each) => readStatus(deps, call, clientOrg, each))
    const status = statusOfAll(
      clientOrg.state,
      read.map((each) => each.status),
    )
    return right({ status, clusters: read })
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
const changeAndReconcile = async <F extends Failure>(
  deps: ChangeDeps,
  call: SignedInCall,
  known: ClientOrg,
  gone: () => F,
  change: (held: Held) => Outcome<F, void>,
): Outcome<F | SubmitFailure, void> => {
  const task: PreparedReconciliation = await prepareReconciliation(deps, call, known)
  const changed = await deps.unitOfWork.run<F | SubmitFailure, void>(call, async (stores) => {
    const clientOrg = await stores.clientOrgs.lock(known.id)
    if (clientOrg === undefined) return left(gone())
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
  if (own.state === 'Deleting' || own.state === 'Abandoned')
    return left(ClientOrgInvalid(`The removal of ${name} from the client organization has not finished.`))
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
    return changeAndReconcile<PlaceFailure>(deps, call, known, unknown, async (held) => {
      const { stores, clientOrg } = held
      if (clientOrg.state === 'Deleted') return left(unknown())
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

/** Names a cluster whose client organization is removed from it. */
export interface RemoveClusterRef extends ClusterRef {
  /** Gives up what a removal that failed has not removed. */
  readonly isForced: boolean
}

/** Gives up what is on a cluster. Returns the record of the client organization, which is deleted. */
const abandonCluster = async (
  { stores, clientOrg, isIdle }: Held,
  cluster: ClientCluster,
): Outcome<Failure<'ClientOrgRefused'>, ClusterId | undefined> => {
  if (cluster.state === 'Abandoned' || cluster.state === 'Deleted') return right(undefined)
  if (cluster.state !== 'Deleting' || cluster.message === '' || !isIdle)
    return left(
      ClientOrgRefused('force: only what a removal could not remove is given up. Send the request without it first.'),
    )
  const record = await stores.clusters.find(clientOrg.orgId, cluster.name)
  if (record?.uid === cluster.uid) await stores.clusters.remove(record.id)
  await stores.clientOrgs.setClusterState(cluster.id, 'Abandoned', cluster.message)
  const details = { cluster: cluster.name, problem: cluster.message }
  await stores.audit.record(auditOf(clientOrg, 'client_org.cluster_abandoned', details))
  return right(record?.uid === cluster.uid ? record.id : undefined)
}

/**
 * Accepts the removal of a client organization from a cluster. One that is removed already, or is being removed, is
 * accepted too: a task that failed is continued. What was given up is removed also after the organization was deleted.
 */
export const makeRemoveCluster =
  (
    deps: ChangeDeps &
      Pick<TargetDeps, 'clusters' | 'memberships'> & { readonly transport: Pick<ClusterTransport, 'forget'> },
  ) =>
  async (
    call: SignedInCall,
    { orgName, hub, spoke, isForced }: RemoveClusterRef,
  ): Outcome<Failure<'ClientOrgRefused'> | SubmitFailure, void> => {
    const known = await deps.clientOrgs.find(orgName)
    if (known === undefined) return left(unknown())
    const owner = await deps.memberships.findAccount(hub.ownerName)
    let recordId: ClusterId | undefined
    const removed = await changeAndReconcile(deps, call, known, unknown, async (held) => {
      const { stores, clientOrg, clusters } = held
      const cluster = clusters.find(({ name }) => name === spoke)
      if (cluster === undefined || cluster.hubOwnerId !== owner?.id || cluster.hubUid !== hub.uid)
        return left(ClientOrgRefused(`The client organization has no cluster ${spoke} of this hub.`))
      const record = await stores.clusters.findByUid(cluster.hubOwnerId, hub.uid)
      if (record !== undefined && hub.name !== undefined && hub.name !== record.name)
        return left(ClientOrgRefused(`hubClusterName: the hub with that UID is recorded as ${record.name}.`))
      if (isForced) {
        const abandoned = await abandonCluster(held, cluster)
        if (isLeft(abandoned)) return abandoned
        recordId = abandoned.right
        return right(undefined)
      }
      // After the organization was deleted, a record of the cluster shows again whether anything is left there.
      const isChecked = clientOrg.state === 'Deleted' && (await recordOfSpoke(stores, cluster)) !== undefined
      if ((cluster.state === 'Deleted' && !isChecked) || cluster.state === 'Deleting') return right(undefined)
      await stores.clientOrgs.setClusterState(cluster.id, 'Deleting', '')
      await stores.audit.record(auditOf(clientOrg, 'client_org.cluster_removal_requested', { cluster: spoke }))
      return right(undefined)
    })
    if (!isLeft(removed) && recordId !== undefined) await deps.transport.forget(recordId)
    return removed
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
    return changeAndReconcile<Failure<'ClientOrgInUse' | 'ClientOrgMissing'>>(
      deps,
      call,
      known,
      () => missing,
      async (held) => {
        const { stores, clientOrg, clusters } = held
        if (clientOrg.state === 'Deleted') return left(missing)
        const obstacle = await obstacleTo(held)
        if (obstacle !== undefined) return left(obstacle)
        if (clientOrg.state === 'Deleting') return right(undefined)
        await stores.clientOrgs.setState(clientOrg.id, 'Deleting')
        for (const cluster of clusters.filter(({ state }) => holdsObjects(state)))
          await stores.clientOrgs.setClusterState(cluster.id, 'Deleting', '')
        await stores.audit.record(auditOf(clientOrg, 'client_org.deletion_requested'))
        return right(undefined)
      },
    )
  }
