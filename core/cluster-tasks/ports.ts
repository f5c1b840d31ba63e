import type { MemberCluster } from '../clusters/ports.ts'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { portKey } from '../kernel/port-key.ts'
import type { PreparedTask, SubmitFailure, SubmittedTask, TaskEnd, TaskRun } from '../tasks/ports.ts'

/** The right that the actor of a task needs on its cluster, from acceptance to the end. */
export interface ClusterTaskRight {
  readonly type: 'cluster' | 'hub'
  readonly relation: string
}

/** Work on a member cluster, to be accepted as a task. */
export interface ClusterWork {
  /** One of the `tasks` that a plugin declares. */
  readonly kind: string
  readonly title: string
  /** Stored with the task, after the names of the cluster and its owner. */
  readonly about: Readonly<Record<string, string>>
  /**
   * The object that the work changes, by a name within the cluster: `shop/web`. While a task with the same lock is
   * unfinished, no other one is accepted. Undefined for work that changes nothing.
   */
  readonly lock: string | undefined
  /**
   * A request for the same work, with the same title, while it is unfinished gets the unfinished task instead of
   * TaskLocked.
   */
  readonly joinsSameKind?: boolean
  /** The right to connect by default. */
  readonly right?: ClusterTaskRight
  /** Stored in the task's input, where the key `cluster` is reserved. */
  readonly input: FreeObject
  /** The client's `response-id`. */
  readonly responseId: string | undefined
}

/** The member cluster of a task, opened as the task's actor. */
export interface TaskCluster {
  readonly call: SignedInCall
  readonly cluster: MemberCluster
  readonly grant: AccessGrant
}

/** How tasks of one kind are recovered. */
export interface ClusterTaskRecovery {
  /** Determines the result of the work from the cluster, and leaves it in a correct state. May be repeated. */
  find(opened: TaskCluster): Promise<TaskEnd>
  /** Returns the end of a task whose cluster cannot be opened as its actor. */
  unknowable(why: string): TaskEnd
}

/**
 * Work on member clusters that continues after its request. Each task acts with the current rights of the user who
 * submitted it: they are read when the task starts, once a minute while it runs, and when it is recovered.
 */
export interface ClusterTasks {
  /**
   * Accepts work on a cluster that the caller has opened. A repeated request returns the first response; work that
   * another task blocks is rejected; then `check` reads the cluster as the caller. What it returns is stored in the
   * task's `about`, for recovery. Failures: those of the task's submission and of `check`.
   */
  submit<F extends Failure>(
    call: SignedInCall<SubmittedTask>,
    cluster: MemberCluster,
    work: ClusterWork,
    check: () => Outcome<F, Readonly<Record<string, string>>>,
  ): Outcome<SubmitFailure | F, SubmittedTask>
  /** Prepares work for a transaction that also changes other stores, as `Tasks.prepare`. */
  prepare(call: SignedInCall<never>, cluster: MemberCluster, work: ClusterWork): Promise<PreparedTask>
  /**
   * Runs the work of an accepted task. It is not started if the actor is disabled or lacks the right, or if the name
   * refers to another cluster than at acceptance. If that is found while it runs, the signal of the run that is passed
   * to the work is aborted with `rights-lost`. An error is not a denial. `notOpened` returns the end of a task that
   * cannot be started or continued, for work that may have changed something before; by default nothing was changed.
   */
  run(
    run: TaskRun,
    work: (run: TaskRun, opened: TaskCluster) => Promise<TaskEnd>,
    notOpened?: (failure: Failure) => TaskEnd,
  ): Promise<TaskEnd>
  /** Ends a task whose worker died, without repeating its work. */
  recover(run: TaskRun, recovery: ClusterTaskRecovery): Promise<TaskEnd>
}
export const ClusterTasksPort = portKey<ClusterTasks>('cluster-tasks.ClusterTasks')
