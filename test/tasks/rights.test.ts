// process: own - ends processes or changes its own
import { jetstreamManager } from '@nats-io/jetstream'
import test, { type ExecutionContext } from 'ava'
import Database from 'better-sqlite3'
import { makeInProcessTaskBus } from '../../adapters/bus/in-process-task-bus.ts'
import type { NatsTaskBus } from '../../adapters/bus/nats-task-bus.ts'
import { TaskBusPort } from '../../core/tasks/ports.ts'
import type { BusFixture } from '../bus/bus-fixture.ts'
import { closeClients, connectWith, credentialsFrom, listen, newPerson, startBusFixture } from '../bus/bus-fixture.ts'
import type { Person } from '../clusters/cluster-fixture.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { writeSqliteFile } from '../support/sqlite-file.ts'
import { until } from '../support/until.ts'
import { aMessage, taskBusSuite } from './task-bus.suite.ts'
import { order, show, untilEnd, untilState } from './task-client.ts'
import { makeTinyPlugin } from './tiny-plugin.ts'
import { declareSuite } from '../support/declare-suite.ts'

let service: TestService
let path: string
test.before(async () => {
  path = await migratedSqlitePath()
  service = await startService({ settings: { MOORAGE_DATABASE_URL: `sqlite:${path}` }, plugins: [makeTinyPlugin()] })
})
test.after.always(() => service.stop())

const permission = (action: string) => ({ namespace: 'cluster_mgmt', action })
const [view, connect, reconfigure] = [
  permission('view clusters'),
  permission('connect to clusters'),
  permission('reconfigure clusters'),
]

const harbour = async () => {
  const people = makePeople(service)
  const [olga, carl, nora, fred] = [
    await people.person('olga'),
    await people.person('carl'),
    await people.person('nora'),
    await people.person('fred'),
  ]
  const org = await people.organization(olga)
  const other = await people.organization(fred)
  const { teamId } = await people.teamWithRole(olga, org, [carl], [view, connect])
  await people.teamWithRole(olga, org, [nora], [view, connect, reconfigure])
  const idOf = async (name: string): Promise<number> =>
    ((await service.send('GET', `/api/v1/orgs/${name}`, { token: service.adminToken })).json as { id: number }).id
  return { people, olga, carl, nora, fred, org, teamId, orgId: await idOf(org), otherId: await idOf(other) }
}

const statusOf = async (person: Person, method: string, target: string): Promise<number> =>
  (await service.send(method, `/api/v1/tasks/${target}`, { token: person.token })).status
const ownTitles = async (t: ExecutionContext, person: Person) => {
  const answer = await service.send('GET', '/api/v1/tasks', { token: person.token })
  const titles = (answer.json as { title: string }[]).map(({ title }) => title)
  t.is(Number(answer.headers['x-total-count']), titles.length)
  return titles
}

test.serial('a former member sees no task of the organization', async (t) => {
  const { olga, carl, fred, org, teamId, orgId, otherId } = await harbour()
  const { id } = await order(service, carl.token, { title: 'For the harbour', tenantId: orgId, untilCancelled: true })
  const own = await order(service, carl.token, { title: 'For oneself' })
  const ofFred = await order(service, fred.token, { title: 'For another', tenantId: otherId })
  for (const [person, ref] of [
    [carl, own.id],
    [fred, ofFred.id],
  ] as const)
    await untilEnd(service, person.token, ref)
  await untilState(service, carl.token, id, 'running')
  t.deepEqual(await ownTitles(t, carl), ['For oneself', 'For the harbour'])

  t.is((await service.send('DELETE', `/api/v1/orgs/${org}/members/${carl.login}`, { token: olga.token })).status, 204)
  for (const [method, rest] of [
    ['GET', ''],
    ['GET', '/events'],
    ['POST', '/cancel'],
  ] as const) {
    const gone = await service.send(method, `/api/v1/tasks/${id}${rest}`, { token: carl.token })
    const none = await service.send(method, `/api/v1/tasks/00000000-0000-4000-8000-000000000000${rest}`, {
      token: carl.token,
    })
    t.is(gone.status, 404)
    t.deepEqual({ ...gone.json, requestId: '' }, { ...none.json, requestId: '' })
  }
  t.deepEqual(await ownTitles(t, carl), ['For oneself'])
  t.is((await show(service, carl.token, own.id)).state, 'succeeded')
  t.deepEqual(await ownTitles(t, fred), ['For another'])
  t.like(await show(service, olga.token, id), { state: 'running', is_cancel_requested: false })
  t.is((await show(service, service.adminToken, id)).state, 'running')

  t.is((await service.send('PUT', `/api/v1/teams/${teamId}/members/${carl.login}`, { token: olga.token })).status, 204)
  t.deepEqual(await ownTitles(t, carl), ['For oneself', 'For the harbour'])
  t.is(await statusOf(carl, 'POST', `${id}/cancel`), 202)
  await untilEnd(service, carl.token, id)
})

