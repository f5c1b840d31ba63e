import { AccessDenied } from '../../core/authz/ports.ts'
import { TaskEnded, TaskMissing } from '../../core/tasks/ports.ts'
import { signedIn } from '../kit/access.ts'
import { feed, json, list, paged } from '../kit/reply.ts'
import { routesOf } from '../kit/route.ts'
import { EventsQuery, TaskEventWire, TaskPath, TasksQuery, TaskWire } from './codecs.ts'

const common = {
  tag: 'Miscellaneous',
  access: signedIn,
  servesConfined: true,
  scopeCategory: 'cluster',
  failures: [TaskMissing],
} as const
const route = routesOf(common)
const taskRoute = routesOf({ ...common, params: TaskPath })

const taskExample = {
  id: '6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11',
  response_id: '0b9d7c55-9f43-4a0e-8a3a-3a2d64b8a7b4',
  subject: 'natjobs.resp.0b9d7c55-9f43-4a0e-8a3a-3a2d64b8a7b4',
  kind: 'packages.installRelease',
  title: 'Install release web in namespace shop',
  state: 'running',
  is_cancel_requested: false,
  account_id: 7,
  actor: 'ada',
  about: { cluster: 'one', owner: 'ada', namespace: 'shop', release: 'web' },
  message: 'Install release web in namespace shop started!',
  created_at: '2026-05-01T08:00:00.000Z',
  started_at: '2026-05-01T08:00:00.200Z',
}

export const listTasks = route({
  id: 'tasks.list',
  method: 'GET',
  path: '/tasks',
  summary: 'List tasks, the newest first',
  description:
    'Lists your own tasks, those in organizations only while you are a member; with `account`, all tasks ' +
    'of an account in which you may connect to clusters.',
  query: TasksQuery,
  ok: paged(list(TaskWire, taskExample)),
})

export const getTask = taskRoute({
  id: 'tasks.get',
  method: 'GET',
  path: '/tasks/{id}',
  summary: 'Get a task',
  description:
    'Returns the present state of one of your own tasks, or of a task of an account in which you may connect to ' +
    'clusters. Another task is 404.',
  ok: json(200, TaskWire, taskExample),
})

export const followTask = taskRoute({
  id: 'tasks.follow',
  method: 'GET',
  path: '/tasks/{id}/events',
  summary: 'Follow the progress of a task',
  description:
    'Server-sent events: first the existing ones, then each new one, until the end of the task. After a ' +
    'lost connection, a client resumes with `Last-Event-ID`. With `Accept: application/json`, returns the ' +
    'existing events as an array, at most 500.',
  query: EventsQuery,
  ok: feed(TaskEventWire, {
    seq: 2,
    at: '2026-05-01T08:00:00.200Z',
    id: taskExample.id,
    status: 'Started',
    step: taskExample.title,
    msg: taskExample.message,
  }),
})

export const cancelTask = taskRoute({
  id: 'tasks.cancel',
  method: 'POST',
  path: '/tasks/{id}/cancel',
  summary: 'Cancel a task',
  description:
    'A waiting task ends at once. A running task is notified and ends as soon as its work allows, in the ' +
    'state that results. The request may be repeated. Returns 409 after the end of the task. Returns 403 ' +
    'if the caller lacks the right to change the clusters of the account or, for an own task, to connect ' +
    'to its cluster.',
  ok: json(
    202,
    TaskWire,
    { ...taskExample, is_cancel_requested: true },
    'The task, which has ended or is being cancelled',
  ),
  failures: [AccessDenied, TaskEnded],
})
