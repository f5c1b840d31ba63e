import test from 'ava'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { request } from 'undici'
import { makeInProcessTaskBus } from '../../adapters/bus/in-process-task-bus.ts'
import type { Authorizer } from '../../core/authz/ports.ts'
import { AccessDenied } from '../../core/authz/ports.ts'
import type { ObjectLocator } from '../../core/kernel/access.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import type { EventPublisher, TaskStore } from '../../core/tasks/ports.ts'
import { makeViewTask } from '../../core/tasks/tasks.ts'
import type { Task, TaskEvent, TaskId } from '../../core/tasks/types.ts'
import { taskGroup } from '../../plugins/tasks/tasks.handlers.ts'
import { listOwnAudit } from '../../plugins/audit/audit.routes.ts'
import { Redirect } from '../../plugins/kit/reply.ts'
import { getOrganization } from '../../plugins/organizations/organizations/organizations.routes.ts'
import { cancelTask, followTask, getTask, listTasks } from '../../plugins/tasks/tasks.routes.ts'
import type { Person } from '../clusters/cluster-fixture.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import { principal, startStubServer } from '../http/stub-server.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { eventsOf, openFeed, order, show, untilEnd, untilState } from './task-client.ts'
import type { Diary } from './tiny-plugin.ts'
import { makeTinyPlugin } from './tiny-plugin.ts'

const diary: Diary = { runs: [], recoveries: [], reasons: [] }
let service: TestService
let ada: Person
let eve: Person

const cancel = (token: string, id: string) => service.call(token, cancelTask, { params: { id } })

test.before(async () => {
  service = await startService({ plugins: [makeTinyPlugin(diary)] })
  const people = makePeople(service)
  ada = await people.person('ada')
  eve = await people.person('eve')
})
test.after.always(() => service.stop())

test.serial('a task is shown with its end, its result and its events, and its input nowhere', async (t) => {
  const { id, subject } = await order(service, ada.token, { title: 'Count', lines: 2, secret: 'hunter2-distinctive' })
  const task = await untilEnd(service, ada.token, id)
  t.is(task.state, 'succeeded')
  t.is(task.message, 'Count completed successfully!')
  t.deepEqual(task.result, { counted: 2, by: ada.login })
  t.is(task['actor'], ada.login)
  t.is(subject, `natjobs.resp.${String(task['response_id'])}`)
  t.true(Date.parse(String(task['started_at'])) >= Date.parse(String(task['created_at'])))
  const events = await eventsOf(service, ada.token, id)
  t.deepEqual(
    events.map(({ seq, status, msg }) => `${seq} ${status} ${msg}`),
    [
      '1 Pending Count: waits for a worker',
      '2 Started Count started!',
      '3 Started Counting',
      '4 Running line 1',
      '5 Running line 2',
      '6 Success Counting',
      '7 Success Count completed successfully!',
    ],
  )
  t.deepEqual(
    events.map(({ id: each }) => each === id),
    [true, true, false, false, false, false, true],
  )
  const audit = await service.call(ada.token, listOwnAudit, { page: { limit: 50 } })
  for (const text of [JSON.stringify(task), JSON.stringify(events), audit.text, service.logText()])
    t.false(text.includes('hunter2'))
})

test.serial('a failed task has its cause, and a thrown error a general message', async (t) => {
  const failed = await order(service, ada.token, { title: 'Fail', fails: true })
  t.like(await untilEnd(service, ada.token, failed.id), {
    state: 'failed',
    message: 'Fail failed!',
    error: 'it does not count',
  })
  const thrown = await order(service, ada.token, { title: 'Throw', throws: true })
  const task = await untilEnd(service, ada.token, thrown.id)
  t.is(task.state, 'failed')
  t.false(JSON.stringify(task).includes('the handler threw'))
  t.true(service.logText().includes('the handler threw'))
  const events = await eventsOf(service, ada.token, thrown.id)
  t.deepEqual(
    events.slice(-2).map(({ status, error }) => `${status}: ${error ?? ''}`),
    ['Failed: Not finished.', 'Failed: The service met an error of its own; its log says more.'],
  )
})

