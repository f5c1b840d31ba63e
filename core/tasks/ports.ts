import type { EntryContext } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Actor, ActorGone, SignedInCall } from '../kernel/principal.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Task, TaskEvent, TaskId, TaskState } from './types.ts'

/** Another task works on the same object, or waits to. The message names it, with its start and its actor. */
export const TaskLocked = defineFailure('TaskLocked', 'Conflict', 'Another task works on the same object.')
/** A client's `response-id`: one case-sensitive token of a bus subject. */
export const responseIdForm = /^[A-Za-z0-9_-]{1,64}$/
/** The `response-id` was used for another request within the last hour. */
export const ResponseIdTaken = defineFailure(
  'ResponseIdTaken',
  'Unprocessable',
  'The response-id was used for another request within the last hour.',
)
/** The tenant exceeds its limit of unfinished tasks. */
export const TooManyTasks = defineFailure(
  'TooManyTasks',
  'Backoff',
  'The account has too many unfinished tasks; try again after `Retry-After` seconds.',
)

/** Work to do after the response. */
export interface TaskSubmission {
  /** One of the `tasks` that a plugin declares. */
  readonly kind: string
  readonly title: string
  readonly tenantId: AccountId
  readonly about: Readonly<Record<string, string>>
  /** While a task with this key is queued or running, no other one is accepted: `cluster/7/shop/web`. */
  readonly lockKey?: string
  /**
   * An unfinished task of the same kind and title that holds the lock is returned instead of TaskLocked: the request is
   * a repetition of it.
   */
  readonly joinsSameKind?: boolean
  /** Stored sealed; may contain secrets. At most 2 MiB as JSON. */
  readonly input: FreeObject
  /** The client's `response-id`, of the form `responseIdForm`. */
  readonly responseId: string | undefined
}

/** TaskResponse of the specification. */
export interface SubmittedTask {
  readonly id: string
  readonly subject: string
}

export type SubmitFailure = Failure<'TaskLocked'> | Failure<'ResponseIdTaken'> | Failure<'TooManyTasks'>

export interface AcceptedTask extends SubmittedTask {
  /** The request repeats an earlier one, whose task this is: nothing was written. */
  readonly isRepetition: boolean
  /** It is a repetition of its own, with another `response-id`, and joins the unfinished task. */
  readonly isJoined: boolean
}

/** Work that is accepted in a transaction of the caller, together with other changes. */
export interface PreparedTask {
  /**
   * What `submit` does, in the given transaction. It locks accounts, so it must precede the other changes of the
   * transaction.
   */
  acceptIn(stores: TaskStores): Outcome<SubmitFailure, AcceptedTask>
  /** To be called after the commit: the work starts sooner. Never throws and never waits. */
  announce(): void
}

/**
 * Accepts work. An accepted task is stored: it is done at most once, unless its kind may run again, and its end is
 * reported even after a crash.
 */
export interface Tasks {
  /**
   * Returns what `submit` would return now, without accepting anything: the first response for a repetition, the
   * failure if it would be rejected, else undefined. For use cases that query a cluster first, whose state has changed
   * when a request is repeated.
   */
  precheck(call: SignedInCall<never>, submission: TaskSubmission): Outcome<SubmitFailure, SubmittedTask | undefined>
  /**
   * Writes the task, its first event (Pending) and an audit row in one transaction. A repetition with the same caller,
   * `response-id`, kind and input within an hour gets the first response.
   */
  submit(call: SignedInCall<SubmittedTask>, submission: TaskSubmission): Outcome<SubmitFailure, SubmittedTask>
  /** Prepares a submission for a transaction that also changes other stores. Nothing is written yet. */
  prepare(call: SignedInCall<never>, submission: TaskSubmission): Promise<PreparedTask>
}
export const TasksPort = portKey<Tasks>('tasks.Tasks')

/**
 * Reports progress, in order. Nothing throws or waits: lines are stored and published in the background, the last ones
 * before the end.
 */
export interface TaskStep {
  say(msg: string, options?: { readonly level?: 'info' | 'warning' | 'error'; readonly data?: FreeObject }): void
  /** Ends the step; further calls do nothing. Open steps end with their task. */
  done(msg?: string): void
  failed(error: string): void
}
export interface TaskProgress extends Pick<TaskStep, 'say'> {
  /** Opens a step below the task, with its own id. */
  step(title: string): TaskStep
}

