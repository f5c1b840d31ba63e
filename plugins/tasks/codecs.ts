import * as t from 'io-ts'
import type { Task, TaskEvent } from '../../core/tasks/types.ts'
import { eventStatuses, taskStates } from '../../core/tasks/types.ts'
import {
  answer,
  described,
  FreeObjectCodec,
  freeText,
  Instant,
  naming,
  noted,
  oneOf,
  optional,
  pathName,
  patternText,
  plainValue,
  QueryInt,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

export const TaskPath = request(
  {
    id: described(
      naming(patternText(/^[0-9a-fA-F-]{36}$/, 36, 'the id of a task (a UUID)'), 'task', 'id'),
      'The id of the task, a UUID in any case.',
    ),
  },
  'TaskPath',
)

export const TasksQuery = request(
  {
    account: described(
      optional(pathName('account')),
      'The account whose tasks are listed, by name; your own tasks if it is absent.',
    ),
    state: described(optional(oneOf(...taskStates)), 'Only tasks in this state; all states by default.'),
    kind: described(
      optional(plainValue(patternText(/^[A-Za-z][\w.-]*$/, 64, 'a kind of task'))),
      'Only tasks of this kind, as `packages.installRelease`; all kinds by default.',
    ),
    cluster: described(
      optional(naming(freeText(255, 1), 'cluster', 'name')),
      'Only tasks whose `about.cluster` is this name; all tasks by default.',
    ),
  },
  'TasksQuery',
)

export const EventsQuery = request(
  {
    after: described(
      optional(noted(QueryInt, { minimum: 0 })),
      'The number of the last event that was received, from 0 (the default): only later events are sent.',
    ),
  },
  'EventsQuery',
)

export const TaskWire = answer(
  {
    id: described(t.string, 'The id of the task, a UUID.'),
    response_id: described(
      t.string,
      'The name that the client has chosen as `response-id`, or a UUID; the last word of `subject`.',
    ),
    subject: described(t.string, 'The subject of the bus on which the progress is published.'),
    kind: described(t.string, 'The kind of work, as `packages.installRelease`.'),
    title: described(t.string, 'What the task does, in one line for people.'),
    state: described(
      oneOf(...taskStates),
      'The state: `queued` waits, `running` is in progress, the others are final; the result of an `unknown` task ' +
        'could not be determined.',
    ),
    is_cancel_requested: described(t.boolean, 'Whether the task is asked to stop; it ends as soon as its work allows.'),
    account_id: described(SafeInteger, 'The id of the account that owns the object of the task.'),
    actor: described(t.string, 'The name of the user who started the task.'),
    about: described(
      t.record(t.string, t.string),
      'The object of the task by words such as `cluster`, `namespace` and `release`.',
    ),
    message: described(t.string, 'The last message for people: how the task ended, or what it waits for.'),
    error: described(optional(t.string), 'Why the task failed; absent if it did not.'),
    result: described(
      optional(FreeObjectCodec),
      'The result of the work, in a form that depends on the kind; absent if there is none.',
    ),
    created_at: described(Instant, 'The time at which the task was accepted, RFC 3339.'),
    started_at: described(optional(Instant), 'The time at which the work began, RFC 3339; absent if it did not yet.'),
    ended_at: described(optional(Instant), 'The time at which the task ended, RFC 3339; absent if it did not yet.'),
  },
  'Task',
)

export const TaskEventWire = answer(
  {
    seq: described(SafeInteger, 'The number of the event in the task, from 1; also the id of the server-sent event.'),
    at: described(Instant, 'The time of the event, RFC 3339.'),
    id: described(t.string, 'The id of the task, or of a step of the task.'),
    status: described(
      oneOf(...eventStatuses),
      'The state of the task or step at this event; the last event of a task has its id and `Success` or `Failed`.',
    ),
    step: described(optional(t.string), 'The title of the task or step; present in its first event only.'),
    msg: described(t.string, 'The message for people.'),
    level: described(
      optional(oneOf('info', 'warning', 'error')),
      'The importance of the message; absent for an ordinary one.',
    ),
    error: described(optional(t.string), 'Why the task or step failed; absent if it did not.'),
    data: described(
      optional(FreeObjectCodec),
      'Further facts for programs, at most 8 KiB as JSON; absent if there are none.',
    ),
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

export const eventToWire = ({ seq, at, id, status, step, msg, level, error, data }: TaskEvent) => ({
  seq,
  at,
  id,
  status,
  step,
  msg,
  level,
  error,
  data,
})
