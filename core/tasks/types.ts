import type { AccountId, Brand, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'

export type TaskId = Brand<number, 'TaskId'>

/**
 * `queued` waits for a worker; `running` has a worker with a lease; the others are final. `unknown`: the worker died,
 * and the result of its work could not be determined.
 */
export const taskStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'unknown'] as const
export type TaskState = (typeof taskStates)[number]

export const isFinal = (state: TaskState): boolean => state !== 'queued' && state !== 'running'

/** A task as shown to all who may see it. Its input is sealed and never shown. */
export interface Task {
  readonly id: TaskId
  /** UUID; the `id` on the wire. */
  readonly ref: string
  /** The client's choice (`response-id`), else a UUID; the last token of the subject. */
  readonly responseId: string
  /** The bus subject of its progress, as its actor subscribes to it. */
  readonly subject: string
  /** `part.verbPhrase` of the kind of work: `packages.installRelease`. */
  readonly kind: string
  /** One line for people: `Install release web in namespace shop`. Contains no secret. */
  readonly title: string
  /** The account that owns the object of the task. */
  readonly tenantId: AccountId
  readonly actorId: UserId
  readonly actorLogin: string
  /** The object of the task, for people and filters: cluster, namespace, release. Contains no secrets. */
  readonly about: Readonly<Record<string, string>>
  readonly state: TaskState
  /** A cancel was requested; the worker stops as soon as the work allows. */
  readonly isCancelRequested: boolean
  /** Incremented by each worker that takes the task; a write with an older fence comes from a worker that lost it. */
  readonly fence: number
  /** The last line for people: how the task ended, or what it waits for. */
  readonly message: string
  readonly error: string | undefined
  /** The result of the work; contains no secrets. */
  readonly result: FreeObject | undefined
  readonly createdAt: Date
  readonly startedAt: Date | undefined
  readonly endedAt: Date | undefined
}

/** Statuses of messages on the wire, as the reference's clients expect them. */
export const eventStatuses = ['Pending', 'Started', 'Running', 'Success', 'Failed'] as const
export type TaskEventStatus = (typeof eventStatuses)[number]

/**
 * One message of a task's progress: stored, replayed, and published on its subject. `id` is the task's ref, or that of
 * a step below it. The task's own end is always its last event.
 */
export interface TaskEvent {
  /** 1, 2, 3… within the task; also the id of the server-sent event. */
  readonly seq: number
  readonly at: Date
  readonly id: string
  readonly status: TaskEventStatus
  /** The title of the task or step; only in its first message. */
  readonly step?: string
  readonly msg: string
  readonly level?: 'info' | 'warning' | 'error'
  readonly error?: string
  /** Further keys for programs: counts, names, reasons. Contains no secrets. At most 8 KiB as JSON. */
  readonly data?: FreeObject
}
