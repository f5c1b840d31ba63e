import test from 'ava'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { makeInProcessTaskBus } from '../../adapters/bus/in-process-task-bus.ts'
import { AccessDenied } from '../../core/authz/ports.ts'
import type { Authorizer } from '../../core/authz/ports.ts'
import type { ObjectLocator } from '../../core/kernel/access.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { makeViewTask } from '../../core/tasks/tasks.ts'
import type { EventPublisher, TaskStore } from '../../core/tasks/ports.ts'
import type { Task, TaskEvent, TaskId } from '../../core/tasks/types.ts'
import { taskGroup } from '../../plugins/tasks/tasks.handlers.ts'
import { principal, startStubServer } from '../http/stub-server.ts'
import { until } from '../support/until.ts'
import { openFeed } from './task-client.ts'

const ref = '6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11'
const harbour = 9 as AccountId
const taskOf = (tenantId: AccountId, actorId: UserId): Task => ({
  id: 1 as TaskId, ref, responseId: ref, subject: 's', kind: 'tiny.work', title: 'Work', tenantId, actorId, actorLogin: 'ada', about: {}, state: 'running', isCancelRequested: false,
  fence: 1, message: '', error: undefined, result: undefined, createdAt: new Date(), startedAt: new Date(), endedAt: undefined,
})

/** A store with one running task, and an authorizer that gives what is held; both say what they were asked. */
const world = (task: Task, held: Set<string>) => {
  const asked: string[] = []
  const events: readonly TaskEvent[] = [{ seq: 1, at: new Date(), id: ref, status: 'Pending', msg: 'waits' }]
  const tasks: TaskStore = {
    list: async () => ({ items: [], total: 0 }),
    find: async () => {
      asked.push('store')
      return { task, tenantName: 'harbour' }
    },
    events: async (_id, after) => events.filter(({ seq }) => seq > after),
  }
  const authorize = async (_principal: unknown, object: ObjectLocator, relation: string) => {
    asked.push(`${relation} on ${'name' in object ? object.name : ''}`)
    return held.has(relation) ? right({}) : left(AccessDenied('no'))
  }
  return { tasks, authorizer: { authorize } as unknown as Authorizer, asked }
}

test('a task of the own account takes one look, an own one of an organization and that of another two', async (t) => {
  const look = async (task: Task, ...held: readonly string[]) => {
    const { asked, ...deps } = world(task, new Set(held))
    const seen = await makeViewTask(deps)({ principal } as SignedInCall, ref)
    return [isLeft(seen) ? seen.left.tag : 'seen', ...asked]
  }
  const other = 8 as UserId
  t.deepEqual(await look(taskOf(principal.userId, principal.userId)), ['seen', 'store'])
  t.deepEqual(await look(taskOf(harbour, principal.userId), 'member'), ['seen', 'store', 'member on harbour'])
  t.deepEqual(await look(taskOf(harbour, principal.userId), 'can_view_tasks'), ['TaskMissing', 'store', 'member on harbour'])
  t.deepEqual(await look(taskOf(harbour, other), 'can_view_tasks'), ['seen', 'store', 'can_view_tasks on harbour'])
  t.deepEqual(await look(taskOf(harbour, other), 'member'), ['TaskMissing', 'store', 'can_view_tasks on harbour'])
})

test('an open feed of an own task is cut once its reader has left the organization', async (t) => {
  const held = new Set(['member'])
  const { asked, ...deps } = world(taskOf(harbour, principal.userId), held)
  const bus = makeInProcessTaskBus()
  const unused = async (): Promise<never> => Promise.reject(new Error('not asked for here'))
  const routes = taskGroup.routes?.({ ...deps, bus, unitOfWork: { run: unused }, publisher: {} as EventPublisher, clock: { now: () => new Date() } }) ?? []
  const server = await startStubServer(routes, { feedTimes: { recheck: 20 } })
  t.teardown(() => server.stop())
  const feed = await openFeed(server.baseUrl, `/api/v1/tasks/${ref}/events`, 'good')
  await until('it was asked again', () => (asked.length >= 6 ? true : undefined))
  t.is(feed.events.length, 1)
  held.clear()
  await t.throwsAsync(feed.ended)
  t.is((await openFeed(server.baseUrl, `/api/v1/tasks/${ref}/events`, 'good')).status, 404)
})