test.serial('another user sees nothing of a task', async (t) => {
  const { id } = await order(service, ada.token, { title: 'Mine', untilCancelled: true })
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/events'],
    ['POST', '/cancel'],
  ] as const) {
    const foreign = await service.send(method, `/api/v1/tasks/${id}${path}`, { token: eve.token })
    const none = await service.send(method, `/api/v1/tasks/00000000-0000-4000-8000-000000000000${path}`, {
      token: eve.token,
    })
    t.is(foreign.status, 404)
    t.deepEqual({ ...foreign.json, requestId: '' }, { ...none.json, requestId: '' })
    t.is((await service.send(method, `/api/v1/tasks/${id}${path}`)).status, 401)
  }
  t.deepEqual((await service.call(eve.token, listTasks)).value.items, [])
  t.is((await service.send('GET', `/api/v1/tasks?account=${ada.login}`, { token: eve.token })).status, 404)
  t.is((await service.send('GET', '/api/v1/tasks?account=nobody-has-this', { token: eve.token })).status, 404)
  t.is((await show(service, service.adminToken, id)).state, 'running', 'a site admin sees it')
  await cancel(ada.token, id)
  t.is((await untilEnd(service, ada.token, id)).state, 'cancelled')
})

test.serial('tasks are listed newest first, by state, kind and cluster', async (t) => {
  const zoe = await makePeople(service).person('zoe')
  const first = await order(service, zoe.token, { title: 'First' })
  const second = await order(service, zoe.token, { title: 'Second', fails: true })
  await untilEnd(service, zoe.token, first.id)
  await untilEnd(service, zoe.token, second.id)
  const titles = async (
    query: { readonly account?: string; readonly state?: 'failed'; readonly kind?: string; readonly cluster?: string },
    page = {},
  ) => (await service.call(zoe.token, listTasks, { query, page })).value.items.map(({ title }) => title)
  t.deepEqual(await titles({}), ['Second', 'First'])
  t.deepEqual(await titles({ state: 'failed' }), ['Second'])
  t.deepEqual(await titles({ kind: 'tiny.work', cluster: 'ada/one' }), ['Second', 'First'])
  t.deepEqual(await titles({ kind: 'other.work' }), [])
  t.deepEqual(await titles({ cluster: 'ada/two' }), [])
  t.deepEqual(await titles({ account: zoe.login }), ['Second', 'First'])
  t.deepEqual(await titles({}, { limit: 1, page: 2 }), ['First'])
  t.is((await service.send('GET', '/api/v1/tasks?state=sleeping', { token: zoe.token })).status, 400)
})

test.serial('a feed has past and future events and ends with the task', async (t) => {
  const { id } = await order(service, ada.token, { title: 'Wait', untilCancelled: true })
  await untilState(service, ada.token, id, 'running')
  const feed = await openFeed(service.baseUrl, `/api/v1/tasks/${id}/events`, ada.token)
  t.is(feed.status, 200)
  t.is(feed.contentType, 'text/event-stream; charset=utf-8')
  await until('the lines', () => (feed.events.length >= 6 ? true : undefined))
  await cancel(ada.token, id)
  await feed.ended
  const last = feed.events.at(-1)
  t.like(last?.event, { id, status: 'Failed', msg: 'Wait was cancelled.', data: { state: 'cancelled' } })
  t.deepEqual(
    feed.events.map((each) => each.id),
    feed.events.map((_, index) => String(index + 1)),
  )
  const again = await openFeed(service.baseUrl, `/api/v1/tasks/${id}/events`, ada.token)
  await again.ended
  t.deepEqual(again.events, feed.events, 'a late reader gets the same events')
})