/**
 * Why the work should stop: `signal.reason` of a run. `rights-lost` is for work that checks repeatedly whether its
 * actor is still authorized: the actor is not.
 */
export type StopReason = 'cancelled' | 'stopping' | 'lease-lost' | 'rights-lost'

/** What a worker passes to a task's handler. */
export interface TaskRun {
  readonly task: Task
  readonly input: FreeObject
  /** The request that caused it. */
  readonly origin?: TaskOrigin
  readonly progress: TaskProgress
  /** Returns a call as the actor, with current rights; they are read again each time. */
  callNow(): Outcome<ReturnType<typeof ActorGone>, SignedInCall>
  /** Aborted with a StopReason. After `lease-lost` the handler must not change anything. */
  readonly signal: AbortSignal
}

/** The end of the work. `message` and `error` are for people and contain no secret. */
export interface TaskEnd {
  readonly state: 'succeeded' | 'failed' | 'cancelled' | 'unknown'
  readonly message: string
  /** The root cause first. */
  readonly error?: string
  readonly result?: FreeObject
}

/** One kind of work; a plugin declares it, like routes and jobs. */
export interface TaskHandler {
  /** `part.verbPhrase`; the `kind` of its tasks. */
  readonly kind: string
  /** Does the work, once. A throw ends the task as failed, with a generic message; the error is logged. */
  run(run: TaskRun): Promise<TaskEnd>
  /**
   * Called instead of `run` if the worker that started the task has died: determines the result of the work and leaves
   * it in a correct, documented state. It does not repeat the work. May itself be repeated.
   *
   * `run-again`: each step of the work is idempotent and finds out itself whether it is done, so `run` is called again,
   * also after an orderly stop of the service. Then the work may be cancelled like work that runs for the first time.
   */
  readonly recover: ((run: TaskRun) => Promise<TaskEnd>) | 'run-again'
}

/**
 * A message about a task's progress: sent to the task's subject, and at start and end to the tenant's notifications.
 */
export interface TaskMessage {
  readonly task: Pick<Task, 'ref' | 'responseId' | 'subject' | 'tenantId' | 'actorId'>
  readonly event: TaskEvent
  /** Also sent to the tenant's `notifications` subject. */
  readonly isNotable: boolean
}

/**
 * Carries progress and wake-ups between instances and to clients. The database is authoritative: a lost message delays
 * nothing longer than the polling interval, and a reader of `/tasks` misses nothing.
 */
export interface TaskBus {
  /**
   * Publishes with the id `<ref>.<seq>`, so that a duplicate is dropped. Rejects if the bus did not accept it; the
   * outbox retries.
   */
  publish(message: TaskMessage): Promise<void>
  /** Notifies workers of all instances that work is queued. Never throws and never waits. */
  wake(): void
  /** Calls the listener on each wake-up from any instance; returns a function that unsubscribes. */
  onWake(listener: () => void): () => void
  /**
   * Calls the listener when the task has new events, from any instance; returns a function that unsubscribes. This is a
   * hint: events are read from the store.
   */
  onProgress(ref: string, listener: () => void): () => void
}
export const TaskBusPort = portKey<TaskBus>('tasks.TaskBus')

/** The task does not exist, or the caller may not see it; both have the same response. */
export const TaskMissing = defineFailure(
  'TaskMissing',
  'NotFound',
  'The task does not exist, or the caller may not see it.',
)
/** The task has already ended and cannot be cancelled. */
export const TaskEnded = defineFailure('TaskEnded', 'Conflict', 'The task has already ended.')
/** Another unfinished task holds the key. Internal to the store; the use case names the task. */
export const LockHeld = defineFailure('LockHeld', 'Conflict', 'Another task holds the lock.')

/** The request that a task was accepted in; its later audit rows and calls refer to it. */
export interface TaskOrigin {
  readonly operation: string
  readonly requestId: string
  readonly sourceIp: string
  /** W3C trace context of the request, if it was traced. */
  readonly trace?: string
}

export interface NewTask extends Pick<
  Task,
  'ref' | 'responseId' | 'subject' | 'kind' | 'title' | 'tenantId' | 'about' | 'message'
> {
  readonly actor: Actor
  readonly origin: TaskOrigin
  readonly lockKey: string | undefined
  readonly sealedInput: Uint8Array
  /** Keyed digest of kind, tenant, lock and input: detects a repetition without storing the request. */
  readonly digest: Uint8Array
}

