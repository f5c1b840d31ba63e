import type { Entrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Actor, ActorGone, SignedInCall } from '../kernel/principal.ts'
import { token } from '../kernel/token.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Task, TaskEvent, TaskId, TaskState } from './types.ts'

/** Another task works on the same thing, or waits to. The message says which, since when and whose. */
export const TaskLocked = defineFailure('TaskLocked', 'Conflict')
/** A client's `response-id`: one word of a bus subject, where case counts. */
export const responseIdForm = /^[A-Za-z0-9_-]{1,64}$/
/** The `response-id` was used for something else within the last hour. */
export const ResponseIdTaken = defineFailure('ResponseIdTaken', 'Unprocessable')
/** The tenant has more unfinished tasks than it may. */
export const TooManyTasks = defineFailure('TooManyTasks', 'Backoff')

/** Work that is to be done after the answer. */
export interface TaskSubmission {
  /** One that a plugin declares among its `tasks`. */
  readonly kind: string
  readonly title: string
  readonly tenantId: AccountId
  readonly about: Readonly<Record<string, string>>
  /** While a task with this key is queued or running no other one is accepted: `cluster/7/shop/web`. */
  readonly lockKey?: string
  /** Kept sealed; may hold secrets. At most 2 MiB as JSON. */
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

/** Accepts work. What was answered is stored: it is done at most once, and its end is told, whatever dies meanwhile. */
export interface Tasks {
  /**
   * What `submit` would say at this moment without accepting anything: the first answer where it is a repetition, why it
   * would be refused, else undefined. For use cases that ask a cluster first, which has moved on when a request comes again.
   */
  foresee(call: SignedInCall<never>, submission: TaskSubmission): Outcome<SubmitFailure, SubmittedTask | undefined>
  /**
   * Writes the task, its first event (Pending) and an audit row in one transaction. The same caller, `response-id`, kind
   * and input within an hour are answered as the first time.
   */
  submit(call: SignedInCall<SubmittedTask>, submission: TaskSubmission): Outcome<SubmitFailure, SubmittedTask>
}
export const TasksToken = token<Tasks>('tasks.Tasks')

/** Says what happens, in order. Nothing throws and nothing waits: lines are stored and published behind the caller's back, the last ones before the end. */
export interface TaskStep {
  say(msg: string, options?: { readonly level?: 'info' | 'warning' | 'error'; readonly data?: FreeObject }): void
  /** Ends the step; further calls do nothing. Steps left open end with their task. */
  done(msg?: string): void
  failed(error: string): void
}
export interface TaskProgress extends Pick<TaskStep, 'say'> {
  /** Opens a step below the task, with an id of its own. */
  step(title: string): TaskStep
}

/**
 * Why the work should stop: `signal.reason` of a run. `rights-lost` is for work that asks again on its way whether its
 * actor still may: they may not.
 */
export type StopReason = 'cancelled' | 'stopping' | 'lease-lost' | 'rights-lost'

/** What a worker gives to the code that does the work. */
export interface TaskRun {
  readonly task: Task
  readonly input: FreeObject
  readonly progress: TaskProgress
  /** The actor, with the rights of this moment: asked anew each time. */
  callNow(): Outcome<ReturnType<typeof ActorGone>, SignedInCall>
  /** Aborted with a StopReason. After `lease-lost` nothing may be changed any more. */
  readonly signal: AbortSignal
}

/** How work ended. `message` and `error` are for people and carry no secret. */
export interface TaskEnd {
  readonly state: 'succeeded' | 'failed' | 'cancelled' | 'unknown'
  readonly message: string
  /** The root cause first. */
  readonly error?: string
  readonly result?: FreeObject
}

/** One kind of work; a plugin declares it, as it does routes and jobs. */
export interface TaskKind {
  /** `part.verbPhrase`; also the `kind` of its tasks. */
  readonly kind: string
  /** Does the work, once. A throw ends the task as failed, with a plain line; the error goes to the log. */
  run(run: TaskRun): Promise<TaskEnd>
  /**
   * Called instead of `run` when the worker that began has died: finds out what became of the work and leaves it in a
   * true, documented state. It does not do the work again. May itself be repeated.
   */
  recover(run: TaskRun): Promise<TaskEnd>
}

/** What goes out when a task moves: to its own subject, and at start and end to the tenant's notifications. */
export interface TaskMessage {
  readonly task: Pick<Task, 'ref' | 'responseId' | 'subject' | 'tenantId' | 'actorId'>
  readonly event: TaskEvent
  /** Also for the tenant's `notifications` subject. */
  readonly isNotable: boolean
}

/**
 * Carries progress and wake-ups between instances and to clients. The database is the truth: a lost message delays
 * nothing for longer than the poll, and a reader of `/tasks` misses nothing.
 */
export interface TaskBus {
  /** Publishes with the id `<ref>.<seq>`, so that a repetition is dropped. Rejects when the bus did not take it: the outbox tries again. */
  publish(message: TaskMessage): Promise<void>
  /** Tells workers, here and on other instances, that work waits. Never throws and never waits. */
  wake(): void
  /** Calls on each wake-up of anybody; answers how to stop. */
  onWake(listener: () => void): () => void
  /** Calls when the task has new events, of whichever instance; answers how to stop. A hint: events are read from the store. */
  onProgress(ref: string, listener: () => void): () => void
}
export const TaskBusToken = token<TaskBus>('tasks.TaskBus')

/** There is no such task, or the caller may not see it; the two are one answer. */
export const TaskMissing = defineFailure('TaskMissing', 'NotFound')
/** The task has ended, so there is nothing to cancel. */
export const TaskEnded = defineFailure('TaskEnded', 'Conflict')
/** Another unfinished task holds the key. Within the store; the use case says which one. */
export const LockHeld = defineFailure('LockHeld', 'Conflict')

/** In which request a task was accepted: its later audit rows and calls name it. */
export interface TaskOrigin {
  readonly operation: string
  readonly requestId: string
  readonly sourceIp: string
}

export interface NewTask extends Pick<Task, 'ref' | 'responseId' | 'subject' | 'kind' | 'title' | 'tenantId' | 'about' | 'message'> {
  readonly actor: Actor
  readonly origin: TaskOrigin
  readonly lockKey: string | undefined
  readonly sealedInput: Uint8Array
  /** Keyed digest of kind, tenant, lock and input: tells a repetition without keeping what was asked. */
  readonly digest: Uint8Array
}

/** An event before the store numbers it. */
export type NewTaskEvent = Omit<TaskEvent, 'seq'> & {
  /** Also for notifications. */
  readonly isNotable?: boolean
}

/** Which tasks are listed. */
export interface TaskFilter {
  readonly actorId?: UserId
  /** Beside `actorId`: of organizations only those whose member the actor is and that let the actor in. */
  readonly entrant?: Entrant
  readonly tenantId?: AccountId
  readonly state?: TaskState
  readonly kind?: string
  /** The task's `about.cluster`. */
  readonly cluster?: string
}

/** A task with the name of the account that it belongs to. */
export interface TaskOfAccount {
  readonly task: Task
  readonly tenantName: string
}

/** Tasks and their events. Nothing here leads to a task's input. */
export interface TaskStore {
  /** Newest first. */
  list(filter: TaskFilter, page: PageRequest): Promise<Page<Task>>
  find(ref: string): Promise<TaskOfAccount | undefined>
  /** In order, those after `afterSeq`, at most `limit`. */
  events(id: TaskId, afterSeq: number, limit: number): Promise<readonly TaskEvent[]>
}
export const TaskStoreToken = token<TaskStore>('tasks.TaskStore')

/** What accepting a task goes by. */
export interface TaskLookups {
  countUnfinished(tenantId: AccountId): Promise<number>
  /** The actor's newest task of that response id, when it was accepted less than an hour ago. */
  findByResponse(actorId: UserId, responseId: string): Promise<{ readonly task: Task; readonly digest: Uint8Array } | undefined>
  findByLock(lockKey: string): Promise<Task | undefined>
}
/** Outside of a transaction. */
export const TaskLookupsToken = token<TaskLookups>('tasks.TaskLookups')

/** What accepting and cancelling is made of, in one transaction. Times are those of the database's clock. */
export interface TaskChanges extends TaskLookups {
  /** Locks the accounts, lowest id first, until the transaction ends: whoever accepts for them waits. Answers how many there are. */
  lockAccounts(ids: readonly AccountId[]): Promise<number>
  /** By the unique key, so that two at once cannot both hold it. */
  insert(task: NewTask): Outcome<Failure<'LockHeld'>, Task>
  /** Numbers, stores, and leaves them to the bus: this process tries first. */
  append(id: TaskId, events: readonly NewTaskEvent[]): Promise<void>
  /** Locks the row until the transaction ends. */
  lock(id: TaskId): Promise<Task | undefined>
  requestCancel(id: TaskId): Promise<void>
  /** Removes of a tenant's ended tasks beyond the newest `kept` the oldest, at most `limit`. The caller holds the account. */
  removeEndedBeyond(tenantId: AccountId, kept: number, limit: number): Promise<void>
  /** Ends an unfinished task that no worker has; its input and its lock go. The caller holds the row. */
  endUnattended(id: TaskId, end: TaskEnd): Promise<void>
}
export interface TaskStores {
  readonly tasks: TaskChanges
  readonly audit: AuditTrail
}
export const TaskUnitOfWorkToken = token<UnitOfWork<TaskStores>>('tasks.UnitOfWork')

/** A task that this process alone may do, while its lease lasts. */
export interface ClaimedTask {
  readonly task: Task
  readonly actor: Actor
  readonly origin: TaskOrigin
  readonly sealedInput: Uint8Array
  /** Somebody had begun and has died: `recover`, never `run`. */
  readonly isTakenOver: boolean
}

export interface ClaimOptions {
  readonly leaseSeconds: number
  /** A tenant that has its share of this process: passed over, save to take over what died. */
  readonly exceptTenant: AccountId | undefined
  /** The event that is stored with the claim. */
  readonly opening: (task: Task, isTakenOver: boolean) => NewTaskEvent
}

/** How many tasks are in which state, and for how long the oldest one has waited. */
export interface TaskCounts {
  readonly byState: Readonly<Record<TaskState, number>>
  /** Seconds; 0 when nothing waits. */
  readonly oldestQueuedSeconds: number
}

/**
 * The work of this process. A claim is one transaction: whoever has the row's lock takes it, the others pass it over. Each
 * method that is given a claim writes only while the row has the claim's fence, and answers false when it has not.
 */
export interface TaskQueue {
  /**
   * Takes a task whose lease ran out, else a queued one: of the tenant that has the fewest running, and of these the
   * oldest. Stores its opening event and takes over what of its events is not published yet. Undefined when
   * there is none.
   */
  claim(options: ClaimOptions): Promise<ClaimedTask | undefined>
  /** Prolongs the lease from now. */
  renew(claimed: ClaimedTask, leaseSeconds: number): Promise<boolean>
  /** Stores events, in order. */
  record(claimed: ClaimedTask, events: readonly NewTaskEvent[]): Promise<boolean>
  /** Ends the task with its last events; its input and its lock go. */
  end(claimed: ClaimedTask, end: TaskEnd, events: readonly NewTaskEvent[]): Promise<boolean>
  /** Gives back, for whoever is free, what was claimed and not begun: to be run, or to be recovered. */
  giveBack(claimed: ClaimedTask): Promise<void>
  /** Of the tasks that this process runs, those whose end was asked for. */
  cancelRequested(): Promise<readonly TaskId[]>
}

/** Opens the queue for the kinds of work that this process knows, in its name. */
export interface TaskQueues {
  open(holder: string, kinds: readonly string[]): TaskQueue
  counts(): Promise<TaskCounts>
}
export const TaskQueuesToken = token<TaskQueues>('tasks.TaskQueues')

/** One event that waits for the bus. */
export interface OutboxItem {
  readonly id: number
  readonly message: TaskMessage
}

/** Events that committed and that the bus has not taken yet. Each belongs to one process for a while, so that the order holds. */
export interface TaskOutbox {
  /** This process's, oldest first; keeps them from the others for a while longer. */
  mine(limit: number): Promise<readonly OutboxItem[]>
  published(ids: readonly number[]): Promise<void>
  /** Makes those this process's whose process has not come back for them. Answers how many. */
  adopt(limit: number): Promise<number>
}
export const TaskOutboxToken = token<TaskOutbox>('tasks.TaskOutbox')

/** Removes what nobody asks for any more. */
export interface TaskRetention {
  /** Ended tasks with their events that ended before `days` ago; answers how many of at most `limit`. */
  removeEnded(days: number, limit: number): Promise<number>
  /** Tenants that have more than `kept` ended tasks, at most `limit`. */
  tenantsBeyond(kept: number, limit: number): Promise<readonly AccountId[]>
  /** Of a tenant's ended tasks beyond the newest `kept` the oldest; answers how many of at most `limit`. */
  removeEndedBeyond(tenantId: AccountId, kept: number, limit: number): Promise<number>
  /** Unfinished tasks accepted before `days` ago whose lease, if any, ran out a day ago: no process knows their kind. */
  abandoned(days: number, limit: number): Promise<readonly TaskId[]>
}
export const TaskRetentionToken = token<TaskRetention>('tasks.TaskRetention')

/** The kinds of work that plugins declare; filled once, at start, before anything is accepted. */
export interface TaskKinds {
  declare(kinds: readonly TaskKind[]): void
  has(kind: string): boolean
  all(): readonly TaskKind[]
}
export const TaskKindsToken = token<TaskKinds>('tasks.TaskKinds')

/** A keyed one-way digest. */
export interface InputDigest {
  digest(text: string): Uint8Array
}

/** Publishes what commits left behind. */
export interface EventPublisher {
  /** Also looks, every few seconds, for what dead processes left. */
  start(): void
  /** Something was left behind. Never throws and never waits. */
  kick(): void
  stop(): Promise<void>
}
export const EventPublisherToken = token<EventPublisher>('tasks.EventPublisher')
