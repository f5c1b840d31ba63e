import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { whyStoppedBy, wordsOf } from '../cluster-tasks/types.ts'
import type { Hub } from '../clusters/hubs/ports.ts'
import { managedClusterKind } from '../clusters/hubs/ports.ts'
import { claimedUid, isAccepted } from '../clusters/hub-types.ts'
import type { ClusterConnections, ClusterStore, ClusterTransport, CredentialSealer } from '../clusters/ports.ts'
import type { Cluster, NewCluster } from '../clusters/types.ts'
import type { Clock, Pause } from '../kernel/clock.ts'
import { mapWithin, notYet, over, pollWithin } from '../kernel/concurrency.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ClusterId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy } from '../kernel/secret.ts'
import { randomBase62, secret } from '../kernel/secret.ts'
import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { SubmitFailure, TaskEnd, TaskHandler, TaskRun, Tasks, TaskStep } from '../tasks/ports.ts'
import type { Client, ClientPlaces } from './client-objects.ts'
import {
  ClientObjectBlocked,
  openHubOf,
  openSpokeOf,
  presentNamespaces,
  readToken,
  recordOfSpoke,
  removeHubRights,
  removeNamespaces,
  revokeRights,
  writeHubRights,
  writeNamespaces,
  writeRights,
  writeSupplies,
  writeTokenSecret,
} from './client-objects.ts'
import { ClientOrgInvalid } from './ports.ts'
import type { ClientOrgStore, ClientOrgStores, ClientOrgUnitOfWork } from './ports.ts'
import type { ClientCluster, ClientOrg, ClusterState } from './types.ts'
import { auditOf } from './types.ts'

const kind = 'client-orgs.settle'

/** How many clusters of a client organization are worked on at a time. */
const concurrentClusters = 4
/** How long a cluster may take to issue a token or to delete a namespace, and how long it may not answer. */
const patienceMs = 10 * 60_000
const reachPatienceMs = 60_000
/** Objects that keep an organization, in the message of the task. */
const namedObjects = 20

/** A task that may be accepted in the transaction of a change. */
export interface PreparedSettling {
  /**
   * Accepts the task, unless an unfinished one works on the client organization: that one looks for changes before it
   * ends. Returns the lock to store with the client organization. The caller must have locked its row.
   */
  acceptIn(stores: ClientOrgStores, settling: string): Outcome<SubmitFailure, string>
  announce(): void
}

const lockLength = 20

const lockOf = (settling: string): string => `client-org/${settling}`

/** Prepares the task that makes the clusters of a client organization what they are to be. */
export const prepareSettling = async (
  { tasks, entropy }: { readonly tasks: Pick<Tasks, 'prepare'>; readonly entropy: Entropy },
  call: SignedInCall<never>,
  { name, vendorId }: Pick<ClientOrg, 'name' | 'vendorId'>,
): Promise<PreparedSettling> => {
  const settling = randomBase62(entropy, lockLength)
  const task = await tasks.prepare(call, {
    kind,
    title: `Settle the client organization ${name}`,
    tenantId: vendorId,
    about: { clientOrg: name },
    lockKey: lockOf(settling),
    input: { name, settling },
    responseId: undefined,
  })
  let isAccepted = false
  return {
    async acceptIn(stores, current) {
      if (current !== '' && (await stores.tasks.findByLock(lockOf(current))) !== undefined) return right(current)
      const accepted = await task.acceptIn(stores)
      if (isLeft(accepted)) return accepted
      isAccepted = true
      return right(settling)
    },
    announce: () => {
      if (isAccepted) task.announce()
    },
  }
}

export interface SettlingDeps extends ClientPlaces {
  readonly clientOrgs: ClientOrgStore
  readonly clock: Clock
  readonly clusters: Pick<ClusterStore, 'find' | 'findByUid' | 'findSpoke'>
  readonly connections: ClusterConnections
  readonly pause: Pause
  readonly seal: CredentialSealer
  readonly transport: Pick<ClusterTransport, 'forget'>
  readonly unitOfWork: ClientOrgUnitOfWork
}

