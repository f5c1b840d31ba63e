// process: own - starts a service as a process
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { TaskStorePort } from '../../core/tasks/ports.ts'
import type { BusFixture } from '../bus/bus-fixture.ts'
import { closeClients, connectWith, credentialsFrom, listen, startBusFixture } from '../bus/bus-fixture.ts'
import type { Person } from '../clusters/cluster-fixture.ts'
import { makePeople } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'
import type { TestService } from '../support/service.ts'
import { startService, testEnvironment } from '../support/service.ts'
import { until } from '../support/until.ts'
import { eventsOf, openFeed, order, show, untilEnd, untilState } from './task-client.ts'
import type { Diary } from './tiny-plugin.ts'
import { makeTinyPlugin } from './tiny-plugin.ts'
import { openPatiently } from '../support/databases.ts'

const test = needing('mariadb')

const folder = mkdtempSync(join(tmpdir(), 'moorage-tasks-crash-'))
const diaryFile = join(folder, 'diary')
const diary: Diary = { runs: [], recoveries: [], reasons: [] }
let settings: Readonly<Record<string, string>>
let db: SqlDatabase
/** In this process; its single worker is kept busy while the other instance must be the one that takes a task. */
let survivor: TestService
let ada: Person

test.before(async () => {
  writeFileSync(diaryFile, '')
  settings = {
    ...(await testEnvironment(folder, 'mysql')),
    MOORAGE_TASK_WORKERS: '2',
    MOORAGE_TEST_DIARY: diaryFile,
    MOORAGE_PLUGINS: fileURLToPath(new URL('filed-plugin.ts', import.meta.url)),
  }
  db = await openPatiently(settings['MOORAGE_DATABASE_URL'] ?? '')
  survivor = await startService({ settings: { ...settings, MOORAGE_PLUGINS: '' }, plugins: [makeTinyPlugin(diary)] })
  ada = await makePeople(survivor).person('ada')
})
test.after.always(async () => {
  await survivor?.stop()
  await db?.close()
  rmSync(folder, { recursive: true, force: true })
})

const written = (): readonly string[] =>
  readFileSync(diaryFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
const startVictim = (): Promise<ServiceProcess> => startServiceProcess({ settings })

/** Makes the time pass that a lease lasts. */
const leaseRunsOut = (ref: string): Promise<unknown> =>
  db.query((k) => k('tasks').where({ ref }).update({ lease_until: 1 }))

/** A task that the victim has begun: the survivor's workers are busy meanwhile. */
const runningAt = async (victim: ServiceProcess, body: object): Promise<string> => {
  const busy = []
  for (const name of ['x', 'y']) {
    const person = await makePeople(survivor).person(name)
    busy.push({ person, ...(await order(survivor, person.token, { title: 'Busy', untilCancelled: true })) })
  }
  for (const { person, id } of busy) await untilState(survivor, person.token, id, 'running')
  const { id } = await order(victim, ada.token, body)
  await until('the victim has begun', () => (written().includes(`run ${id}`) ? true : undefined))
  for (const { person, id: each } of busy) {
    await survivor.send('POST', `/api/v1/tasks/${each}/cancel`, { token: person.token })
    await untilEnd(survivor, person.token, each)
  }
  return id
}

/**
 * Stops a process at a time when no transaction is open on the database: the survivor would wait for the rows that one
 * has locked.
 */
const freeze = (victim: ServiceProcess): Promise<true> =>
  until('it is stopped between two transactions', async () => {
    victim.signal('SIGSTOP')
    const open = await db.query((k) =>
      k('information_schema.innodb_trx as t')
        .join('information_schema.processlist as p', 'p.id', 't.trx_mysql_thread_id')
        .whereRaw('p.db = database()')
        .whereRaw('p.id <> connection_id()')
        .select('p.id'),
    )
    if (open.length === 0) return true
    victim.signal('SIGCONT')
    return undefined
  })

const timesOf = (id: string) => ({
  runs: diary.runs.filter((ref) => ref === id).length + written().filter((line) => line === `run ${id}`).length,
  recoveries:
    diary.recoveries.filter((ref) => ref === id).length + written().filter((line) => line === `recover ${id}`).length,
})

test.serial("a killed service's task is recovered once by another instance", async (t) => {
  const victim = await startVictim()
  const id = await runningAt(victim, { title: 'Killed', lockKey: 'cluster/1/a/b', waitMs: 60_000 })
  const feed = await openFeed(survivor.baseUrl, `/api/v1/tasks/${id}/events`, ada.token)
  victim.signal('SIGKILL')
  t.is(await victim.exited, 'SIGKILL')
  t.is((await show(survivor, ada.token, id)).state, 'running')
  await leaseRunsOut(id)
  const task = await untilEnd(survivor, ada.token, id)
  t.is(task.state, 'unknown')
  t.deepEqual(timesOf(id), { runs: 1, recoveries: 1 })
  await feed.ended
  const events = await eventsOf(survivor, ada.token, id)
  t.deepEqual(
    feed.events.map(({ event }) => event),
    events,
  )
  t.deepEqual(
    events.slice(-2).map(({ status, data }) => [status, data?.['state']]),
    [
      ['Running', undefined],
      ['Failed', 'unknown'],
    ],
  )
  t.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  )
  const next = await order(survivor, ada.token, { title: 'Next', lockKey: 'cluster/1/a/b' })
  t.is((await untilEnd(survivor, ada.token, next.id)).state, 'succeeded', 'the lock is free')
  await victim.stop()
})