test.serial("a viewer cannot cancel another's task, a cluster manager can", async (t) => {
  const { olga, carl, nora, fred, orgId } = await harbour()
  const { id } = await order(service, olga.token, { title: 'Of the owner', tenantId: orgId, untilCancelled: true })
  await untilState(service, olga.token, id, 'running')
  const refused = await service.send('POST', `/api/v1/tasks/${id}/cancel`, { token: carl.token })
  t.is(refused.status, 403)
  t.is((refused.json as { code: string }).code, 'AccessDenied')
  t.is(await statusOf(fred, 'POST', `${id}/cancel`), 404)
  t.like(await show(service, carl.token, id), { state: 'running', is_cancel_requested: false })
  t.is(await statusOf(nora, 'POST', `${id}/cancel`), 202)
  t.is((await untilEnd(service, olga.token, id)).state, 'cancelled')
})

test.serial('an own task is ended by who may still connect, to all clusters or to its own', async (t) => {
  const { people, olga, carl, org, teamId, orgId } = await harbour()
  const pier = { title: 'At the pier', tenantId: orgId, cluster: 'pier', untilCancelled: true }
  const [{ id }, second] = [await order(service, carl.token, pier), await order(service, carl.token, pier)]
  t.is(await statusOf(carl, 'POST', `${second.id}/cancel`), 202)
  // From now on carl looks, and connects to nothing.
  await people.teamWithRole(olga, org, [carl], [view])
  t.is(
    (await service.send('DELETE', `/api/v1/teams/${teamId}/members/${carl.login}`, { token: olga.token })).status,
    204,
  )
  t.is(await statusOf(carl, 'GET', id), 200)
  t.is(await statusOf(carl, 'POST', `${id}/cancel`), 403)
  await writeSqliteFile(path, (database) => {
    const { id: carlId } = database.prepare('select id from accounts where name = ?').get(carl.login) as { id: number }
    database
      .prepare(
        "insert into clusters (owner_id, name, display_name, uid, provider, endpoint, phase, ref, created_at) values (?, 'pier', 'Pier', 'u', 'Generic', '', 'Active', 'r', 0)",
      )
      .run(orgId)
    const cluster = database.prepare('select id from clusters where owner_id = ?').get(orgId) as { id: number }
    database
      .prepare(
        "insert into object_grants (object_type, object_id, relation, subject_type, subject_id, org_id, created_at) values ('cluster', ?, 'editor', 'user', ?, ?, 0)",
      )
      .run(cluster.id, carlId, orgId)
  })
  t.is(await statusOf(carl, 'POST', `${id}/cancel`), 202)
  t.is((await untilEnd(service, olga.token, id)).state, 'cancelled')
})

test.serial('an account keeps its newest thousand ended tasks, however fast they come', async (t) => {
  const person = await makePeople(service).person('loop')
  const eve = await makePeople(service).person('eve')
  const kept = await order(service, eve.token, { title: 'Of another' })
  await untilEnd(service, eve.token, kept.id)
  const first = await order(service, person.token, { title: 'First' })
  await untilEnd(service, person.token, first.id)
  const database = new Database(path, { readonly: true })
  t.teardown(() => database.close())
  const names = (database.prepare('pragma table_info(tasks)').all() as { name: string }[])
    .map(({ name }) => name)
    .filter((name) => name !== 'id')
  const values = names.map((name) => (name === 'ref' ? "'copy-' || n" : name === 'ended_at' ? 'ended_at + n' : name))
  await writeSqliteFile(path, (file) =>
    file
      .prepare(
        `with recursive c(n) as (select 1 union all select n + 1 from c where n < 1003) insert into tasks (${names.join(', ')}) select ${values.join(', ')} from tasks, c where ref = ?`,
      )
      .run(first.id),
  )
  const ended = () =>
    (
      database
        .prepare(
          'select count(*) as n from tasks where ended_at is not null and tenant_id = (select id from accounts where name = ?)',
        )
        .get(person.login) as { n: number }
    ).n
  t.is(ended(), 1_004)
  const events = () =>
    (
      database.prepare('select count(*) as n from task_events where task_id not in (select id from tasks)').get() as {
        n: number
      }
    ).n
  for (let turn = 0; turn < 4; turn += 1) {
    const { id } = await order(service, person.token, { title: 'Again' })
    await untilEnd(service, person.token, id)
  }
  t.is(await statusOf(person, 'GET', first.id), 404, 'the oldest has gone')
  t.true(ended() <= 1_001, String(ended()))
  t.is(events(), 0)
  t.is((await show(service, eve.token, kept.id)).state, 'succeeded')
})

declareSuite(taskBusSuite, 'in process', async () => {
  const bus = makeInProcessTaskBus()
  return { here: bus, there: bus, close: async () => undefined }
})