/** The work on one cluster. */
interface Work extends Client {
  readonly run: TaskRun
  readonly call: SignedInCall
  readonly org: ClientOrg
  readonly cluster: ClientCluster
}

/** One part of the work. It finds out itself what is done already, so that it may run again. */
interface Step {
  readonly title: string
  /** Returns what was done, for people; undefined if it has not come to its end. */
  work(): Outcome<Failure, string | undefined>
  /** What a step that may wait says if the time is over. */
  readonly waitsFor?: string
}

/** Another request has changed what is to be done: the work on the cluster begins again. */
const overtaken = ClientObjectBlocked('Another request has changed what is to be done.')

/**
 * Does a step, and repeats it while it has not come to its end or the cluster does not answer. Any other failure ends
 * it.
 */
const untilDone = async (
  deps: Pick<SettlingDeps, 'pause'>,
  run: Pick<TaskRun, 'signal'>,
  step: TaskStep,
  { work, waitsFor = '' }: Step,
): Outcome<Failure, string> => {
  const patience = {
    patienceMs: waitsFor === '' ? reachPatienceMs : patienceMs,
    stuck: ClientObjectBlocked,
    say: (why: string) => step.say(`Waits. ${why}`),
  }
  const polled = await pollWithin<Either<Failure, string>>(deps, run, patience, async () => {
    const done = await work()
    if (isLeft(done)) return done.left.tag === 'ClusterUnreachable' ? done : right(over(done))
    return right(done.right === undefined ? notYet(waitsFor) : over(right(done.right)))
  })
  return isLeft(polled) ? polled : polled.right
}

/** Writes the state of a cluster, if it is as the work has found it. */
const move = async (
  { unitOfWork }: Pick<SettlingDeps, 'unitOfWork'>,
  { call, cluster, run, org }: Work,
  state: ClusterState,
  message: string,
  entry: AuditEntry | undefined,
  more: (stores: ClientOrgStores) => Outcome<Failure, void> = async () => right(undefined),
): Outcome<Failure, void> =>
  unitOfWork.run<Failure, void>(call, async (stores) => {
    const current = await stores.clientOrgs.lock(org.id)
    if (current === undefined || current.settling !== settlingOf(run)) return left(overtaken)
    if (!(await stores.clientOrgs.moveCluster(cluster, state, message))) return left(overtaken)
    const done = await more(stores)
    if (!isLeft(done) && entry !== undefined) await stores.audit.record(entry)
    return done
  })

const settlingOf = ({ input }: Pick<TaskRun, 'input'>): string => input['settling'] as string

