import type { AccountId, Brand, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'

export type TaskId = Brand<number, 'TaskId'>

/**
 * `queued` waits for a worker; `running` has one, by a lease; the others are final. `unknown`: the worker died, and what
 * became of its work could not be found out.
 */
export const taskStates = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'unknown'] as const
export type TaskState = (typeof taskStates)[number]

export const isFinal = (state: TaskState): boolean => state !== 'queued' && state !== 'running'

/** What everybody who may see a task is shown. Its input is sealed and never shown. */
export interface Task {
  readonly id: TaskId
  /** UUID: the `id` on the wire. */
  readonly ref: string
  /** What the client chose (`response-id`), else a UUID; the last word of the subject. */
  readonly responseId: string
  /** The bus subject that carries the progress, as its actor subscribes to it. */
  readonly subject: string
  /** `part.verbPhrase` of the kind of work: `packages.installRelease`. */
  readonly kind: string
  /** One line for people: `Install release web in namespace shop`. Carries no secret. */
  readonly title: string
  /** The account that owns the object which the task is about. */
  readonly tenantId: AccountId
  readonly actorId: UserId
  readonly actorLogin: string
  /** What it is about, for people and filters: cluster, namespace, release. No secrets. */
  readonly about: Readonly<Record<string, string>>
  readonly state: TaskState
  /** Somebody asked for its end; the worker obeys as soon as the work allows. */
  readonly isCancelRequested: boolean
  /** Grows with each worker that takes the task; a write with an older fence comes from one that lost it. */
  readonly fence: number
  /** The last line for people: how it ended, or what it waits for. */
  readonly message: string
  readonly error: string | undefined
  /** What the work answered; no secrets. */
  readonly result: FreeObject | undefined
  readonly createdAt: Date
  readonly startedAt: Date | undefined
  readonly endedAt: Date | undefined
}

/** Statuses of messages on the wire, as the consumers of the reference know them. */
export const eventStatuses = ['Pending', 'Started', 'Running', 'Success', 'Failed'] as const
export type TaskEventStatus = (typeof eventStatuses)[number]

/**
 * One message of a task's progress: stored, replayed, and published on its subject. `id` is the task's ref, or that of a
 * step below it. The task's own end is always the last event of a task.
 */
export interface TaskEvent {
  /** 1, 2, 3… within the task; the id of the server-sent event. */
  readonly seq: number
  readonly at: Date
  readonly id: string
  readonly status: TaskEventStatus
  /** The title of the task or step; on its first message only. */
  readonly step?: string
  readonly msg: string
  readonly level?: 'info' | 'warning' | 'error'
  readonly error?: string
  /** Further keys for programs: counts, names, reasons. No secrets. At most 8 KiB as JSON. */
  readonly data?: FreeObject
}
