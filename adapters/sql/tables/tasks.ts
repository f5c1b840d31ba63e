import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { Actor } from '../../../core/kernel/principal.ts'
import type { TaskOrigin } from '../../../core/tasks/ports.ts'
import type { TaskEvent, TaskEventStatus, TaskId, TaskState } from '../../../core/tasks/types.ts'
import {
  fixedBytes,
  flag,
  id,
  instant,
  int,
  json,
  long,
  longText,
  named,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
} from '../kit/columns.ts'

export const tasks = table('tasks', {
  id: rowId<TaskId>(),
  ref: text(36),
  responseId: text(64),
  subject: text(128),
  kind: text(64),
  title: text(255),
  tenantId: id<AccountId>(),
  actorId: id<UserId>(),
  actorLogin: text(63),
  /** Who requested it, and how. */
  actor: json<{ readonly actor: Actor; readonly origin: TaskOrigin }>(),
  about: json<Readonly<Record<string, string>>>(),
  cluster: withDefault(text(255)),
  state: text<TaskState>(16),
  isCancelRequested: withDefault(flag()),
  fence: withDefault(long()),
  holder: nullable(text(64)),
  leaseUntil: nullable(instant()),
  lockKey: nullable(text(255)),
  sealedInput: nullable(sealed()),
  digest: fixedBytes(32),
  message: longText(),
  error: nullable(longText()),
  result: nullable(json<FreeObject>()),
  lastSeq: withDefault(int()),
  createdAt: instant(),
  startedAt: nullable(instant()),
  endedAt: nullable(instant()),
})

export const taskEvents = table('task_events', {
  taskId: id<TaskId>(),
  seq: int(),
  at: instant(),
  id: named('event_id', text(64)),
  status: text<TaskEventStatus>(16),
  step: nullable(text(255)),
  msg: longText(),
  level: nullable(text<NonNullable<TaskEvent['level']>>(16)),
  error: nullable(longText()),
  data: nullable(json<FreeObject>()),
  isNotable: flag(),
})

export const taskOutbox = table('task_outbox', {
  id: rowId(),
  taskId: id<TaskId>(),
  seq: int(),
  holder: text(64),
  heldUntil: instant(),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    tasks: typeof import('./tasks.ts')
  }
}
