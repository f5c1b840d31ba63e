import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub } from '../clusters/hubs/ports.ts'
import { managedClusterKind } from '../clusters/hubs/ports.ts'
import { claimedUid, isAccepted } from '../clusters/hub-types.ts'
import type { ClusterConnections, ClusterStore, ClusterTransport, CredentialSealer } from '../clusters/ports.ts'
import type { Cluster, ClusterCredential, NewCluster } from '../clusters/types.ts'
import type { Clock, Pause } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy } from '../kernel/secret.ts'
import type { TaskRun } from '../tasks/ports.ts'
import {
  listAccounts,
  listOtherCredentials,
  removeAccounts,
  requestToken,
  writeAccountBasis,
  writeAccounts,
} from './accounts.ts'
import {
  markTerminating,
  presentNamespaces,
  removeNamespaces,
  writeNamespaces,
  writeSupplies,
} from './client-objects.ts'
import { removeHubRights, writeHubRights } from './hub-rights.ts'
import type { Client, ClientPlaces } from './places.ts'
import { ClientObjectBlocked, openHubOf, openSpokeOf, recordOfSpoke } from './places.ts'
import { ClientOrgInvalid } from './ports.ts'
import type { ClientOrgStore, ClientOrgUnitOfWork } from './ports.ts'
import type { ClientCluster, ClientOrg } from './types.ts'
import { holdsObjects, namespacesOf } from './types.ts'

export interface ReconciliationDeps extends ClientPlaces {
  readonly clientOrgs: ClientOrgStore
  readonly clock: Clock
  readonly clusters: Pick<ClusterStore, 'find' | 'findByUid' | 'findSpoke'>
  readonly connections: ClusterConnections
  readonly entropy: Entropy
  readonly pause: Pause
  readonly seal: CredentialSealer
  readonly transport: Pick<ClusterTransport, 'forget'>
  readonly unitOfWork: ClientOrgUnitOfWork
}

/** The work on one cluster. */
export interface Work extends Client {
  readonly run: TaskRun
  readonly call: SignedInCall
  readonly org: ClientOrg
  readonly cluster: ClientCluster
}

/** One part of the work. It finds out itself what is done already, so that it may run again. */
export interface Step {
  readonly title: string
  /** Returns what was done, for people; undefined if it has not come to its end. */
  work(): Outcome<Failure, string | undefined>
  /** What a step that may wait says if the time is over. */
  readonly waitsFor?: string
}

/** Another request has changed what is to be done: the work on the cluster begins again. */
export const overtaken = ClientObjectBlocked('Another request has changed what is to be done.')

export const settlingOf = ({ input }: Pick<TaskRun, 'input'>): string => input['settling'] as string

const checkOnHub = async (deps: ReconciliationDeps, { call, cluster }: Work): Outcome<Failure, string> => {
  const hub = await openHubOf(deps, call, cluster)
  if (isLeft(hub)) return hub
  const managed = await hub.right.get(managedClusterKind, { name: cluster.name })
  if (isLeft(managed)) return managed
  if (managed.right === undefined || managed.right.isDeleting || !isAccepted(managed.right))
    return left(ClientOrgInvalid(`${cluster.name} is not an accepted spoke of the hub any more.`))
  return ['', cluster.uid].includes(claimedUid(managed.right))
    ? right(`The hub ${hub.right.name} manages the cluster.`)
    : left(ClientOrgInvalid(`The hub manages another cluster as ${cluster.name} by now.`))
}

const grantOnHub = async (deps: ReconciliationDeps, work: Work): Outcome<Failure, string> => {
  const { call, cluster } = work
  const hub = await openHubOf(deps, call, cluster)
  if (isLeft(hub)) return hub
  const written = await writeHubRights(hub.right, work, cluster.name, cluster.plan.grants, () => deps.entropy.uuid())
  if (isLeft(written)) return written
  return right(
    written.right === 'written'
      ? 'The admin has an account on the hub, and roles on the cluster.'
      : 'The hub has no controllers of accounts and roles. The roles in the namespaces are enough.',
  )
}

/** Does one part on the spoke, which is opened for it. */
const onSpoke =
  (deps: ReconciliationDeps, { call, cluster }: Work) =>
  async <A>(part: (spoke: Hub, record: Cluster) => Outcome<Failure, A>): Outcome<Failure, A> => {
    const opened = await openSpokeOf(deps, call, cluster)
    return isLeft(opened) ? opened : part(opened.right.spoke, opened.right.record)
  }

/** Returns what was done after a part that returns nothing. */
const saying = async (done: string, part: Outcome<Failure, unknown>): Outcome<Failure, string> => {
  const ended = await part
  return isLeft(ended) ? ended : right(done)
}