const checkOnHub = async (deps: SettlingDeps, { call, cluster }: Work): Outcome<Failure, string> => {
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

const grantOnHub = async (deps: SettlingDeps, work: Work): Outcome<Failure, string> => {
  const { call, cluster } = work
  const hub = await openHubOf(deps, call, cluster)
  if (isLeft(hub)) return hub
  const written = await writeHubRights(hub.right, work, cluster.name, cluster.plan.grants)
  if (isLeft(written)) return written
  return right(
    written.right === 'written'
      ? 'The admin has an account on the hub, and roles on the cluster.'
      : 'The hub has no controllers of accounts and roles. The roles in the namespaces are enough.',
  )
}

/** Does one part on the spoke, which is opened for it. */
const onSpoke =
  (deps: SettlingDeps, { call, cluster }: Work) =>
  async (done: string, part: (spoke: Hub, record: Cluster) => Outcome<Failure, unknown>): Outcome<Failure, string> => {
    const opened = await openSpokeOf(deps, call, cluster)
    if (isLeft(opened)) return opened
    const written = await part(opened.right.spoke, opened.right.record)
    return isLeft(written) ? written : right(done)
  }

/** Returns the record of the cluster for the client organization: it contains the token of the client's account. */
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

const importCluster = async (deps: SettlingDeps, work: Work): Outcome<Failure, string | undefined> => {
  const { call, cluster, org, run } = work
  if (!cluster.plan.importsCluster)
    return right('The cluster is not recorded for the client organization, as requested.')
  if ((await deps.clusters.find(org.orgId, cluster.name)) !== undefined)
    return right('The cluster is recorded already.')
  const opened = await openSpokeOf(deps, call, cluster)
  if (isLeft(opened)) return opened
  const { record, spoke } = opened.right
  const asked = await writeTokenSecret(spoke, work)
  if (isLeft(asked)) return asked
  const token = await readToken(spoke, work)
  if (isLeft(token)) return token
  if (token.right === undefined) return right(undefined)
  const connection = await deps.connections.open(record.id)
  if (isLeft(connection)) return connection
  const { server, authorityPem, tlsServerName } = connection.right.credential
  const identity = { kind: 'token', token: secret(token.right) } as const
  const sealed = await deps.seal(org.orgId, { server, authorityPem, tlsServerName, identity })
  return deps.unitOfWork.run<Failure, string>(call, async ({ clusters, clientOrgs }) => {
    const current = await clientOrgs.lock(org.id)
    if (current?.settling !== settlingOf(run) || current.state !== 'Live') return left(overtaken)
    const inserted = await clusters.insert(recordOf(work, record, sealed, server, deps.clock.now()))
    return isLeft(inserted) ? inserted : right(`The cluster is recorded as ${org.name}/${cluster.name}.`)
  })
}

const provisioning = (deps: SettlingDeps, work: Work): readonly Step[] => {
  const { plan } = work.cluster
  const write = onSpoke(deps, work)
  return [
    { title: 'Find the cluster on its hub', work: () => checkOnHub(deps, work) },
    { title: 'Give the admin roles on the hub', work: () => grantOnHub(deps, work) },
    {
      title: 'Create the namespaces',
      work: () => write('The namespaces exist.', (spoke) => writeNamespaces(spoke, work, plan)),
    },
    {
      title: 'Give the client roles in the namespaces',
      work: () => write('The roles are given.', (spoke) => writeRights(spoke, work, plan)),
    },
    {
      title: 'Write the gateway and telemetry objects',
      work: () => write('The objects are written.', (spoke) => writeSupplies(spoke, work, plan)),
    },
    {
      title: 'Record the cluster for the client',
      work: () => importCluster(deps, work),
      waitsFor: 'The cluster has not issued a token for the account of the client organization.',
    },
  ]
}

const revoke = async (deps: SettlingDeps, work: Work): Outcome<Failure, string> => {
  const { call, cluster, org } = work
  const others = (await deps.clientOrgs.clustersOf(org.id)).filter(
    ({ id, hubOwnerId, hubUid, state }) =>
      id !== cluster.id && hubOwnerId === cluster.hubOwnerId && hubUid === cluster.hubUid && isKept(state),
  )
  const hubRecord = await deps.clusters.findByUid(cluster.hubOwnerId, cluster.hubUid)
  if (hubRecord !== undefined) {
    const hub = await openHubOf(deps, call, cluster)
    if (isLeft(hub)) return hub
    const freed = await removeHubRights(hub.right, work, cluster.name, { leaves: others.length === 0 })
    if (isLeft(freed)) return freed
  }
  if ((await recordOfSpoke(deps, cluster)) === undefined)
    return right('The owner of the hub has removed its record of the cluster. What is on the cluster stays there.')
  return onSpoke(deps, work)('The client has no roles on the cluster.', async (spoke) => {
    const present = await presentNamespaces(spoke, work)
    return isLeft(present) ? present : revokeRights(spoke, work, present.right)
  })
}

const isKept = (state: ClusterState): boolean => state !== 'Deleting' && state !== 'Deleted'

const clearNamespaces = async (deps: SettlingDeps, work: Work): Outcome<Failure, string | undefined> => {
  if ((await recordOfSpoke(deps, work.cluster)) === undefined) return right('The cluster is out of reach.')
  const opened = await openSpokeOf(deps, work.call, work.cluster)
  if (isLeft(opened)) return opened
  const present = await presentNamespaces(opened.right.spoke, work)
  if (isLeft(present)) return present
  if (present.right.size === 0) return right('The namespaces are deleted.')
  const removed = await removeNamespaces(opened.right.spoke, present.right)
  return isLeft(removed) ? removed : right(undefined)
}

const deletion = (deps: SettlingDeps, work: Work): readonly Step[] => [
  { title: 'Revoke the roles', work: () => revoke(deps, work) },
  {
    title: 'Delete the namespaces',
    work: () => clearNamespaces(deps, work),
    waitsFor: 'The cluster has not finished the deletion of the namespaces.',
  },
]

/** Deletes the record of the client organization with the tombstone of the cluster. */
const bury = async (deps: SettlingDeps, work: Work): Outcome<Failure, void> => {
  const { cluster, org } = work
  let recordId: ClusterId | undefined
  const buried = await move(
    deps,
    work,
    'Deleted',
    '',
    auditOf(org, 'client_org.cluster_removed', { cluster: cluster.name }),
    async ({ clusters }) => {
      const record = await clusters.find(org.orgId, cluster.name)
      // A cluster that the client organization has imported itself under this name stays.
      if (record !== undefined && record.uid === cluster.uid) {
        recordId = record.id
        await clusters.remove(record.id)
      }
      return right(undefined)
    },
  )
  if (!isLeft(buried) && recordId !== undefined) await deps.transport.forget(recordId)
  return buried
}

const isPending = ({ state }: Pick<ClientCluster, 'state'>): boolean => state === 'Provisioning' || state === 'Deleting'

/** Throws if another worker continues the task, and otherwise says why the work is to end. */
const stopOf = ({ signal }: Pick<TaskRun, 'signal'>): TaskEnd | undefined => {
  if (!signal.aborted) return undefined
  // The worker gives the task back, and another one runs it again.
  if (signal.reason === 'stopping' || signal.reason === 'lease-lost')
    throw new Error('the service stops, or lost the task')
  const message = 'Stopped. The same request continues.'
  return signal.reason === 'cancelled'
    ? { state: 'cancelled', message }
    : { state: 'failed', message, error: whyStoppedBy({ signal }) }
}

/** Runs the steps for one cluster as it is now, and writes its new state. Returns why it failed. */
const settleCluster = async (deps: SettlingDeps, work: Work): Promise<string | undefined> => {
  const { cluster, org, run } = work
  const isDeletion = cluster.state === 'Deleting'
  for (const part of isDeletion ? deletion(deps, work) : provisioning(deps, work)) {
    if (run.signal.aborted) return undefined
    // A request may have changed the plan, or asked for the deletion.
    const current = (await deps.clientOrgs.clustersOf(org.id)).find(({ id }) => id === cluster.id)
    if (current?.version !== cluster.version) return undefined
    const step = run.progress.step(`${cluster.name}: ${part.title}`)
    const done = await untilDone(deps, run, step, part)
    if (isLeft(done)) {
      step.failed(done.left.message)
      if (run.signal.aborted || done.left === overtaken) return undefined
      const words = wordsOf(done.left)
      const moved = await move(deps, work, isDeletion ? 'Deleting' : 'Failed', done.left.message, undefined)
      return isLeft(moved) ? undefined : `${cluster.name}: ${words}`
    }
    step.done(done.right)
  }
  const moved = isDeletion
    ? await bury(deps, work)
    : await move(deps, work, 'Active', '', auditOf(org, 'client_org.cluster_ready', { cluster: cluster.name }))
  return isLeft(moved) && moved.left !== overtaken ? `${cluster.name}: ${wordsOf(moved.left)}` : undefined
}

/** How a run stands after an attempt: what remains is done again, or the task ends. */
type Standing = 'again' | TaskEnd

/**
 * Ends the work in one transaction with the look for more of it, so that a request that found this task unfinished is
 * never left without one. Deletes the organization after its last cluster.
 */
const finish = async (
  { unitOfWork }: Pick<SettlingDeps, 'unitOfWork'>,
  call: SignedInCall,
  run: TaskRun,
  org: ClientOrg,
  failed: ReadonlyMap<number, { readonly version: number; readonly why: string }>,
  stopped: TaskEnd | undefined,
): Promise<Standing> => {
  const ended = await unitOfWork.run<never, Standing>(call, async ({ clientOrgs, organizations, audit }) => {
    const current = await clientOrgs.lock(org.id)
    if (current === undefined || current.settling !== settlingOf(run))
      return right({ state: 'succeeded', message: 'Another task has taken this over.' })
    const clusters = await clientOrgs.clustersOf(org.id)
    const open = clusters.filter((cluster) => isPending(cluster) && failed.get(cluster.id)?.version !== cluster.version)
    if (open.length > 0 && stopped === undefined) return right('again')
    await clientOrgs.setSettling(org.id, '')
    if (stopped !== undefined) return right(stopped)
    if (failed.size > 0)
      return right({
        state: 'failed',
        message: 'Not everything could be done. The same request continues.',
        error: [...failed.values()].map(({ why }) => why).join('\n'),
      })
    if (current.state !== 'Deleting')
      return right({
        state: 'succeeded',
        message: `${org.name} has what was asked for.`,
        result: { clientOrg: org.name },
      })
    await organizations.lock(org.orgId)
    const kept = await organizations.blockingObjects(org.orgId, namedObjects)
    if (kept.length > 0)
      return right({
        state: 'failed',
        message: 'The clusters are free of the client organization. Delete it again when it owns nothing.',
        error: `The organization owns ${kept.map(({ type, name }) => `${type} ${name}`).join(', ')}.`,
      })
    await organizations.remove(org.orgId)
    await clientOrgs.setState(org.id, 'Deleted')
    await audit.record(auditOf(org, 'client_org.deleted'))
    return right({ state: 'succeeded', message: `${org.name} is deleted.`, result: { clientOrg: org.name } })
  })
  return isLeft(ended) ? ended.left : ended.right
}

/** Returns the caller of the task, who must still be a site admin. */
const siteAdminOf = async (run: TaskRun): Promise<Either<TaskEnd, SignedInCall>> => {
  const call = await run.callNow()
  const message = 'Not continued. The same request of a site admin continues.'
  if (isLeft(call)) return left({ state: 'failed', message, error: call.left.message })
  return call.right.principal.isSiteAdmin
    ? right({ ...call.right, signal: run.signal })
    : left({ state: 'failed', message, error: 'The user who requested it is no longer a site admin.' })
}

/**
 * Makes the clusters of a client organization what they are to be: with its namespaces, rights and record, or without
 * them. Each step finds out what is there and does what is missing, so that the task can be continued after any of
 * them.
 */
export const settleKind = (deps: SettlingDeps): TaskHandler => ({
  kind,
  run: async (run) => {
    const name = run.input['name'] as string
    const failed = new Map<number, { readonly version: number; readonly why: string }>()
    for (;;) {
      const call = await siteAdminOf(run)
      const org = await deps.clientOrgs.find(name)
      if (org === undefined || org.settling !== settlingOf(run))
        return { state: 'succeeded', message: 'There is nothing to do.' }
      if (isLeft(call)) return call.left
      const pending = (await deps.clientOrgs.clustersOf(org.id)).filter(
        (cluster) => isPending(cluster) && failed.get(cluster.id)?.version !== cluster.version,
      )
      await mapWithin(pending, concurrentClusters, async (cluster) => {
        const { orgId, adminId } = org
        const why = await settleCluster(deps, { run, call: call.right, org, cluster, orgId, name, adminId })
        if (why === undefined) failed.delete(cluster.id)
        // `move` has incremented the version.
        else failed.set(cluster.id, { version: cluster.version + 1, why })
      })
      const standing = await finish(deps, call.right, run, org, failed, stopOf(run))
      if (standing !== 'again') return standing
    }
  },
  recover: 'run-again',
})
