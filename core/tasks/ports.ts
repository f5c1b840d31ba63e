import type { AccountId } from '../kernel/ids.ts'
import type { ActorGone, SignedInCall } from '../kernel/principal.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { token } from '../kernel/token.ts'
import type { Task, TaskEvent } from './types.ts'

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