/** An event before the store assigns its number. */
export type NewTaskEvent = Omit<TaskEvent, 'seq'> & {
  /** Also sent to notifications. */
  readonly isNotable?: boolean
}

/** The filter of a task list. */
export interface TaskFilter {
  readonly actorId?: UserId
  /** With `actorId`: restricts organizations to those that the actor is a member of and may enter. */
  readonly entry?: EntryContext
  readonly tenantId?: AccountId
  readonly state?: TaskState
  readonly kind?: string
  /** The task's `about.cluster`. */
  readonly cluster?: string
}

/** A task with the name of its account. */
export interface TaskOfAccount {
  readonly task: Task
  readonly tenantName: string
}

/** Tasks and their events. A task's input cannot be read here. */
export interface TaskStore {
  /** Newest first. */
  list(filter: TaskFilter, page: PageRequest): Promise<Page<Task>>
  find(ref: string): Promise<TaskOfAccount | undefined>
  /** Returns the events after `afterSeq`, in order, at most `limit`. */
  events(id: TaskId, afterSeq: number, limit: number): Promise<readonly TaskEvent[]>
}
export const TaskStorePort = portKey<TaskStore>('tasks.TaskStore')

/** Lookups that are needed to accept a task. */
export interface TaskLookups {
  countUnfinished(tenantId: AccountId): Promise<number>
  /** Returns the actor's newest task with that response id, if it was accepted less than an hour ago. */
  findByResponse(
    actorId: UserId,
    responseId: string,
  ): Promise<{ readonly task: Task; readonly digest: Uint8Array } | undefined>
  findByLock(lockKey: string): Promise<Task | undefined>
}
/** For use outside a transaction. */
export const TaskLookupsPort = portKey<TaskLookups>('tasks.TaskLookups')

/** The changes that accepting and cancelling need, in one transaction. Times are from the database's clock. */
export interface TaskChanges extends TaskLookups {
  /**
   * Locks the accounts, lowest id first, until the transaction ends; other submissions for them wait. Returns the
   * number of accounts found.
   */
  lockAccounts(ids: readonly AccountId[]): Promise<number>
  /** Enforced by the unique key, so that two concurrent inserts cannot both hold the lock. */
  insert(task: NewTask): Outcome<Failure<'LockHeld'>, Task>
  /** Numbers and stores the events, and adds them to the outbox; this process publishes first. */
  append(id: TaskId, events: readonly NewTaskEvent[]): Promise<void>
  /** Locks the row until the transaction ends. */
  lock(id: TaskId): Promise<Task | undefined>
  requestCancel(id: TaskId): Promise<void>
  /**
   * Removes the oldest of a tenant's ended tasks, keeping the newest `kept`; at most `limit`. The caller must have
   * locked the account.
   */
  removeEndedBeyond(tenantId: AccountId, kept: number, limit: number): Promise<void>
  /**
   * Ends an unfinished task that has no worker, and removes its input and its lock. The caller must have locked the
   * row.
   */
  endUnattended(id: TaskId, end: TaskEnd): Promise<void>
}
export interface TaskStores {
  readonly tasks: TaskChanges
  readonly audit: AuditTrail
}
export const TaskUnitOfWorkPort = portKey<UnitOfWork<TaskStores>>('tasks.UnitOfWork')

/** A task that only this process may work on until its lease ends. */
export interface ClaimedTask {
  readonly task: Task
  readonly actor: Actor
  readonly origin: TaskOrigin
  readonly sealedInput: Uint8Array
  /** The previous worker died or was stopped: call `recover`, or `run` if the kind may run again. */
  readonly isTakenOver: boolean
}

export interface ClaimOptions {
  readonly leaseSeconds: number
  /** A tenant that has used its share of this process: skipped, except for taking over tasks of dead workers. */
  readonly exceptTenant: AccountId | undefined
  /** Returns the event that is stored with the claim. */
  readonly opening: (task: Task, isTakenOver: boolean) => NewTaskEvent
}

/** The number of tasks by state, and the age of the oldest unfinished ones. */
export interface TaskCounts {
  readonly byState: Readonly<Record<TaskState, number>>
  /**
   * For how long the oldest queued and the oldest running task of a kind are so, in seconds. Kinds without one lack.
   */
  readonly oldest: readonly {
    readonly kind: string
    readonly state: 'queued' | 'running'
    readonly seconds: number
  }[]
}

