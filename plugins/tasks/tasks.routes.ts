import { AccessDenied } from '../../core/authz/ports.ts'
import { TaskEnded, TaskMissing } from '../../core/tasks/ports.ts'
import { signedIn } from '../kit/access.ts'
import { feed, json, list } from '../kit/reply.ts'
import { routesOf } from '../kit/shared-route.ts'
import { EventsQuery, TaskEventWire, TaskPath, TasksQuery, TaskWire } from './codecs.ts'

const common = { tag: 'Miscellaneous', access: signedIn, servesConfined: true, scopeCategory: 'cluster', failures: [TaskMissing] } as const
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
  description: 'Lists your own tasks, those in organizations only while you are a member; with `account`, all tasks of an account in which you may connect to clusters.',
  query: TasksQuery,
  ok: list(TaskWire, taskExample),
})

export const getTask = taskRoute({
  id: 'tasks.get',
  method: 'GET',
  path: '/tasks/{id}',
  summary: 'Get a task',
  ok: json(200, TaskWire, taskExample),
})

export const followTask = taskRoute({
  id: 'tasks.follow',
  method: 'GET',
  path: '/tasks/{id}/events',
  summary: 'Follow the progress of a task',
  description:
    'Server-sent events: those that are there, then each as it comes, until the end of the task. A client that lost its connection says with `Last-Event-ID` where it was. With `Accept: application/json` an array of what there is, at most 500 events.',
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
    'A task that waits ends at once; a running one is told, and ends as soon as its work allows, in a true state: its own end says which. Asked again, the answer is the same. 409 once the task has ended. Of whoever may only see it, 403: a task of another takes the right to change the clusters of the account, an own one that to connect to its cluster.',
  ok: json(202, TaskWire, { ...taskExample, is_cancel_requested: true }, 'The task, which has ended or is being cancelled'),
  failures: [AccessDenied, TaskEnded],
})