/** Returns the record of the cluster for the client organization. Its credential contains no secret. */
const recordOf = (
  { org, cluster, call }: Work,
  of: Cluster,
  sealed: { readonly ref: string; readonly box: Uint8Array },
  server: string,
  at: Date,
): NewCluster => ({
  ownerId: org.orgId,
  name: cluster.name,
  displayName: of.displayName,
  uid: cluster.uid,
  externalId: of.externalId,
  provider: of.provider,
  vendor: of.vendor,
  endpoint: server,
  location: of.location,
  project: of.project,
  kubernetesVersion: of.kubernetesVersion,
  nodeCount: of.nodeCount,
  managers: [],
  // The client organization does not have the hub.
  hubClusterUid: '',
  managedClusterName: '',
  infraNamespace: org.name,
  status: { phase: 'Active', reason: undefined, message: '' },
  impersonatesUsers: false,
  createdAt: at,
  checkedAt: undefined,
  importedBy: call.principal.userId,
  ref: sealed.ref,
  sealedCredential: sealed.box,
})

/** The credential of a client's record: where the cluster is, and whose record issues the tokens of members. */
export const issuedCredential = (
  { server, authorityPem, tlsServerName }: ClusterCredential,
  { hubOwnerId, uid }: Pick<ClientCluster, 'hubOwnerId' | 'uid'>,
): ClusterCredential => ({
  server,
  authorityPem,
  tlsServerName,
  identity: { kind: 'issued', issuerId: hubOwnerId, issuerUid: uid },
})

const writeMembers = (deps: ReconciliationDeps, work: Work): Outcome<Failure, string> =>
  onSpoke(
    deps,
    work,
  )(async (spoke) => {
    const { plan, id } = work.cluster
    const basis = await writeAccountBasis(spoke, work, plan)
    if (isLeft(basis)) return basis
    const written = await writeAccounts(spoke, work, plan, await deps.clientOrgs.accountsOf(id))
    if (isLeft(written)) return written
    return right(
      basis.right === 'enforced'
        ? 'The roles are given. Each member gets an account with the first request.'
        : 'The roles are given. The cluster has no admission policies (Kubernetes before 1.30): members can store ' +
            'tokens of the service accounts in their namespaces.',
    )
  })

const lookForCredentials = (deps: ReconciliationDeps, work: Work): Outcome<Failure, string> =>
  onSpoke(
    deps,
    work,
  )(async (spoke) => {
    const others = await listOtherCredentials(spoke, namespacesOf(work.name, work.cluster.plan))
    return isLeft(others) ? others : right(othersText(others.right))
  })

export const noOthers = 'There are no others.'

/** Says which credentials in the namespaces of a client are not of this service; or `noOthers`. */
export const othersText = (others: readonly string[]): string =>
  others.length === 0
    ? noOthers
    : `Not made by this service, and not removed: ${others.join(', ')}. They give rights without it. Remove those that ` +
      'no program needs.'

const importCluster = async (deps: ReconciliationDeps, work: Work): Outcome<Failure, string> => {
  const { call, cluster, org, run } = work
  if (!cluster.plan.importsCluster)
    return right('The cluster is not recorded for the client organization, as requested.')
  const opened = await openSpokeOf(deps, call, cluster)
  if (isLeft(opened)) return opened
  const { record, spoke } = opened.right
  const token = await requestToken(spoke, work, undefined)
  if (isLeft(token)) return token
  const connection = await deps.connections.open(record.id)
  if (isLeft(connection)) return connection
  const credential = issuedCredential(connection.right.credential, cluster)
  const sealed = await deps.seal(org.orgId, credential)
  return deps.unitOfWork.run<Failure, string>(call, async ({ clusters, clientOrgs }) => {
    const current = await clientOrgs.lock(org.id)
    if (current?.settling !== settlingOf(run) || current.state !== 'Live') return left(overtaken)
    const known = await clusters.find(org.orgId, cluster.name)
    if (known !== undefined && known.uid !== cluster.uid)
      return left(ClientObjectBlocked(`The client organization has recorded another cluster as ${cluster.name}.`))
    const written: Either<Failure, Cluster> =
      known === undefined
        ? await clusters.insert(recordOf(work, record, sealed, credential.server, deps.clock.now()))
        : await clusters.change(known.id, known.version, { sealed, endpoint: credential.server })
    return isLeft(written) ? written : right(`The cluster is recorded as ${org.name}/${cluster.name}.`)
  })
}