test.serial('a feed resumes where its reader was, by the header before the query', async (t) => {
  const { id } = await order(service, ada.token, { title: 'Resume', lines: 5 })
  await untilEnd(service, ada.token, id)
  const ids = async (query: string, headers: Record<string, string> = {}) => {
    const feed = await openFeed(service.baseUrl, `/api/v1/tasks/${id}/events${query}`, ada.token, headers)
    await feed.ended
    return feed.events.map((each) => each.id)
  }
  t.deepEqual(await ids('?after=7'), ['8', '9', '10'])
  t.deepEqual(await ids('?after=2', { 'last-event-id': '8' }), ['9', '10'])
  t.deepEqual(await ids('?after=10'), [])
  t.deepEqual(await ids('?after=99'), [])
  const events = `/api/v1/tasks/${id}/events`
  t.is((await service.send('GET', `${events}?after=x`, { token: ada.token })).status, 400)
  t.is((await service.send('GET', `${events}?after=-1`, { token: ada.token })).status, 400)
  t.is((await service.send('GET', events, { token: ada.token, headers: { 'last-event-id': 'x' } })).status, 400)
  t.is((await service.send('HEAD', events, { token: ada.token })).status, 200)
})

test.serial('one caller has a limited number of open feeds, and others have theirs', async (t) => {
  const { id } = await order(service, ada.token, { title: 'Watched', untilCancelled: true })
  const path = `/api/v1/tasks/${id}/events`
  const feeds = await Promise.all(Array.from({ length: 100 }, () => openFeed(service.baseUrl, path, ada.token)))
  t.true(feeds.every(({ status }) => status === 200))
  t.is((await openFeed(service.baseUrl, path, ada.token)).status, 429)
  t.true((await service.call(ada.token, followTask, { params: { id } })).value.length > 0, 'what there is can be read')
  const other = await openFeed(service.baseUrl, path, service.adminToken)
  t.is(other.status, 200)
  for (const { cut } of [...feeds, other]) cut()
  await until('a place', async () => {
    const feed = await openFeed(service.baseUrl, path, ada.token)
    feed.cut()
    return feed.status === 200 ? true : undefined
  })
  await cancel(ada.token, id)
  await untilEnd(service, ada.token, id)
})

test.serial('a waiting task is cancelled at once, a finished one cannot be', async (t) => {
  const busy = await Promise.all(
    Array.from({ length: 3 }, (_, i) => order(service, eve.token, { title: `Busy ${i}`, untilCancelled: true })),
  )
  for (const { id } of busy) await untilState(service, eve.token, id, 'running')
  const waiting = await order(service, eve.token, { title: 'Waiting' })
  const cancelled = await cancel(eve.token, waiting.id)
  t.is(cancelled.status, 202)
  t.like(cancelled.value, { state: 'cancelled', is_cancel_requested: true })
  const twice = await service.send('POST', `/api/v1/tasks/${waiting.id}/cancel`, { token: eve.token })
  t.is(twice.status, 409)
  t.is(twice.json.code, 'TaskEnded')
  for (const { id } of busy) t.true((await cancel(eve.token, id)).value.is_cancel_requested)
  for (const { id } of busy) t.is((await untilEnd(service, eve.token, id)).state, 'cancelled')
  t.false(diary.runs.includes(waiting.id))
  t.deepEqual(
    (await eventsOf(service, eve.token, waiting.id)).map(({ status }) => status),
    ['Pending', 'Failed'],
  )
})

