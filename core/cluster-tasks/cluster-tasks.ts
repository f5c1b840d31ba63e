import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import { AccessDenied } from '../authz/ports.ts'
import type { MemberCluster, MemberClusters } from '../clusters/ports.ts'
import { ClusterMissing } from '../clusters/ports.ts'
import type { AccessGrant } from '../kernel/access.ts'
import type { Pause } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { definedFields } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { StopReason, TaskRun, Tasks, TaskSubmission } from '../tasks/ports.ts'
import type { ClusterTaskRight, ClusterTasks, ClusterWork, TaskCluster } from './ports.ts'
import { failedBeforeChange } from './types.ts'

export interface ClusterTasksDeps {
  readonly tasks: Tasks
  readonly authorizer: Authorizer
  readonly memberClusters: MemberClusters
  readonly pause: Pause
}

/** The cluster of a task, as stored under the key `cluster` of the task's input. */
interface TaskClusterRef {
  readonly owner: string
  readonly name: string
  readonly id: number
  readonly uid: string
  /** Absent in tasks of older releases. */
  readonly right?: ClusterTaskRight
}

const clusterRefIn = ({ input }: TaskRun): TaskClusterRef => input.cluster as unknown as TaskClusterRef

const connecting: ClusterTaskRight = { type: 'cluster', relation: 'can_connect' }

/**
 * The lock contains the owner: a cluster that another account imports can claim any UID and must not block this owner's
 * work.
 */
const submissionOf = ({ ownerId, ownerName, name, id, uid }: MemberCluster, work: ClusterWork): TaskSubmission => ({
  kind: work.kind,
  title: work.title,
  tenantId: ownerId,
  about: { cluster: name, owner: ownerName, ...work.about },
  ...definedFields({
    joinsSameKind: work.joinsSameKind,
    lockKey: work.lock === undefined ? undefined : `cluster/${ownerId}/${uid}/${work.lock}`,
  }),
  input: { cluster: { owner: ownerName, name, id, uid, right: { ...(work.right ?? connecting) } }, ...work.input },
  responseId: work.responseId,
})

/**
 * Returns the actor's current right to the work. Left is a definite denial; throws if the rights cannot be determined.
 */
const currentRight = async (
  { authorizer }: ClusterTasksDeps,
  run: TaskRun,
): Outcome<Failure, { readonly call: SignedInCall; readonly grant: AccessGrant }> => {
  const { owner, name, id, right: { type, relation } = connecting } = clusterRefIn(run)
  const call = await run.callNow()
  if (isLeft(call)) return left(call.left as Failure)
  const grant = await authorizer.authorize(call.right.principal, { type, account: owner, name }, relation)
  if (isLeft(grant))
    return left(
      AccessDenied(
        relation === connecting.relation
          ? 'You may no longer connect to this cluster.'
          : 'You no longer have the right to this work.',
      ),
    )
  if (grant.right.objectId !== id) return left(ClusterMissing('The cluster of that name is another one by now.'))
  return right({ call: call.right, grant: grant.right })
}

/**
 * Opens the cluster of a task as its actor. Failures: ActorGone, AccessDenied if the actor no longer has the right,
 * ClusterMissing if the name refers to another cluster than at acceptance, ClusterNotConnected.
 */
const openTaskCluster = async (deps: ClusterTasksDeps, run: TaskRun): Outcome<Failure, TaskCluster> => {
  const allowed = await currentRight(deps, run)
  if (isLeft(allowed)) return allowed
  const { call, grant } = allowed.right
  const cluster = await deps.memberClusters.open(call, grant)
  if (isLeft(cluster)) return cluster
  if (cluster.right.uid !== clusterRefIn(run).uid)
    return left(ClusterMissing('The cluster of that name is another one by now.'))
  return right({ call, cluster: cluster.right, grant })
}

/** Work on a cluster may take a day; revoked rights must not last that long. */
const askAgainMilliseconds = 60_000

/** Resolves when `over` is aborted, or after calling `lose` with the reason when the actor no longer has the right. */
const watchRights = async (
  deps: ClusterTasksDeps,
  run: TaskRun,
  over: AbortSignal,
  lose: (why: string) => void,
): Promise<void> => {
  for (;;) {
    await deps.pause(askAgainMilliseconds, over)
    if (over.aborted) return
    // An error is not a denial; the next check decides.
    const asked = await currentRight(deps, run).catch(() => undefined)
    if (over.aborted) return
    if (asked !== undefined && isLeft(asked)) return lose(asked.left.message)
  }
}

/** Work on member clusters, as the actors of tasks. */
export const makeClusterTasks = (deps: ClusterTasksDeps): ClusterTasks => ({
  submit: async (call, cluster, work, check) => {
    const submission = submissionOf(cluster, work)
    const prechecked = await deps.tasks.precheck(call, submission)
    if (isLeft(prechecked)) return prechecked
    if (prechecked.right !== undefined) return right(prechecked.right)
    const facts = await check()
    if (isLeft(facts)) return facts
    return deps.tasks.submit(call, { ...submission, about: { ...submission.about, ...facts.right } })
  },
  prepare: (call, cluster, work) => deps.tasks.prepare(call, submissionOf(cluster, work)),
  run: async (run, work, notOpened = (failure) => failedBeforeChange(run, failure)) => {
    const opened = await openTaskCluster(deps, run)
    if (isLeft(opened)) return notOpened(opened.left)
    const lost = new AbortController()
    const done = new AbortController()
    const over = AbortSignal.any([run.signal, done.signal])
    void watchRights(deps, run, over, (why) => {
      run.progress.say(why, { level: 'error' })
      lost.abort('rights-lost' satisfies StopReason)
    })
    try {
      return await work({ ...run, signal: AbortSignal.any([run.signal, lost.signal]) }, opened.right)
    } finally {
      done.abort()
    }
  },
  recover: async (run, { find, unknowable }) => {
    const opened = await openTaskCluster(deps, run)
    return isLeft(opened) ? unknowable(opened.left.message) : find(opened.right)
  },
})
