import type { Actor } from '../../../core/kernel/principal.ts'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { fromWireJson, toWireJson } from '../../../core/kernel/json.ts'
import type { TaskOrigin } from '../../../core/tasks/ports.ts'
import type { Task, TaskEvent, TaskEventStatus, TaskId, TaskState } from '../../../core/tasks/types.ts'
import type { Num } from '../kit/statement.ts'

export interface TaskRow {
  readonly id: Num
  readonly ref: string
  readonly response_id: string
  readonly subject: string
  readonly kind: string
  readonly title: string
  readonly tenant_id: Num
  readonly actor_id: Num
  readonly actor_login: string
  readonly about: string
  readonly state: string
  readonly is_cancel_requested: Num
  readonly fence: Num
  readonly message: string
  readonly error: string | null
  readonly result: string | null
  readonly created_at: Num
  readonly started_at: Num | null
  readonly ended_at: Num | null
}
export const taskColumns = [
  'id',
  'ref',
  'response_id',
  'subject',
  'kind',
  'title',
  'tenant_id',
  'actor_id',
  'actor_login',
  'about',
  'state',
  'is_cancel_requested',
  'fence',
  'message',
  'error',
  'result',
  'created_at',
  'started_at',
  'ended_at',
] as const

const instantOf = (value: Num | null): Date | undefined => (value === null ? undefined : new Date(Number(value)))

export const taskOf = (row: TaskRow): Task => ({
  id: Number(row.id) as TaskId,
  ref: row.ref,
  responseId: row.response_id,
  subject: row.subject,
  kind: row.kind,
  title: row.title,
  tenantId: Number(row.tenant_id) as AccountId,
  actorId: Number(row.actor_id) as UserId,
  actorLogin: row.actor_login,
  about: JSON.parse(row.about) as Record<string, string>,
  state: row.state as TaskState,
  isCancelRequested: Number(row.is_cancel_requested) === 1,
  fence: Number(row.fence),
  message: row.message,
  error: row.error ?? undefined,
  result: row.result === null ? undefined : (fromWireJson(row.result) as FreeObject),
  createdAt: new Date(Number(row.created_at)),
  startedAt: instantOf(row.started_at),
  endedAt: instantOf(row.ended_at),
})

/** The content of the column `actor`. */
export interface Asked {
  readonly actor: Actor
  readonly origin: TaskOrigin
}
export const askedToText = (asked: Asked): string => toWireJson(asked)
export const askedOf = (text: string): Asked => JSON.parse(text) as Asked

export interface EventRow {
  readonly seq: Num
  readonly at: Num
  readonly event_id: string
  readonly status: string
  readonly step: string | null
  readonly msg: string
  readonly level: string | null
  readonly error: string | null
  readonly data: string | null
  readonly is_notable: Num
}
export const eventColumns = [
  'seq',
  'at',
  'event_id',
  'status',
  'step',
  'msg',
  'level',
  'error',
  'data',
  'is_notable',
] as const

export const eventOf = (row: EventRow): TaskEvent => ({
  seq: Number(row.seq),
  at: new Date(Number(row.at)),
  id: row.event_id,
  status: row.status as TaskEventStatus,
  ...(row.step === null ? {} : { step: row.step }),
  msg: row.msg,
  ...(row.level === null ? {} : { level: row.level as NonNullable<TaskEvent['level']> }),
  ...(row.error === null ? {} : { error: row.error }),
  ...(row.data === null ? {} : { data: fromWireJson(row.data) as FreeObject }),
})