test.serial('one lock has one task at a time, and the refusal says whose within the account', async (t) => {
  const first = await order(service, ada.token, {
    title: 'Holder',
    lockKey: 'cluster/7/shop/web',
    untilCancelled: true,
  })
  const ask = (more: object) =>
    service.send('POST', '/api/v1/tiny-work/', {
      token: eve.token,
      body: { title: 'Other', lockKey: 'cluster/7/shop/web', ...more },
    })
  const refused = await ask({ tenantId: (await show(service, ada.token, first.id)).account_id })
  t.is(refused.status, 409)
  t.is(refused.json.code, 'TaskLocked')
  t.regex(refused.json.message as string, new RegExp(`"Holder" of ${ada.login} \\(task ${first.id}\\)`))
  const foreign = await ask({})
  t.is(foreign.status, 409)
  t.is(
    foreign.json.message,
    'Another task works on the same object. Try again.',
    'a task of another account does not exist for the caller',
  )
  await cancel(ada.token, first.id)
  await untilEnd(service, ada.token, first.id)
  const next = await order(service, eve.token, { title: 'Other', lockKey: 'cluster/7/shop/web' })
  t.is((await untilEnd(service, eve.token, next.id)).state, 'succeeded')
})

test.serial('of twenty at once one gets the lock', async (t) => {
  const body = { title: 'Race', lockKey: 'cluster/8/shop/web', untilCancelled: true }
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      service.send('POST', '/api/v1/tiny-work/', { token: i % 2 === 0 ? ada.token : eve.token, body }),
    ),
  )
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 19 }, () => 409)])
  const winner = answers.find(({ status }) => status === 200)?.json as { id: string }
  await cancel(service.adminToken, winner.id)
  await untilEnd(service, service.adminToken, winner.id)
})

test.serial('a repeated response-id and input get the first answer', async (t) => {
  const responseId = '3C8B7C55-9F43-4A0E-8A3A-3A2D64B8A7B4'
  const body = { title: 'Once', responseId, lines: 1 }
  const answers = await Promise.all(Array.from({ length: 5 }, () => order(service, ada.token, body)))
  t.is(new Set(answers.map(({ id }) => id)).size, 1)
  t.is(answers[0]?.subject, `natjobs.resp.${responseId}`)
  await untilEnd(service, ada.token, answers[0]?.id ?? '')
  t.is((await order(service, ada.token, body)).id, answers[0]!.id, 'also after its end')
  t.is(diary.runs.filter((ref) => ref === answers[0]?.id).length, 1)
  const other = await service.send('POST', '/api/v1/tiny-work/', { token: ada.token, body: { ...body, lines: 2 } })
  t.is(other.status, 422)
  t.is(other.json.code, 'ResponseIdTaken')
  t.is(
    (await service.send('POST', '/api/v1/tiny-work/', { token: ada.token, body: { title: 'x', responseId: 'r.1' } }))
      .json.code,
    'InvalidBody',
  )
  t.is(
    (await order(service, ada.token, { title: 'Other', responseId: responseId.toLowerCase(), lines: 1 })).subject,
    `natjobs.resp.${responseId.toLowerCase()}`,
    'case counts',
  )
  const hers = await order(service, eve.token, body)
  t.not(hers.id, answers[0]!.id, 'an id of another user is free')
})

test.serial('a kind that no plugin declares is refused before anything is written', async (t) => {
  const before = (await service.send('GET', '/api/v1/tasks', { token: ada.token })).text
  t.is(
    (
      await service.send('POST', '/api/v1/tiny-work/', {
        token: ada.token,
        body: { title: 'x', kind: 'tiny.unheardOf' },
      })
    ).status,
    500,
  )
  t.is((await service.send('GET', '/api/v1/tasks', { token: ada.token })).text, before)
})

