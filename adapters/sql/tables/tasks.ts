import type { UserId } from '../../../core/kernel/ids.ts'
import { fixedBytes, flag, id, instant, int, largeText, long, longText, nullable, rowId, sealed, table, text, withDefault } from '../kit/columns.ts'

export const tasks = table('tasks', {
  id: rowId(),
  ref: text(36),
  responseId: text(64),
  subject: text(128),
  kind: text(64),
  title: text(255),
  tenantId: id(),
  actorId: id<UserId>(),
  actorLogin: text(63),
  actor: longText(),
  about: longText(),
  cluster: withDefault(text(255)),
  state: text(16),
  isCancelRequested: withDefault(flag()),
  fence: withDefault(long()),
  holder: nullable(text(64)),
  leaseUntil: nullable(instant()),
  lockKey: nullable(text(255)),
  sealedInput: nullable(sealed()),
  digest: fixedBytes(32),
  message: longText(),
  error: nullable(longText()),
  result: nullable(largeText()),
  lastSeq: withDefault(int()),
  createdAt: instant(),
  startedAt: nullable(instant()),
  endedAt: nullable(instant()),
})

export const taskEvents = table('task_events', {
  taskId: id(),
  seq: int(),
  at: instant(),
  eventId: text(64),
  status: text(16),
  step: nullable(text(255)),
  msg: longText(),
  level: nullable(text(16)),
  error: nullable(longText()),
  data: nullable(longText()),
  isNotable: flag(),
})

export const taskOutbox = table('task_outbox', {
  id: rowId(),
  taskId: id(),
  seq: int(),
  holder: text(64),
  heldUntil: instant(),
})
