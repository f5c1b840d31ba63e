import type { Task, TaskEvent } from '../../core/tasks/types.ts'

export const taskToWire = (task: Task) => ({
  id: task.ref,
  response_id: task.responseId,
  subject: task.subject,
  kind: task.kind,
  title: task.title,
  state: task.state,
  is_cancel_requested: task.isCancelRequested,
  account_id: task.tenantId,
  actor: task.actorLogin,
  about: task.about,
  message: task.message,
  error: task.error,
  result: task.result,
  created_at: task.createdAt.toISOString(),
  started_at: task.startedAt?.toISOString(),
  ended_at: task.endedAt?.toISOString(),
})

export const eventToWire = ({ seq, at, id, status, step, msg, level, error, data }: TaskEvent) => ({ seq, at: at.toISOString(), id, status, step, msg, level, error, data })