test.serial('tasks of an organization are visible to its cluster users only', async (t) => {
  const people = makePeople(service)
  const [olga, carl, dora, fred] = [
    await people.person('olga'),
    await people.person('carl'),
    await people.person('dora'),
    await people.person('fred'),
  ]
  const [harbour, other] = [await people.organization(olga), await people.organization(fred)]
  const connect = { namespace: 'cluster_mgmt', action: 'connect to clusters' }
  const view = { namespace: 'cluster_mgmt', action: 'view clusters' }
  await people.teamWithRole(olga, harbour, [carl], [connect, view])
  await people.teamWithRole(olga, harbour, [dora], [view])
  const idOf = async (orgname: string): Promise<number> => {
    const { value } = await service.call(service.adminToken, getOrganization, { params: { orgname } })
    if (value instanceof Redirect) throw new Error(`${orgname} is now at ${value.path}`)
    return value.value.id
  }
  const { id } = await order(service, olga.token, { title: 'For the harbour', tenantId: await idOf(harbour) })
  const foreign = await order(service, fred.token, { title: 'For another', tenantId: await idOf(other) })
  await untilEnd(service, olga.token, id)
  await untilEnd(service, fred.token, foreign.id)
  const seen = async (person: Person, ref: string) => [
    (await service.send('GET', `/api/v1/tasks/${ref}`, { token: person.token })).status,
    (
      await service.send('GET', `/api/v1/tasks/${ref}/events`, {
        token: person.token,
        headers: { accept: 'application/json' },
      })
    ).status,
    (await service.send('POST', `/api/v1/tasks/${ref}/cancel`, { token: person.token })).status,
  ]
  t.deepEqual(await seen(olga, id), [200, 200, 409])
  t.deepEqual(await seen(carl, id), [200, 200, 403])
  t.deepEqual(await seen(dora, id), [404, 404, 404])
  t.deepEqual(await seen(fred, id), [404, 404, 404])
  t.deepEqual(await seen(carl, foreign.id), [404, 404, 404])
  const ofHarbour = await service.call(carl.token, listTasks, { query: { account: harbour } })
  t.deepEqual(
    ofHarbour.value.items.map(({ title }) => title),
    ['For the harbour'],
  )
  t.is((await service.send('GET', `/api/v1/tasks?account=${harbour}`, { token: dora.token })).status, 404)
  t.is((await service.send('GET', `/api/v1/tasks?account=${other}`, { token: carl.token })).status, 404)
  t.deepEqual((await service.call(carl.token, listTasks)).value.items, [], 'the own list has own tasks only')
})

test.serial('an account with a hundred unfinished tasks is refused more', async (t) => {
  const people = makePeople(service)
  const [many, one] = [await people.person('many'), await people.person('one')]
  const body = { title: 'Many', untilCancelled: true }
  const ids: string[] = []
  for (let i = 0; i < 100; i++) ids.push((await order(service, many.token, body)).id)
  const answers = await Promise.all(
    Array.from({ length: 3 }, () => service.send('POST', '/api/v1/tiny-work/', { token: many.token, body })),
  )
  t.deepEqual(
    answers.map(({ status, json }) => `${status} ${(json as { code: string }).code}`),
    ['429 TooManyTasks', '429 TooManyTasks', '429 TooManyTasks'],
  )
  t.truthy(answers[0]?.headers['retry-after'])
  const { id } = await order(service, one.token, { title: 'One' })
  t.is((await untilEnd(service, one.token, id)).state, 'succeeded', 'and it waits for none of them')
  for (const each of ids) await cancel(many.token, each)
  for (const each of ids.slice(0, 4)) await untilEnd(service, many.token, each)
})

test.serial('a read-only token follows without cancelling, and needs clusters', async (t) => {
  const looking = await service.tokenFor(ada.login, ['read:cluster'])
  const unrelated = await service.tokenFor(ada.login, ['write:user'])
  const { id } = await order(service, ada.token, { title: 'Looked at', untilCancelled: true })
  t.is((await service.call(looking, getTask, { params: { id } })).value.id, id)
  t.is((await service.send('POST', `/api/v1/tasks/${id}/cancel`, { token: looking })).status, 403)
  t.is((await service.send('GET', `/api/v1/tasks/${id}`, { token: unrelated })).status, 403)
  t.true((await cancel(ada.token, id)).value.is_cancel_requested)
  t.is((await untilEnd(service, ada.token, id)).state, 'cancelled')
})