test.serial('a worker that slept through its lease writes nothing when it wakes', async (t) => {
  const victim = await startVictim()
  // Long enough for a busy machine to stop it in time.
  const waitMs = 10_000
  const id = await runningAt(victim, { title: 'Asleep', waitMs })
  const wakesAt = performance.now() + waitMs
  await freeze(victim)
  await leaseRunsOut(id)
  t.is((await untilEnd(survivor, ada.token, id)).state, 'unknown')
  const before = await eventsOf(survivor, ada.token, id)
  await until('the time in which it would have ended', () => (performance.now() > wakesAt ? true : undefined))
  victim.signal('SIGCONT')
  await until('the sleeper has noticed', () =>
    /taken over by another worker|another worker has it/.test(victim.stderr() + victim.stdout()) ? true : undefined,
  )
  t.deepEqual(await eventsOf(survivor, ada.token, id), before)
  t.is((await show(survivor, ada.token, id)).state, 'unknown')
  t.deepEqual(timesOf(id), { runs: 1, recoveries: 1 })
  await victim.stop()
})

test.serial('a stopping service returns interrupted tasks and leaves waiting ones', async (t) => {
  const victim = await startVictim()
  const id = await runningAt(victim, { title: 'Stopped', waitMs: 60_000 })
  const feed = await openFeed(victim.baseUrl, `/api/v1/tasks/${id}/events`, ada.token)
  await until('the lines', () => (feed.events.length >= 6 ? true : undefined))
  victim.signal('SIGTERM')
  t.is(await victim.exited, 0)
  await feed.ended
  t.true(written().includes('stop stopping'))
  t.is((await untilEnd(survivor, ada.token, id)).state, 'unknown', 'at once, before its lease would have run out')
  t.deepEqual(timesOf(id), { runs: 1, recoveries: 1 })
  const rest = await openFeed(survivor.baseUrl, `/api/v1/tasks/${id}/events`, ada.token, {
    'last-event-id': feed.events.at(-1)?.id ?? '',
  })
  await rest.ended
  const all = await eventsOf(survivor, ada.token, id)
  t.deepEqual(
    [...feed.events, ...rest.events].map(({ event }) => event),
    all,
    'a reader who comes back elsewhere has missed nothing',
  )
  await victim.stop()
})

const withNatsAndMariaDb = needing('nats', 'mariadb')

const diaryOf = (): Diary => ({ runs: [], recoveries: [], reasons: [] })
const [diaryA, diaryB] = [diaryOf(), diaryOf()]
let fixture: BusFixture
let a: TestService
let b: TestService

withNatsAndMariaDb.before(async () => {
  fixture = await startBusFixture('mysql')
  a = await startService({ settings: fixture.settings, plugins: [makeTinyPlugin(diaryA)] })
  b = await startService({ settings: fixture.settings, plugins: [makeTinyPlugin(diaryB)] })
})
withNatsAndMariaDb.after.always(async () => {
  await closeClients()
  await a?.stop()
  await b?.stop()
  await fixture?.stop()
})

withNatsAndMariaDb.serial('two instances run and report each task once, in order', async (t) => {
  const people = makePeople(a)
  const senders = await Promise.all(['ada', 'ben', 'cyd', 'dan'].map((name) => people.person(name)))
  const orders = await Promise.all(
    Array.from({ length: 80 }, async (_, i) => {
      const sender = senders[i % 4]!
      return {
        sender,
        ...(await order(i % 2 === 0 ? a : b, sender.token, { title: `Work ${i}`, lines: 2, waitMs: 20 })),
      }
    }),
  )
  for (const { id, sender } of orders) t.is((await untilEnd(a, sender.token, id)).state, 'succeeded')
  const runs = [...diaryA.runs, ...diaryB.runs]
  t.is(runs.length, 80)
  t.is(new Set(runs).size, 80)
  t.true(diaryA.runs.length > 0 && diaryB.runs.length > 0, `${diaryA.runs.length} and ${diaryB.runs.length}`)
  t.deepEqual([...diaryA.recoveries, ...diaryB.recoveries], [])
  const events = await eventsOf(b, orders[0]!.sender.token, orders[0]!.id)
  t.deepEqual(
    events.map(({ seq, status }) => `${seq} ${status}`),
    ['1 Pending', '2 Started', '3 Started', '4 Running', '5 Running', '6 Success', '7 Success'],
  )
})