/**
 * The work of this process. A claim is one transaction: the first process to lock the row gets it, the others skip it.
 * Each method that takes a claim writes only if the row still has the claim's fence, and returns false otherwise.
 */
export interface TaskQueue {
  /**
   * Claims a task whose lease has expired, else a queued one: of the tenant with the fewest running tasks, and of these
   * the oldest. Stores its opening event and adopts its unpublished events. Undefined if there is none.
   */
  claim(options: ClaimOptions): Promise<ClaimedTask | undefined>
  /** Extends the lease from now. */
  renew(claimed: ClaimedTask, leaseSeconds: number): Promise<boolean>
  /** Stores events, in order. */
  record(claimed: ClaimedTask, events: readonly NewTaskEvent[]): Promise<boolean>
  /** Ends the task with its last events, and removes its input and its lock. */
  end(claimed: ClaimedTask, end: TaskEnd, events: readonly NewTaskEvent[]): Promise<boolean>
  /** Releases a claimed task that was not started, so that any process can run or recover it. */
  giveBack(claimed: ClaimedTask): Promise<void>
  /** Returns the tasks of this process for which a cancel was requested. */
  cancelRequested(): Promise<readonly TaskId[]>
}

/** Opens the queue for the kinds of work that this process knows, under the process's name. */
export interface TaskQueues {
  open(holder: string, kinds: readonly string[]): TaskQueue
  counts(): Promise<TaskCounts>
}
export const TaskQueuesPort = portKey<TaskQueues>('tasks.TaskQueues')

/** One event that waits to be published. */
export interface OutboxItem {
  readonly id: number
  readonly message: TaskMessage
}

/** Committed events that the bus has not accepted yet. Each belongs to one process for a time. */
export interface TaskOutbox {
  /**
   * Returns events of this process, oldest first, and extends the time for which all of them belong to it. Does not
   * return an event while an earlier one of the same task belongs to another process: the bus must have accepted that
   * one first.
   */
  mine(limit: number): Promise<readonly OutboxItem[]>
  /**
   * Reports whether events of this process are left, and extends their time. If `mine` returns none, they wait for
   * another process.
   */
  waits(): Promise<boolean>
  published(ids: readonly number[]): Promise<void>
  /** Returns the number of events of all processes, and the age of the oldest in seconds; 0 if there is none. */
  lag(): Promise<{ readonly count: number; readonly oldestSeconds: number }>
  /** Adopts events whose process did not extend its time. Returns the number of events. */
  adopt(limit: number): Promise<number>
}
export const TaskOutboxPort = portKey<TaskOutbox>('tasks.TaskOutbox')

/** Removes tasks that are no longer needed. */
export interface TaskRetention {
  /** Removes tasks that ended before `days` ago, with their events; returns the number removed, at most `limit`. */
  removeEnded(days: number, limit: number): Promise<number>
  /** Returns tenants with more than `kept` ended tasks, at most `limit`. */
  tenantsBeyond(kept: number, limit: number): Promise<readonly AccountId[]>
  /**
   * Removes the oldest of a tenant's ended tasks, keeping the newest `kept`; returns the number removed, at most
   * `limit`.
   */
  removeEndedBeyond(tenantId: AccountId, kept: number, limit: number): Promise<number>
  /**
   * Returns unfinished tasks accepted before `days` ago whose lease, if any, expired a day ago: no process knows their
   * kind.
   */
  abandoned(days: number, limit: number): Promise<readonly TaskId[]>
}
export const TaskRetentionPort = portKey<TaskRetention>('tasks.TaskRetention')

/** The kinds of work that plugins declare; filled once at start, before any task is accepted. */
export interface TaskHandlers {
  declare(kinds: readonly TaskHandler[]): void
  has(kind: string): boolean
  all(): readonly TaskHandler[]
}
export const TaskHandlersPort = portKey<TaskHandlers>('tasks.TaskHandlers')

/** A keyed one-way digest. */
export interface InputDigest {
  digest(text: string): Uint8Array
}

/** Publishes committed events. */
export interface EventPublisher {
  /** Also checks every few seconds for events of dead processes. */
  start(): void
  /** Signals that events were committed. Never throws and never waits. */
  kick(): void
  stop(): Promise<void>
}
export const EventPublisherPort = portKey<EventPublisher>('tasks.EventPublisher')