export const provisioning = (deps: ReconciliationDeps, work: Work): readonly Step[] => {
  const { plan } = work.cluster
  const write = onSpoke(deps, work)
  return [
    { title: 'Find the cluster on its hub', work: () => checkOnHub(deps, work) },
    { title: 'Give the admin roles on the hub', work: () => grantOnHub(deps, work) },
    {
      title: 'Create the namespaces',
      work: () =>
        saying(
          'The namespaces exist.',
          write((spoke) => writeNamespaces(spoke, work, plan)),
        ),
    },
    { title: 'Give the client roles in the namespaces', work: () => writeMembers(deps, work) },
    {
      title: 'Write the gateway and telemetry objects',
      work: () =>
        saying(
          'The objects are written.',
          write((spoke) => writeSupplies(spoke, work, plan)),
        ),
    },
    { title: 'Record the cluster for the client', work: () => importCluster(deps, work) },
    { title: 'Look for other credentials in the namespaces', work: () => lookForCredentials(deps, work) },
  ]
}

const noRecord = ({ cluster }: Work): Failure =>
  ClientObjectBlocked(
    `The owner of the hub has no record of ${cluster.name} with an access config, so that what the client organization ` +
      'has there remains: namespaces, rights and accounts. Import the cluster again and repeat the request. If it no ' +
      'longer exists, give it up by delete-cluster with force.',
  )

const revokeOnHub = async (deps: ReconciliationDeps, work: Work): Outcome<Failure, string> => {
  const { call, cluster, org } = work
  if ((await deps.clusters.findByUid(cluster.hubOwnerId, cluster.hubUid)) === undefined)
    return right('The hub has no record. What is there is looked at in the end.')
  const others = (await deps.clientOrgs.clustersOf(org.id)).filter(
    ({ id, hubOwnerId, hubUid, state }) =>
      id !== cluster.id && hubOwnerId === cluster.hubOwnerId && hubUid === cluster.hubUid && holdsObjects(state),
  )
  const hub = await openHubOf(deps, call, cluster)
  if (isLeft(hub)) return hub
  return saying(
    'The admin has no roles on the cluster by the hub.',
    removeHubRights(hub.right, work, cluster.name, { leaves: others.length === 0 }),
  )
}

/** Opens the cluster by the record that the owner of the hub has, whether or not the hub still manages it. */
const reached = async (deps: ReconciliationDeps, work: Work): Outcome<Failure, Hub> => {
  if ((await recordOfSpoke(deps, work.cluster))?.hasCredential !== true) return left(noRecord(work))
  const opened = await openSpokeOf(deps, work.call, work.cluster)
  return isLeft(opened) ? opened : right(opened.right.spoke)
}

const revoke = async (deps: ReconciliationDeps, work: Work): Outcome<Failure, string> => {
  const spoke = await reached(deps, work)
  if (isLeft(spoke)) return spoke
  const present = await presentNamespaces(spoke.right, work)
  if (isLeft(present)) return present
  const marked = await markTerminating(spoke.right, work, present.right)
  if (isLeft(marked)) return marked
  return saying(
    'The client has no accounts and roles on the cluster.',
    removeAccounts(spoke.right, work, present.right.keys()),
  )
}

const clearNamespaces = async (deps: ReconciliationDeps, work: Work): Outcome<Failure, string | undefined> => {
  const spoke = await reached(deps, work)
  if (isLeft(spoke)) return spoke
  const present = await presentNamespaces(spoke.right, work)
  if (isLeft(present)) return present
  const removed = await removeNamespaces(spoke.right, present.right)
  if (isLeft(removed)) return removed
  if (present.right.size > 0) return right(undefined)
  // A request that began before the removal may have made an account since.
  const accounts = await listAccounts(spoke.right, work)
  if (isLeft(accounts)) return accounts
  if (accounts.right.length === 0) return right('Nothing of the client organization is on the cluster.')
  const again = await removeAccounts(spoke.right, work, [])
  return isLeft(again) ? again : right(undefined)
}

const checkHubIsClear = async (deps: ReconciliationDeps, { cluster }: Work): Outcome<Failure, string> =>
  (await deps.clusters.findByUid(cluster.hubOwnerId, cluster.hubUid)) === undefined
    ? left(
        ClientObjectBlocked(
          `The owner of the hub of ${cluster.name} has no record of it, so that an account of the admin may remain ` +
            'there. Import the hub again and repeat the request. If it no longer exists, give the cluster up by ' +
            'delete-cluster with force.',
        ),
      )
    : right('The admin has no roles on the cluster by the hub.')

export const deletion = (deps: ReconciliationDeps, work: Work): readonly Step[] => [
  { title: 'Revoke the roles on the hub', work: () => revokeOnHub(deps, work) },
  { title: 'Revoke the roles', work: () => revoke(deps, work) },
  {
    title: 'Delete the namespaces',
    work: () => clearNamespaces(deps, work),
    waitsFor: 'The cluster has not finished the deletion of the namespaces.',
  },
  { title: 'Check that the hub has nothing', work: () => checkHubIsClear(deps, work) },
]
