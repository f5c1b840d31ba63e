import test from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { Unavailable } from '../../core/kernel/failure.ts'
import { makeGroupCommit, makeHandleUsageMessage } from '../../core/usage/events/reports.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { migratedMysqlUrl, migratedSqlitePath } from '../support/databases.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { addOwners, clusterUid, newObject, owner, recorderOn, setClock, tablesOf } from './event-world.ts'

const instant = '2026-11-22T12:00:00Z'
const batch = (count: number) => Array.from({ length: count }, () => newObject().created(instant))
const changesIn = async (db: SqlDatabase): Promise<number> => (await db.query((k) => k('usage_changes').select('object_id'))).length

test('a full disk refuses a report as a whole, and the same report is recorded once there is room', async (t) => {
  const db = await openDatabase(`sqlite:${await migratedSqlitePath()}`)
  t.teardown(() => db.close())
  await addOwners(db)
  const recorder = recorderOn(db, setClock(instant))
  await recorder.send(batch(1))
  const before = await tablesOf(db)
  const events = batch(1000)
  const limit = async (pages: number) => db.transaction(async (tx) => void (await tx.query((k) => k.raw(`pragma max_page_count = ${pages}`))))
  await limit(1)
  await t.throwsAsync(recorder.send(events), { instanceOf: Unavailable, message: /full/ })
  t.deepEqual(await tablesOf(db), before)
  // From the message bus it comes again later.
  const decode = () => ({ clusterUid, events })
  const handle = makeHandleUsageMessage({ reports: recorder.reports, decode, tally: recorder.tally, log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } })
  const message = { ownerId: owner, body: new Uint8Array(), deliveries: 20 }
  t.is((await handle(message)).kind, 'later')
  t.deepEqual(await tablesOf(db), before)
  await limit(1_000_000)
  t.true((await recorder.send(events)).every((result) => result === 'accepted'))
  t.deepEqual(await handle(message), { kind: 'done' })
  t.is(await changesIn(db), 1001)
})

if (!isSwitchedOff('mariadb'))
  test('a database that is cut off in the middle of a report has nothing of it, and takes it when it is sent again', async (t) => {
    const url = new URL(await migratedMysqlUrl())
    const direct = await openDatabase(url.toString())
    await addOwners(direct)
    const proxy = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
    url.port = String(proxy.port)
    const db = await openDatabase(url.toString())
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

test('group commit: what arrives during a run goes together, within the weight, and none fails for the fault of another', async (t) => {
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
  t.deepEqual(settled.map((each) => (each.status === 'fulfilled' ? each.value : (each.reason as Error).message)), ['done 1', 'done 2', 'done 30', 'done 5', '13', 'done 1', 'done 4'])
  t.deepEqual(runs, [[1, 2], [30], [5, 13, 1], [5], [13], [1], [4]])
  isAway = true
  runs.length = 0
  await Promise.allSettled([1, 2, 3].map(group))
  t.deepEqual(runs, [[1, 2, 3]], 'an outage is not tried for each')
})
