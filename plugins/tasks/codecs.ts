import * as t from 'io-ts'
import type { Task, TaskEvent } from '../../core/tasks/types.ts'
import { eventStatuses, taskStates } from '../../core/tasks/types.ts'
import {
  answer,
  FreeObjectCodec,
  freeText,
  Instant,
  noted,
  oneOf,
  optional,
  PathName,
  patternText,
  QueryInt,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

export const TaskPath = request({ id: patternText(/^[0-9a-fA-F-]{36}$/, 36, 'the id of a task (a UUID)') }, 'TaskPath')

export const TasksQuery = request(
  {
    account: optional(noted(PathName, { description: 'The account whose tasks are listed. If absent, lists your own tasks.' })),
    state: optional(oneOf(...taskStates)),
    kind: optional(patternText(/^[A-Za-z][\w.-]*$/, 64, 'a kind of task')),
    cluster: optional(noted(freeText(255, 1), { description: "The `about.cluster` of the task." })),
  },
  'TasksQuery',
)

export const EventsQuery = request({ after: optional(noted(QueryInt, { minimum: 0, description: 'The number of the last event that was received. Only later events are sent.' })) }, 'EventsQuery')

export const TaskWire = answer(
  {
    id: t.string,
    response_id: t.string,
    subject: t.string,
    kind: t.string,
    title: t.string,
    state: oneOf(...taskStates),
    is_cancel_requested: t.boolean,
    account_id: SafeInteger,
    actor: t.string,
    about: t.record(t.string, t.string),
    message: t.string,
    error: optional(t.string),
    result: optional(FreeObjectCodec),
    created_at: Instant,
    started_at: optional(Instant),
    ended_at: optional(Instant),
  },
  'Task',
)

export const TaskEventWire = answer(
  {
    seq: SafeInteger,
    at: Instant,
    id: t.string,
    status: oneOf(...eventStatuses),
    step: optional(t.string),
    msg: t.string,
    level: optional(oneOf('info', 'warning', 'error')),
    error: optional(t.string),
    data: optional(FreeObjectCodec),
  },
  'TaskEvent',
)

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
  created_at: task.createdAt,
  started_at: task.startedAt,
  ended_at: task.endedAt,
})

export const eventToWire = ({ seq, at, id, status, step, msg, level, error, data }: TaskEvent) => ({ seq, at, id, status, step, msg, level, error, data })
