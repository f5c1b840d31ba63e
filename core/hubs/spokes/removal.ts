import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import { AccessDenied } from '../../authz/ports.ts'
import type { ClusterTasks } from '../../cluster-tasks/ports.ts'
import { manifestWorkKind, isAccepted, distribution, uniqueLabelFor } from '../../clusters/hub-types.ts'
import type { Hub, HubKind, HubObject, HubReadFailure, Hubs, SpokeRemovals } from '../../clusters/hubs/ports.ts'
import { clusterSetLabel, managedClusterKind, spokeNameLabel } from '../../clusters/hubs/ports.ts'
import type {
  ClusterDependents,
  ClusterStore,
  ClusterTransport,
  ClusterUnitOfWork,
  MemberClusters,
} from '../../clusters/ports.ts'
import { clusterInUse, ClusterMissing } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Clock, Pause } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { at, definedFields, listAt, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { SubmitFailure, SubmittedTask, TaskHandler, TaskStep } from '../../tasks/ports.ts'
import { makeRemoveAgents } from './agents.ts'
import { signingRequestKind } from './acceptance.ts'
import { addOnKind, cleanupPriority, workFinalizer } from './ports.ts'
import type { SpokeKey } from './spoke-records.ts'
import { statusOfRemoval } from './removal-state.ts'
import { changeRecord, lifeAuditOf, recordOfSpoke, tellSpoke } from './spoke-records.ts'
import type { HubWork, SpokeStep } from './spoke-steps.ts'
import { notYet, over } from '../../kernel/concurrency.ts'
import { onHub, openStopped, pollUntil, runSteps, SpokeStuck } from './spoke-steps.ts'

const kind = 'spokes.remove'
/** How long the agent of a spoke may take to remove what its works have applied. */
const agentPatienceMs = 10 * 60_000
/** The same with force: a live agent needs a second or two. */
const forcedPatienceMs = 15_000
/** How long the hub may take to remove what belongs to a spoke. */
const hubPatienceMs = 2 * 60_000
/** How long the controllers of the hub may take to give a cluster the features of the set that the hub puts it into. */
const arrivalMs = 2_000

/** A spoke to remove from its hub. `name` is a DNS-1123 label. */
export interface SpokeRemoval {
  readonly grant: AccessGrant
  readonly name: string
  /** Gives up what the agent of the spoke does not remove. */
  readonly isForced: boolean
  /** Deletes the record of the spoke at the end. */
  readonly removesRecord: boolean
  readonly responseId: string | undefined
}

type Opening = ReturnType<MemberClusters['open']> extends Outcome<infer F, unknown> ? F : never
export type RemoveSpokeFailure = Opening | HubReadFailure | SubmitFailure | Failure<'ClusterInUse'>

/** Client organizations in a message. */
const namedClients = 10

/**
 * Accepts the removal of a spoke as a task. A name that neither the hub nor a record has is removed already: the result
 * is then undefined. A repeated request gets the unfinished task; one that asks for more or less than that task does is
 * TaskLocked. A spoke that client organizations use stays, unless the removal is forced: they then keep what they have
 * on it, and its record is still needed to remove that.
 */
export const makeRemoveSpoke =
  (deps: {
    readonly hubs: Hubs
    readonly memberClusters: MemberClusters
    readonly clusters: Pick<ClusterStore, 'findSpoke'>
    readonly clusterTasks: ClusterTasks
    readonly dependents: ClusterDependents
  }) =>
  async (
    call: SignedInCall<SubmittedTask>,
    removal: SpokeRemoval,
  ): Outcome<RemoveSpokeFailure, SubmittedTask | undefined> => {
    const { grant, name, isForced, removesRecord, responseId } = removal
    const extent = [isForced ? ' by force' : '', removesRecord ? ', with its record' : ''].join('')
    const [hub, cluster] = await Promise.all([deps.hubs.open(call, grant), deps.memberClusters.open(call, grant)])
    if (isLeft(hub)) return hub
    if (isLeft(cluster)) return cluster
    const { ownerId, uid } = cluster.right
    const clients = isForced ? [] : await deps.dependents.clientsOfSpoke(ownerId, uid, name, namedClients)
    const inUse = clusterInUse(name, clients)
    if (inUse !== undefined) return left(inUse)
    const found = await hub.right.get(managedClusterKind, { name })
    if (isLeft(found)) return found
    const key = { ownerId, hubUid: uid, name }
    if (found.right === undefined && (await recordOfSpoke(deps.clusters, key)) === undefined) return right(undefined)
    return deps.clusterTasks.submit<never>(
      call,
      cluster.right,
      {
        kind,
        title: `Remove spoke ${name} from hub ${cluster.right.name}${extent}`,
        about: { managedCluster: name },
        lock: `spoke/${name}`,
        joinsSameKind: true,
        right: { type: 'hub', relation: 'can_remove_spokes' },
        input: { name, isForced, removesRecord },
        responseId,
      },
      // The object that is removed: another one of its name registered later.
      async () => right(definedFields({ managedClusterUid: found.right?.uid })),
    )
  }

/** Removes spokes with their records, on behalf of callers who may remove spokes from the hub. */
export const makeSpokeRemovals = (
  deps: Parameters<typeof makeRemoveSpoke>[0] & {
    readonly authorizer: Authorizer
    readonly clusters: Pick<ClusterStore, 'findByUid' | 'findSpoke'>
  },
): SpokeRemovals => {
  const remove = makeRemoveSpoke(deps)
  return {
    async removeWithRecord(call, { ownerId, hubClusterUid, managedClusterName }, responseId) {
      const hub = await deps.clusters.findByUid(ownerId, hubClusterUid)
      if (hub === undefined) return left(ClusterMissing('The hub of the cluster was removed.'))
      const grant = await deps.authorizer.authorize(
        call.principal,
        { type: 'hub', account: hub.ownerName, name: hub.name },
        'can_remove_spokes',
      )
      if (isLeft(grant)) return left(AccessDenied(`You may not remove spokes from the hub ${hub.name}.`))
      const removed = await remove(call, {
        grant: grant.right,
        name: managedClusterName,
        isForced: false,
        removesRecord: true,
        responseId,
      })
      if (isLeft(removed)) return removed
      return removed.right === undefined
        ? left(ClusterMissing('The cluster was removed by another request.'))
        : right(removed.right)
    },
  }
}

export interface RemoveSpokeTaskDeps {
  readonly authorizer: Authorizer
  readonly clusters: ClusterStore
  readonly clusterTasks: ClusterTasks
  readonly clock: Clock
  readonly hubs: Hubs
  readonly pause: Pause
  readonly transport: Pick<ClusterTransport, 'forget'>
  readonly unitOfWork: ClusterUnitOfWork
}

/** The work of one task. */
interface Removal extends HubWork, SpokeKey {
  readonly isForced: boolean
  readonly removesRecord: boolean
}

/** Lists objects in the namespace of a spoke. A hub that does not serve the kind has none. */
const listWithin = async (
  hub: Hub,
  served: HubKind,
  namespace: string,
): Outcome<HubReadFailure, readonly HubObject[]> => {
  const listed = await hub.list(served, { namespace })
  return isLeft(listed) && listed.left.tag === 'NotAHub' ? right([]) : listed
}

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** Removes all objects of a kind, and does not wait. Returns their number. */
const removeAll = async (hub: Hub, served: HubKind, namespace: string): Outcome<Failure, number> => {
  const listed = await listWithin(hub, served, namespace)
  if (isLeft(listed)) return listed
  for (const object of listed.right) {
    const isRoleBinding = served === distribution.kinds.spokeRoleBinding && !object.isDeleting
    const labelled = isRoleBinding
      ? await hub.edit(served, object, (found) => right(uniqueLabelFor(found)), object)
      : right('unchanged')
    if (isLeft(labelled)) return labelled
    const removed = object.isDeleting ? right(true) : await hub.remove(served, object)
    if (isLeft(removed)) return removed
  }
  return right(listed.right.length)
}

const priorityOf = ({ body }: HubObject): number =>
  Number(textAt(body, 'metadata', 'annotations', cleanupPriority)) || 0

/**
 * Removes the bindings of a cluster to profiles. Their works go with them. The controllers make a binding again when a
 * set that has the cluster changes, so this is done as long as works are removed. Returns their number.
 */
const removeBindings = (hub: Hub, name: string): Outcome<Failure, number> =>
  removeAll(hub, distribution.kinds.profileBinding, name)

/** Removes the objects of a kind by their priority, each class after the one before is gone. */
const removeByPriority = async (
  deps: RemoveSpokeTaskDeps,
  { run, hub, name, isForced }: Removal,
  served: HubKind,
  what: string,
  step: TaskStep,
): Outcome<Failure, string> => {
  let total = 0
  const isOfWorks = served === manifestWorkKind
  const quietUntilMs = performance.now() + (isOfWorks ? await arrivalOf(hub, name) : 0)
  const removed = await pollUntil(
    deps,
    run,
    isForced ? forcedPatienceMs : agentPatienceMs,
    async () => {
      const bindings = isOfWorks ? await removeBindings(hub, name) : right(0)
      if (isLeft(bindings)) return bindings
      const listed = await listWithin(hub, served, name)
      if (isLeft(listed)) return listed
      total = Math.max(total, listed.right.length)
      if (listed.right.length === 0 && bindings.right === 0 && performance.now() >= quietUntilMs)
        return right(over(undefined))
      if (listed.right.length === 0)
        return right(notYet('The features of the set that the hub has put the cluster into arrive.'))
      const lowest = Math.min(...listed.right.map(priorityOf))
      for (const object of listed.right.filter((each) => !each.isDeleting && priorityOf(each) === lowest)) {
        const done = await hub.remove(served, object)
        if (isLeft(done)) return done
      }
      const names = listed.right
        .map((each) => each.name)
        .slice(0, 10)
        .join(', ')
      const remain = listed.right.length === 1 ? 'remains' : 'remain'
      return right(
        notYet(
          `${plural(listed.right.length, what)} ${remain}: ${names}. The agent of the spoke has not ` +
            'removed what was applied.',
        ),
      )
    },
    (why) => step.say(`Waits. ${why}`),
  )
  if (!isLeft(removed)) return right(`${plural(total, what)} removed.`)
  if (!isForced || removed.left.tag !== SpokeStuck.tag) return removed
  step.say(removed.left.message, { level: 'warning' })
  return giveUp(hub, name, served, what)
}

/** Takes the finalizer of the agent from the works that remain. What they applied stays on the spoke. */
const giveUp = async (hub: Hub, namespace: string, served: HubKind, what: string): Outcome<Failure, string> => {
  const listed = await listWithin(hub, served, namespace)
  if (isLeft(listed)) return listed
  for (const object of listed.right) {
    const finalizers = listAt(object.body, 'metadata', 'finalizers').filter((each) => each !== workFinalizer)
    const freed = await hub.edit(served, { namespace, name: object.name }, () =>
      right({ merge: { metadata: { finalizers: finalizers as string[] } } }),
    )
    if (isLeft(freed)) return freed
    const removed = await removeAll(hub, served, namespace)
    if (isLeft(removed)) return removed
  }
  return right(`${plural(listed.right.length, what)} given up.`)
}

/** Returns the set that the label of a cluster names; empty if there is none. */
const namedSetOf = ({ body }: HubObject): string => textAt(body, 'metadata', 'labels', clusterSetLabel)

const acceptedUid = ({ run }: Removal): string | undefined => run.task.about.managedClusterUid

/** Returns the ManagedCluster, unless it is another one than that of the request. */
const findManaged = async (removal: Removal): Outcome<Failure, HubObject | undefined> => {
  const found = await removal.hub.get(managedClusterKind, { name: removal.name })
  if (isLeft(found) || found.right === undefined) return found
  return found.right.uid === acceptedUid(removal)
    ? found
    : left(
        SpokeStuck(
          `The cluster registered again as ${removal.name} while it was removed. It was left as it is: ` +
            'remove it again.',
        ),
      )
}

const prepare = async (deps: RemoveSpokeTaskDeps, removal: Removal): Outcome<Failure, string> => {
  const { hub, name } = removal
  const managed = await findManaged(removal)
  if (isLeft(managed)) return managed
  const record = await recordOfSpoke(deps.clusters, removal)
  if (record !== undefined) {
    await deps.clusters.observe(
      record.id,
      { ...record.status, message: `The removal from the hub ${hub.name} has not finished.` },
      undefined,
      deps.clock.now(),
    )
  }
  const freed = await hub.edit(managedClusterKind, { name }, ({ body }) =>
    right(
      at(body, 'metadata', 'labels', clusterSetLabel) === undefined
        ? undefined
        : { merge: { metadata: { labels: { [clusterSetLabel]: null } } } },
    ),
  )
  if (isLeft(freed)) return freed
  for (const served of [distribution.kinds.profileBinding, distribution.kinds.spokeRoleBinding]) {
    const removed = await removeAll(hub, served, name)
    if (isLeft(removed)) return removed
  }
  const now = await hub.get(managedClusterKind, { name })
  const set = isLeft(now) || now.right === undefined ? '' : namedSetOf(now.right)
  // A removal that is cancelled leaves the record, and the next look at the cluster is minutes away.
  if (record !== undefined && !isLeft(now)) await deps.clusters.observeSet(record.id, set)
  if (managed.right === undefined) return right('The hub no longer has the cluster.')
  const from = namedSetOf(managed.right)
  if (set === '')
    return right(from === '' ? 'The cluster is in no cluster set.' : `The cluster has left the set ${from}.`)
  return right(
    `The hub has put the cluster into the set ${set}. It leaves that with its removal; what features of ` +
      'the set arrive until then is removed too.',
  )
}

/**
 * Returns how long to wait for features of the set that the cluster is in, which it leaves only with its removal; 0 if
 * that has none.
 */
const arrivalOf = async (hub: Hub, name: string): Promise<number> => {
  const managed = await hub.get(managedClusterKind, { name })
  const set = isLeft(managed) || managed.right === undefined ? '' : namedSetOf(managed.right)
  const profile = set === '' ? right(undefined) : await hub.get(distribution.kinds.setProfile, { name: set })
  return isLeft(profile) || profile.right === undefined ? 0 : arrivalMs
}

const whyDeleting = ({ body }: HubObject): string => {
  const condition = listAt(body, 'status', 'conditions').find((each) => textAt(each, 'type') === 'Deleting')
  const held = listAt(body, 'metadata', 'finalizers').join(', ')
  return `The hub has not removed the cluster yet: ${textAt(condition, 'message') || `finalizers ${held || 'none'}`}.`
}

const removeManaged = async (deps: RemoveSpokeTaskDeps, removal: Removal): Outcome<Failure, string> => {
  const { hub, name, run } = removal
  const found = await findManaged(removal)
  if (isLeft(found)) return found
  if (found.right !== undefined) {
    const denied = await hub.edit(managedClusterKind, { name }, ({ uid, body }) =>
      right(
        uid === acceptedUid(removal) && isAccepted({ body })
          ? { merge: { spec: { hubAcceptsClient: false } } }
          : undefined,
      ),
    )
    if (isLeft(denied)) return denied
    const removed = found.right.isDeleting ? right(true) : await hub.remove(managedClusterKind, found.right)
    if (isLeft(removed)) return removed
    const gone = await pollUntil(deps, run, hubPatienceMs, async () => {
      const now = await hub.get(managedClusterKind, { name })
      if (isLeft(now)) return now
      const bindings = await removeBindings(hub, name)
      if (isLeft(bindings)) return bindings
      return right(
        now.right !== undefined && now.right.uid === acceptedUid(removal)
          ? notYet(whyDeleting(now.right))
          : over(undefined),
      )
    })
    if (isLeft(gone)) return gone
  }
  // The namespace of the cluster remains.
  const bindings = await removeBindings(hub, name)
  if (isLeft(bindings)) return bindings
  // An approved request of a removed cluster would leave an agent with a certificate that never registers.
  const requests = await hub.list(signingRequestKind, { labelSelector: `${spokeNameLabel}=${name}` })
  if (isLeft(requests)) return requests
  for (const request of requests.right.filter(({ body }) => textAt(body, 'status', 'certificate') === '')) {
    const removed = await hub.remove(signingRequestKind, request)
    if (isLeft(removed)) return removed
  }
  return right('The hub no longer manages the cluster.')
}

const reconcileRecord = async (deps: RemoveSpokeTaskDeps, removal: Removal): Outcome<Failure, string> => {
  const { call, hub, name, removesRecord, run } = removal
  const record = await recordOfSpoke(deps.clusters, removal)
  const entry = lifeAuditOf(hub, 'cluster.spoke_removed', { spoke: name, forced: removal.isForced, task: run.task.ref })
  // A record without a credential was reached through the hub, and now not at all.
  if (record === undefined || removesRecord || !record.hasCredential) {
    await deps.unitOfWork.run<never, void>(call, async ({ clusters, audit }) => {
      if (record !== undefined) await clusters.remove(record.id)
      await audit.record(entry)
      return right(undefined)
    })
    if (record !== undefined) await deps.transport.forget(record.id)
    return right(
      record === undefined ? 'The account has no record of the cluster.' : `The record ${record.name} is deleted.`,
    )
  }
  const unlinked = await changeRecord(deps.unitOfWork, call, record.id, () => ({
    change: { hubClusterUid: '', managedClusterName: '' },
    entry,
  }))
  if (isLeft(unlinked)) return unlinked
  await deps.clusters.observe(record.id, { ...record.status, message: '' }, undefined, deps.clock.now())
  return right(`The record ${record.name} stays, without its hub.`)
}

/**
 * Removes spokes in the order that their agents need: add-ons, works by their priority while the agent is alive, the
 * agent, and then the ManagedCluster.
 */
export const removeSpokeKind = (deps: RemoveSpokeTaskDeps): TaskHandler => {
  const removeAgents = makeRemoveAgents(deps)
  const steps = (removal: Removal): readonly SpokeStep[] => [
    { title: 'Free the cluster from sets and bindings', work: () => prepare(deps, removal) },
    { title: 'Remove the add-ons', work: (step) => removeByPriority(deps, removal, addOnKind, 'add-on', step) },
    { title: 'Remove the works', work: (step) => removeByPriority(deps, removal, manifestWorkKind, 'work', step) },
    {
      title: 'Remove the agents from the cluster',
      work: async (step) =>
        removeAgents(removal.run, removal.call, await recordOfSpoke(deps.clusters, removal), removal.name, step),
    },
    { title: 'Remove the cluster from the hub', work: () => removeManaged(deps, removal) },
    { title: 'Update the records', work: () => reconcileRecord(deps, removal) },
  ]
  return onHub(
    deps,
    kind,
    async (work) => {
      const { run, hub, cluster } = work
      const { name, isForced, removesRecord } = run.input as unknown as Pick<
        Removal,
        'name' | 'isForced' | 'removesRecord'
      >
      const removal: Removal = { ...work, ownerId: cluster.ownerId, hubUid: cluster.uid, name, isForced, removesRecord }
      const end = await runSteps(run, steps(removal), async () =>
        statusOfRemoval(await openStopped(deps, work), name, acceptedUid(removal)),
      )
      return (
        end ?? {
          state: 'succeeded',
          message: `${name} is removed from the hub ${hub.name}.`,
          result: { spoke: name, hub: hub.name },
        }
      )
    },
    (run, end) => tellSpoke(deps, run, 'removal from', end),
  )
}