test.serial('how many tasks there are, and for how long one waits, is in the metrics', async (t) => {
  const text = await request(`${service.opsUrl}/metrics`).then(({ body }) => body.text())
  t.regex(text, /^moorage_tasks\{state="succeeded"\} [1-9]/m)
  t.regex(text, /^moorage_tasks\{state="queued"\} \d/m)
  t.regex(text, /^moorage_task_oldest_queued_seconds\{kind="[^"]+"\} \d/m)
  t.regex(text, /^moorage_task_duration_seconds_count\{kind="[^"]+",end="succeeded"\} [1-9]/m)
  t.regex(text, /^moorage_task_outbox_events \d/m)
  t.regex(text, /^moorage_task_outbox_oldest_seconds \d/m)
  t.regex(text, /^moorage_tasks_running_here \d/m)
})

const ref = '6f1cbb1e-52c8-4b7a-9d0e-0c3f0f6f2a11'
const harbour = 9 as AccountId
const taskOf = (tenantId: AccountId, actorId: UserId): Task => ({
  id: 1 as TaskId,
  ref,
  responseId: ref,
  subject: 's',
  kind: 'tiny.work',
  title: 'Work',
  tenantId,
  actorId,
  actorLogin: 'ada',
  about: {},
  state: 'running',
  isCancelRequested: false,
  fence: 1,
  message: '',
  error: undefined,
  result: undefined,
  createdAt: new Date(),
  startedAt: new Date(),
  endedAt: undefined,
})

/** A store with one running task, and an authorizer that gives what is held; both say what they were asked. */
const fixture = (task: Task, held: Set<string>) => {
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

test("reading an own task takes one query, and an organization's two", async (t) => {
  const look = async (task: Task, ...held: readonly string[]) => {
    const { asked, ...deps } = fixture(task, new Set(held))
    const seen = await makeViewTask(deps)({ principal } as SignedInCall, ref)
    return [isLeft(seen) ? seen.left.tag : 'seen', ...asked]
  }
  const other = 8 as UserId
  t.deepEqual(await look(taskOf(principal.userId, principal.userId)), ['seen', 'store'])
  t.deepEqual(await look(taskOf(harbour, principal.userId), 'member'), ['seen', 'store', 'member on harbour'])
  t.deepEqual(await look(taskOf(harbour, principal.userId), 'can_view_tasks'), [
    'TaskMissing',
    'store',
    'member on harbour',
  ])
  t.deepEqual(await look(taskOf(harbour, other), 'can_view_tasks'), ['seen', 'store', 'can_view_tasks on harbour'])
  t.deepEqual(await look(taskOf(harbour, other), 'member'), ['TaskMissing', 'store', 'can_view_tasks on harbour'])
})

test('an open feed of an own task is cut once its reader has left the organization', async (t) => {
  const held = new Set(['member'])
  const { asked, ...deps } = fixture(taskOf(harbour, principal.userId), held)
  const bus = makeInProcessTaskBus()
  const unused = async (): Promise<never> => Promise.reject(new Error('not asked for here'))
  const routes =
    taskGroup.routes?.({
      ...deps,
      bus,
      unitOfWork: { run: unused },
      publisher: {} as EventPublisher,
      clock: { now: () => new Date() },
    }) ?? []
  const server = await startStubServer(routes, { recheckMilliseconds: 20 })
  t.teardown(() => server.stop())
  const feed = await openFeed(server.baseUrl, `/api/v1/tasks/${ref}/events`, 'good')
  await until('it was asked again', () => (asked.length >= 6 ? true : undefined))
  t.is(feed.events.length, 1)
  held.clear()
  await t.throwsAsync(feed.ended)
  t.is((await openFeed(server.baseUrl, `/api/v1/tasks/${ref}/events`, 'good')).status, 404)
})
