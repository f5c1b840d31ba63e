import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import { AccessDenied } from '../../authz/ports.ts'
import type { MemberCluster, MemberClusters } from '../../clusters/ports.ts'
import { ClusterMissing } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { StopReason, TaskEnd, TaskRun } from '../../tasks/ports.ts'
import type { Pause } from './ports.ts'
import { failedBefore } from './task-results.ts'

/** The cluster of a task, as stored in the task's input. */
export interface TaskClusterRef {
  readonly owner: string
  readonly name: string
  readonly id: number
  readonly uid: string
}

/** Stored under the key `cluster` of a task's input and read by `OpenTaskCluster`. */
export const clusterRefOf = (cluster: MemberCluster): FreeObject & TaskClusterRef => ({
  owner: cluster.ownerName,
  name: cluster.name,
  id: cluster.id,
  uid: cluster.uid,
})

/** A cluster, opened with the current rights of the task's actor. */
export interface TaskCluster {
  readonly call: SignedInCall
  readonly cluster: MemberCluster
  readonly grant: AccessGrant
  /** Checks again with the current rights. Left is a definite denial; throws if the rights cannot be determined. */
  stillAllowed(): Outcome<Failure, unknown>
}

type AskedRun = Pick<TaskRun, 'input' | 'callNow'>

const clusterRefIn = ({ input }: AskedRun): TaskClusterRef => input.cluster as unknown as TaskClusterRef

const askRights = async (authorizer: Authorizer, run: AskedRun): Outcome<Failure, { readonly call: SignedInCall; readonly grant: AccessGrant }> => {
  const { owner, name, id } = clusterRefIn(run)
  const call = await run.callNow()
  if (isLeft(call)) return left(call.left as Failure)
  const grant = await authorizer.authorize(call.right.principal, { type: 'cluster', account: owner, name }, 'can_connect')
  if (isLeft(grant)) return left(AccessDenied('You may no longer connect to this cluster.'))
  if (grant.right.objectId !== id) return left(ClusterMissing('The cluster of that name is another one by now.'))
  return right({ call: call.right, grant: grant.right })
}

/**
 * Opens the cluster of a task's input (`cluster`) as its actor, with the actor's current rights. Failures: ActorGone,
 * AccessDenied if the actor may no longer connect, ClusterMissing if the name refers to another cluster than at acceptance,
 * ClusterNotConnected.
 */
export const makeOpenTaskCluster = (deps: { readonly authorizer: Authorizer; readonly memberClusters: MemberClusters }) =>
  async (run: AskedRun): Outcome<Failure, TaskCluster> => {
    const allowed = await askRights(deps.authorizer, run)
    if (isLeft(allowed)) return allowed
    const { call, grant } = allowed.right
    const cluster = await deps.memberClusters.open(call, grant)
    if (isLeft(cluster)) return cluster
    if (cluster.right.uid !== clusterRefIn(run).uid) return left(ClusterMissing('The cluster of that name is another one by now.'))
    return right({ call, cluster: cluster.right, grant, stillAllowed: () => askRights(deps.authorizer, run) })
  }
export type OpenTaskCluster = ReturnType<typeof makeOpenTaskCluster>

export interface WhileAllowedDeps {
  readonly openTaskCluster: OpenTaskCluster
  readonly pause: Pause
}

/** Work on a cluster may take a day; revoked rights must not last that long. */
const askAgainMilliseconds = 60_000

/** Resolves when `over` is aborted, or after calling `lose` with the reason when the actor may no longer connect. */
const watchRights = async (pause: Pause, opened: TaskCluster, over: AbortSignal, lose: (why: string) => void): Promise<void> => {
  for (;;) {
    await pause(askAgainMilliseconds, over)
    if (over.aborted) return
    // An error is not a denial; the next check decides.
    const asked = await opened.stillAllowed().catch(() => undefined)
    if (over.aborted) return
    if (asked !== undefined && isLeft(asked)) return lose(asked.left.message)
  }
}

/**
 * Runs a task's work on its cluster as its actor, and checks once a minute that the actor may still connect. A definite
 * denial aborts the signal of the run passed to the work, with `rights-lost`.
 */
export const whileAllowed = async (deps: WhileAllowedDeps, run: TaskRun, work: (run: TaskRun, opened: TaskCluster) => Promise<TaskEnd>): Promise<TaskEnd> => {
  const opened = await deps.openTaskCluster(run)
  if (isLeft(opened)) return failedBefore(run, opened.left)
  const lost = new AbortController()
  const done = new AbortController()
  const over = AbortSignal.any([run.signal, done.signal])
  void watchRights(deps.pause, opened.right, over, (why) => {
    run.progress.say(why, { level: 'error' })
    lost.abort('rights-lost' satisfies StopReason)
  })
  try {
    return await work({ ...run, signal: AbortSignal.any([run.signal, lost.signal]) }, opened.right)
  } finally {
    done.abort()
  }
}
