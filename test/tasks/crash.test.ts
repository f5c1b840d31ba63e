import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makePeople } from '../clusters/cluster-world.ts'
import type { Person } from '../clusters/cluster-world.ts'
import { needing } from '../support/components/needing.ts'
import type { ServiceProcess } from '../support/service-process.ts'
import { startServiceProcess } from '../support/service-process.ts'
import type { TestService } from '../support/service.ts'
import { startService, testEnvironment } from '../support/service.ts'
import { until } from '../support/until.ts'
import { eventsOf, openFeed, order, show, untilEnd, untilState } from './task-client.ts'
import type { Diary } from './tiny-plugin.ts'
import { makeTinyPlugin } from './tiny-plugin.ts'

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
  settings = { ...(await testEnvironment(folder, 'mysql')), MOORAGE_TASK_WORKERS: '2', MOORAGE_TEST_DIARY: diaryFile, MOORAGE_PLUGINS: fileURLToPath(new URL('filed-plugin.ts', import.meta.url)) }
  db = await openDatabase(settings['MOORAGE_DATABASE_URL'] ?? '')
  survivor = await startService({ settings: { ...settings, MOORAGE_PLUGINS: '' }, plugins: [makeTinyPlugin(diary)] })
  ada = await makePeople(survivor).person('ada')
})
test.after.always(async () => {
  await survivor?.stop()
  await db?.close()
  rmSync(folder, { recursive: true, force: true })
})

const written = (): readonly string[] => readFileSync(diaryFile, 'utf8').split('\n').filter((line) => line !== '')
const startVictim = (): Promise<ServiceProcess> => startServiceProcess({ settings })

/** Makes the time pass that a lease lasts. */
const leaseRunsOut = (ref: string): Promise<unknown> => db.query((k) => k('tasks').where({ ref }).update({ lease_until: 1 }))

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

const timesOf = (id: string) => ({
  runs: diary.runs.filter((ref) => ref === id).length + written().filter((line) => line === `run ${id}`).length,
  recoveries: diary.recoveries.filter((ref) => ref === id).length + written().filter((line) => line === `recover ${id}`).length,
})

test.serial('a task whose service was killed is recovered once, by another, and never done again', async (t) => {
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
  t.deepEqual(feed.events.map(({ event }) => event), events)
  t.deepEqual(events.slice(-2).map(({ status, data }) => [status, data?.['state']]), [['Running', undefined], ['Failed', 'unknown']])
  t.deepEqual(events.map(({ seq }) => seq), events.map((_, index) => index + 1))
  const next = await order(survivor, ada.token, { title: 'Next', lockKey: 'cluster/1/a/b' })
  t.is((await untilEnd(survivor, ada.token, next.id)).state, 'succeeded', 'the lock is free')
  await victim.stop()
})

test.serial('a worker that slept through its lease writes nothing when it wakes', async (t) => {
  const victim = await startVictim()
  const id = await runningAt(victim, { title: 'Asleep', waitMs: 1_500 })
  victim.signal('SIGSTOP')
  await leaseRunsOut(id)
  t.is((await untilEnd(survivor, ada.token, id)).state, 'unknown')
  const before = await eventsOf(survivor, ada.token, id)
  victim.signal('SIGCONT')
  await until('the sleeper has noticed', () => (/is another worker's now|another worker has it/.test(victim.stderr() + victim.stdout()) ? true : undefined))
  t.deepEqual(await eventsOf(survivor, ada.token, id), before)
  t.is((await show(survivor, ada.token, id)).state, 'unknown')
  t.deepEqual(timesOf(id), { runs: 1, recoveries: 1 })
  await victim.stop()
})

test.serial('a service that stops tells its handlers, gives back what broke off, and leaves alone what waits', async (t) => {
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
  const rest = await openFeed(survivor.baseUrl, `/api/v1/tasks/${id}/events`, ada.token, { 'last-event-id': feed.events.at(-1)?.id ?? '' })
  await rest.ended
  const all = await eventsOf(survivor, ada.token, id)
  t.deepEqual([...feed.events, ...rest.events].map(({ event }) => event), all, 'a reader who comes back elsewhere has missed nothing')
  await victim.stop()
})
