import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { whyStoppedBy, wordsOf } from '../cluster-tasks/types.ts'
import { mapWithin, notYet, over, pollWithin } from '../kernel/concurrency.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ClusterId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Entropy } from '../kernel/secret.ts'
import { randomBase62 } from '../kernel/secret.ts'
import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { SubmitFailure, TaskEnd, TaskHandler, TaskRun, Tasks, TaskStep } from '../tasks/ports.ts'
import type { ReconciliationDeps, Step, Work } from './cluster-steps.ts'
import { deletion, noOthers, overtaken, provisioning, settlingOf } from './cluster-steps.ts'
import { ClientObjectBlocked } from './places.ts'
import type { ClientOrgStores } from './ports.ts'
import type { ClientCluster, ClientOrg, ClusterState } from './types.ts'
import { accountLayout, auditOf } from './types.ts'

const kind = 'client-orgs.settle'

/** How many clusters of a client organization are worked on at a time. */
const concurrentClusters = 4
/** How long a cluster may take to issue a token or to delete a namespace, and how long it may not answer. */
const patienceMs = 10 * 60_000
const reachPatienceMs = 60_000
/** Objects that keep an organization, in the message of the task. */
const namedObjects = 20

/** A task that may be accepted in the transaction of a change. */
export interface PreparedReconciliation {
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
export const prepareReconciliation = async (
  { tasks, entropy }: { readonly tasks: Pick<Tasks, 'prepare'>; readonly entropy: Entropy },
  call: SignedInCall<never>,
  { name, vendorId }: Pick<ClientOrg, 'name' | 'vendorId'>,
): Promise<PreparedReconciliation> => {
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

/**
 * Does a step, and repeats it while it has not come to its end or the cluster does not answer. Any other failure ends
 * it.
 */
const untilDone = async (
  deps: Pick<ReconciliationDeps, 'pause'>,
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
  { unitOfWork }: Pick<ReconciliationDeps, 'unitOfWork'>,
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

/** Deletes the record of the client organization with the tombstone of the cluster. */
const bury = async (deps: ReconciliationDeps, work: Work): Outcome<Failure, void> => {
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
const reconcileCluster = async (deps: ReconciliationDeps, work: Work): Promise<string | undefined> => {
  const { cluster, org, run } = work
  const isDeletion = cluster.state === 'Deleting'
  let said = ''
  for (const part of isDeletion ? deletion(deps, work) : provisioning(deps, work)) {
    if (run.signal.aborted) return undefined
    // A request may have changed the plan, or requested the deletion.
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
    said = done.right
  }
  const moved = isDeletion
    ? await bury(deps, work)
    : await move(
        deps,
        work,
        'Active',
        // The last step names other credentials that it has found.
        said === noOthers ? '' : said,
        auditOf(org, 'client_org.cluster_ready', { cluster: cluster.name }),
        async ({ clientOrgs }) => {
          await clientOrgs.setAccountLayout(cluster.id, accountLayout)
          return right(undefined)
        },
      )
  return isLeft(moved) && moved.left !== overtaken ? `${cluster.name}: ${wordsOf(moved.left)}` : undefined
}

/** The end of a deletion that gave clusters up: it has not removed what is there. */
const remainsOn = ({ name }: Pick<ClientOrg, 'name'>, clusters: readonly string[]): TaskEnd => ({
  state: 'failed',
  message: `The organization ${name} is deleted, and its objects remain on clusters.`,
  error: `Given up: ${clusters.join(', ')}. When one can be reached, delete-cluster removes what is there.`,
})

/** How a run stands after an attempt: what remains is done again, or the task ends. */
type DescribeStatus = 'again' | TaskEnd

/**
 * Ends the work in one transaction with the look for more of it, so that a request that found this task unfinished is
 * never left without one. Deletes the organization after its last cluster.
 */
const finish = async (
  { unitOfWork }: Pick<ReconciliationDeps, 'unitOfWork'>,
  call: SignedInCall,
  run: TaskRun,
  org: ClientOrg,
  failed: ReadonlyMap<number, { readonly version: number; readonly why: string }>,
  stopped: TaskEnd | undefined,
): Promise<DescribeStatus> => {
  const ended = await unitOfWork.run<never, DescribeStatus>(call, async ({ clientOrgs, organizations, audit }) => {
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
    const givenUp = clusters.filter(({ state }) => state === 'Abandoned').map(({ name }) => name)
    if (current.state !== 'Deleting')
      return right(
        givenUp.length > 0 && current.state === 'Deleted'
          ? remainsOn(org, givenUp)
          : { state: 'succeeded', message: `${org.name} has what was asked for.`, result: { clientOrg: org.name } },
      )
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
    return right(
      givenUp.length > 0
        ? remainsOn(org, givenUp)
        : { state: 'succeeded', message: `${org.name} is deleted.`, result: { clientOrg: org.name } },
    )
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
export const reconciliationTask = (deps: ReconciliationDeps): TaskHandler => ({
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
        const why = await reconcileCluster(deps, { run, call: call.right, org, cluster, orgId, name, adminId })
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
