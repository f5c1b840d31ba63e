import test from 'ava'
import { lruCaches } from '../../../adapters/system/lru-caches.ts'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { Unavailable } from '../../../core/kernel/failure.ts'
import type { Log } from '../../../core/kernel/log.ts'
import type { EventReport } from '../../../core/usage/events/reports.ts'
import { makeGroupCommit, makeHandleUsageMessage } from '../../../core/usage/events/reports.ts'
import { isSwitchedOff } from '../../support/components/names.ts'
import { migratedMysqlUrl, migratedSqlitePath, openPatiently } from '../../support/databases.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { addOwners, clusterUid, newObject, otherOwner, owner, recorderOn, setClock, tablesOf } from './event-fixture.ts'

const instant = '2026-11-22T12:00:00Z'
const batch = (count: number) => Array.from({ length: count }, () => newObject().created(instant))
const changesIn = async (db: SqlDatabase): Promise<number> =>
  (await db.query((k) => k('usage_changes').select('object_id'))).length

const logTo = (lines: object[]): Log => {
  const add = (fields: object): void => void lines.push(fields)
  return { debug: add, info: add, warn: add, error: add }
}

test('a full disk refuses a report as a whole until there is room', async (t) => {
  const db = await openDatabase(`sqlite:${await migratedSqlitePath()}`)
  t.teardown(() => db.close())
  await addOwners(db)
  const recorder = recorderOn(db, setClock(instant))
  await recorder.send(batch(1))
  const before = await tablesOf(db)
  const events = batch(1000)
  const limit = async (pages: number) =>
    db.transaction(async (tx) => void (await tx.query((k) => k.raw(`pragma max_page_count = ${pages}`))))
  await limit(1)
  await t.throwsAsync(recorder.send(events), { instanceOf: Unavailable, message: /full/ })
  t.deepEqual(await tablesOf(db), before)
  // From the message bus it comes again later.
  const decode = () => ({ clusterUid, events })
  const handle = makeHandleUsageMessage({
    reports: recorder.reports,
    decode,
    counters: recorder.counters,
    clock: setClock(instant),
    caches: lruCaches,
    log: logTo([]),
  })
  const message = { ownerId: owner, body: new Uint8Array(), isAside: false, deliveries: 20 }
  t.is((await handle(message)).kind, 'later')
  t.deepEqual(await tablesOf(db), before)
  await limit(1_000_000)
  t.true((await recorder.send(events)).every((result) => result === 'accepted'))
  t.deepEqual(await handle(message), { kind: 'done' })
  t.is(await changesIn(db), 1001)
})

test('an unrecordable bus message is kept for 30 hours with bounded logging', async (t) => {
  const db = await openDatabase(`sqlite:${await migratedSqlitePath()}`)
  t.teardown(() => db.close())
  await addOwners(db)
  const clock = setClock(instant)
  const recorder = recorderOn(db, clock)
  const lines: object[] = []
  let report: Omit<EventReport, 'ownerId'>
  const handle = makeHandleUsageMessage({
    reports: recorder.reports,
    decode: () => report,
    counters: recorder.counters,
    clock,
    caches: lruCaches,
    log: logTo(lines),
  })
  const outcome = (deliveries = 1, isAside = false, ownerId = owner) =>
    handle({ ownerId, body: new Uint8Array(), isAside, deliveries })

  report = { clusterUid: '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0cff', events: batch(1) }
  t.deepEqual(await outcome(5), { kind: 'aside', seconds: 60 })
  const waits = []
  for (let deliveries = 1; deliveries < 36; deliveries++) {
    const next = await outcome(deliveries, true)
    waits.push(next.kind === 'aside' ? next.seconds : 0)
  }
  t.deepEqual(waits.slice(0, 8), [60, 120, 240, 480, 960, 1920, 3600, 3600])
  t.is(Math.round(waits.reduce((sum, seconds) => sum + seconds) / 3600), 30)
  t.is(recorder.counters.terminated, 0)
  t.is(lines.length, 1)
  t.deepEqual(await outcome(36, true), { kind: 'never' })
  t.is(recorder.counters.terminated, 1)

  report = { clusterUid, events: [newObject().created('2026-11-22T18:00:00Z'), ...batch(1)] }
  t.is((await outcome()).kind, 'aside')
  t.is(await changesIn(db), 1)
  clock.set('2026-11-22T18:00:00Z')
  t.deepEqual(await outcome(7, true), { kind: 'done' })
  t.is(await changesIn(db), 2)

  lines.length = 0
  report = { clusterUid, events: [{ ...newObject().created(instant), id: 'refused', milliCPU: -1 }, ...batch(1)] }
  for (let i = 0; i < 3; i++) t.deepEqual(await outcome(), { kind: 'done' })
  await outcome(1, false, otherOwner)
  t.is(lines.length, 2)
  t.like(lines[0], { owner, cluster: clusterUid, refused: 1, event: 'refused' })
  clock.set('2026-11-22T18:01:00Z')
  await outcome()
  t.is(lines.length, 3)
})

if (!isSwitchedOff('mariadb'))
  test('a database cut during a report keeps nothing of it', async (t) => {
    const url = new URL(await migratedMysqlUrl())
    const direct = await openPatiently(url.toString())
    await addOwners(direct)
    const proxy = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
    url.port = String(proxy.port)
    const db = await openPatiently(url.toString())
    t.teardown(async () => {
      await db.close()
      await proxy.close()
      await direct.close()
    })
    const recorder = recorderOn(db, setClock(instant))
    await recorder.send(batch(1))
    const before = await tablesOf(direct)
    const events = batch(100)
    const cut = proxy.cutAfterClientBytesMatching('insert into `usage_changes`')
    await t.throwsAsync(recorder.send(events), { instanceOf: Unavailable })
    await cut
    t.deepEqual(await tablesOf(direct), before)
    t.true((await recorder.send(events)).every((result) => result === 'accepted'))
    t.is(await changesIn(direct), 101)
  })

test('a group commit takes what arrived within its weight, and faults stay apart', async (t) => {
  const runs: number[][] = []
  let isAway = false
  const group = makeGroupCommit<number, string>({
    run: async (items) => {
      runs.push([...items])
      await new Promise((resolve) => setImmediate(resolve))
      if (isAway) throw new Unavailable('away')
      if (items.includes(13)) throw new Error('13')
      return items.map((item) => `done ${item}`)
    },
    weightOf: (item) => item,
    maxWeight: 20,
    maxRuns: 1,
    isCommon: (error) => error instanceof Unavailable,
  })
  const settled = await Promise.allSettled([1, 2, 30, 5, 13, 1, 4].map(group))
  t.deepEqual(
    settled.map((each) => (each.status === 'fulfilled' ? each.value : (each.reason as Error).message)),
    ['done 1', 'done 2', 'done 30', 'done 5', '13', 'done 1', 'done 4'],
  )
  t.deepEqual(runs, [[1, 2], [30], [5, 13, 1], [5], [13], [1], [4]])
  isAway = true
  runs.length = 0
  await Promise.allSettled([1, 2, 3].map(group))
  t.deepEqual(runs, [[1, 2, 3]], 'an outage is not tried for each')
})