const withNats = needing('nats')
let fixture: Promise<BusFixture> | undefined
let second: Promise<TestService> | undefined
const started = (): Promise<BusFixture> => (fixture ??= startBusFixture())
test.after.always(async () => {
  await closeClients()
  await (await fixture)?.stop()
})

const busOf = async (service: TestService): Promise<NatsTaskBus> => {
  const bus = service.running.container.resolve(TaskBusPort) as NatsTaskBus
  await until('the bus is connected', () => (bus.isConnected() ? true : undefined))
  return bus
}

/**
 * The server may not have taken a subscription yet when its connection is up: a wake-up of the other instance says so.
 */
const hears = async (to: NatsTaskBus, from: NatsTaskBus): Promise<void> => {
  let isHeard = false
  const forget = to.onWake(() => void (isHeard = true))
  await until('a wake-up of the other instance', () => {
    from.wake()
    return isHeard ? true : undefined
  })
  forget()
}

declareSuite(taskBusSuite, 'nats', async () => {
  const { service, second: another } = await started()
  const [here, there] = [await busOf(service), await busOf(await (second ??= another()))]
  await hears(there, here)
  await hears(here, there)
  return { here, there, close: async () => undefined }
})

withNats('a published message is stored once, also if repeated, on the subjects of its users', async (t) => {
  const { service } = await started()
  const bus = await busOf(service)
  const admin = await connectWith(await credentialsFrom(service, 'admin_credentials', service.adminToken))
  const manager = await jetstreamManager(admin)
  await bus.publish(aMessage('first', 1))
  const heard = listen(admin, 'natjobs.resp.*.*')
  const notices = listen(admin, 'notifications.*')
  await admin.flush()
  const message = aMessage('t9', 4, { actorId: 21 as never, tenantId: 22 as never }, true)
  await bus.publish(message)
  await bus.publish(message)
  for (const subject of ['natjobs.resp.21.r-t9', 'notifications.21', 'notifications.22']) {
    t.deepEqual((await manager.streams.info('natjobs', { subjects_filter: subject })).state.subjects, { [subject]: 1 })
  }
  // Other tests of this file publish at the same time.
  const told = await until('the message', () => heard.heard.find(({ subject }) => subject === 'natjobs.resp.21.r-t9'))
  const noticed = await until('both notices', () => {
    const subjects = [...new Set(notices.heard.map(({ subject }) => subject))].filter(
      (subject) => subject === 'notifications.21' || subject === 'notifications.22',
    )
    return subjects.length === 2 ? subjects : undefined
  })
  t.is(
    told.text,
    '{"id":"t9","status":"Running","msg":"line 4","data":{"big":12345678901234567890},"seq":4,"at":"2026-05-01T08:00:00.000Z","task":"t9"}',
  )
  t.deepEqual(noticed.toSorted(), ['notifications.21', 'notifications.22'])
  const stored = await manager.streams.getMessage('natjobs', { last_by_subj: 'natjobs.resp.21.r-t9' })
  t.is(stored?.header.get('Nats-Msg-Id'), 't9.4')
})

withNats('a person with credentials hears the own task and nothing of another tenant', async (t) => {
  const { service } = await started()
  const bus = await busOf(service)
  const [ada, eve] = [await newPerson(service), await newPerson(service)]
  const hers = await connectWith(await credentialsFrom(service, 'credentials', ada.token))
  const others = await connectWith(await credentialsFrom(service, 'credentials', eve.token))
  const own = listen(hers, 'natjobs.resp.r-t5')
  const notices = listen(hers, 'notifications')
  const foreign = listen(others, '>')
  const foreignProgress = listen(others, 'natjobs.resp.>')
  await hers.flush()
  await others.flush()
  await bus.publish(aMessage('t5', 1, { actorId: ada.id as never, tenantId: ada.id as never }, true))
  await bus.publish(aMessage('t6', 1, { actorId: eve.id as never, tenantId: eve.id as never }))
  await until('all', () =>
    own.heard.length > 0 && notices.heard.length > 0 && foreignProgress.heard.length > 0 ? true : undefined,
  )
  t.deepEqual(
    foreignProgress.heard.map(({ subject }) => subject),
    ['natjobs.resp.r-t6'],
  )
  t.deepEqual(foreign.heard, [])
  t.deepEqual(
    own.heard.map(({ subject }) => subject),
    ['natjobs.resp.r-t5'],
  )
})

withNats.serial('publishing is refused during an outage and resumes, also without streams', async (t) => {
  const { service, nats } = await started()
  const bus = await busOf(service)
  await bus.publish(aMessage('away', 1))
  await nats.kill()
  await t.throwsAsync(bus.publish(aMessage('away', 2)))
  t.notThrows(() => bus.wake())
  await nats.restart({ wipe: true })
  await until('it takes messages again', async () => {
    try {
      await bus.publish(aMessage('away', 2))
      return true
    } catch {
      return undefined
    }
  })
})