withNatsAndMariaDb.serial('a client with bus credentials receives the whole task on its subject', async (t) => {
  const ada = await makePeople(a).person('ada')
  const hers = await connectWith(await credentialsFrom(a, 'credentials', ada.token))
  const responseId = '0b9d7c55-9f43-4a0e-8a3a-3a2d64b8a7b4'
  const subject = `natjobs.resp.${responseId}`
  const progress = listen(hers, subject)
  const notices = listen(hers, 'notifications')
  await hers.flush()
  const ordered = await order(a, ada.token, { title: 'Told', responseId, lines: 3 })
  t.is(ordered.subject, subject)
  await untilEnd(b, ada.token, ordered.id)
  const heard = () =>
    progress.heard.map(
      ({ text }) => JSON.parse(text) as { seq: number; status: string; msg: string; id: string; step?: string },
    )
  await until('its end', () =>
    heard().some(({ id, status }) => id === ordered.id && status === 'Success') ? true : undefined,
  )
  const once = [...new Map(heard().map((each) => [each.seq, each])).values()]
  t.deepEqual(
    once.map(({ seq, status, msg }) => `${seq} ${status} ${msg}`),
    [
      '1 Pending Told: waits for a worker',
      '2 Started Told started!',
      '3 Started Counting',
      '4 Running line 1',
      '5 Running line 2',
      '6 Running line 3',
      '7 Success Counting',
      '8 Success Told completed successfully!',
    ],
  )
  t.is(once[0]?.step, 'Told')
  await until('both notices', () => (notices.heard.length >= 2 ? true : undefined))
  t.deepEqual(
    [...new Set(notices.heard.map(({ text }) => (JSON.parse(text) as { status: string }).status))],
    ['Started', 'Success'],
  )
})

withNatsAndMariaDb.serial('events and cancellations of one instance reach the other at once', async (t) => {
  const ada = await makePeople(a).person('ada')
  const { id } = await order(a, ada.token, { title: 'Elsewhere', untilCancelled: true })
  await untilState(a, ada.token, id, 'running')
  const [far, near] = diaryA.runs.includes(id) ? [b, a] : [a, b]
  const feed = await openFeed(far.baseUrl, `/api/v1/tasks/${id}/events`, ada.token)
  await until('the lines', () => (feed.events.length >= 6 ? true : undefined))
  t.is((await far.send('POST', `/api/v1/tasks/${id}/cancel`, { token: ada.token })).status, 202)
  await feed.ended
  t.like(feed.events.at(-1)?.event, { status: 'Failed', data: { state: 'cancelled' } })
  t.is((await untilEnd(near, ada.token, id)).state, 'cancelled')
  t.true([...diaryA.reasons, ...diaryB.reasons].includes('cancelled'))
})

withNatsAndMariaDb.serial('tasks continue without the bus, and their events follow in order', async (t) => {
  const ada = await makePeople(a).person('ada')
  const given = await credentialsFrom(a, 'credentials', ada.token)
  await fixture.nats.kill()
  const { id, subject } = await order(a, ada.token, { title: 'Unheard', lines: 2 })
  t.is((await untilEnd(b, ada.token, id)).state, 'succeeded')
  await fixture.nats.restart()
  const hers = await until('the server lets her in', async () => connectWith(given).catch(() => undefined))
  const progress = listen(hers, subject)
  const admin = await connectWith(await credentialsFrom(a, 'admin_credentials', a.adminToken))
  const found = await a.running.container.resolve(TaskStorePort).find(id)
  const { jetstream, jetstreamManager, DeliverPolicy } = await import('@nats-io/jetstream')
  const manager = await jetstreamManager(admin)
  const of = `natjobs.resp.${found?.task.actorId}.${found?.task.responseId}`
  await until('all of it is stored', async () => {
    const info = await manager.streams.info('natjobs', { subjects_filter: of }).catch(() => undefined)
    return info?.state.subjects?.[of] === 7 ? true : undefined
  })
  const consumer = await jetstream(admin).consumers.get('natjobs', {
    filter_subjects: of,
    deliver_policy: DeliverPolicy.All,
  })
  const seqs: number[] = []
  for await (const message of await consumer.fetch({ max_messages: 7, expires: 5_000 }))
    seqs.push(message.json<{ seq: number }>().seq)
  t.deepEqual(seqs, [1, 2, 3, 4, 5, 6, 7])
  t.true(progress.heard.length <= 7)
})
