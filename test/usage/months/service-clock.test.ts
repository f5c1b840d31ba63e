import { randomUUID } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { daySeconds, laterByMonths } from '../../../core/usage/month.ts'
import { listDueMonths, makeCloseDueMonths } from '../../../core/usage/months/close.ts'
import { callOf } from '../../sql/call.ts'
import { eachDatabase } from '../../support/databases.ts'
import { addOwners, clusterHeard, newObject, recorderOn, setClock, tablesOf } from '../events/event-fixture.ts'
import { end, fillMonth, makeMonthsFixture, month, owner, start, type MonthsFixture } from '../months-fixture.ts'

/** The clock of the service and of its database, as they start with it, is ahead for a while and is then set right. */

const beforeClock = '2026-11-20T00:00:00Z'

for (const database of eachDatabase()) {
  const onDatabase = (title: string, run: (t: ExecutionContext, db: SqlDatabase) => Promise<void>): void =>
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      try {
        await run(t, db)
      } finally {
        await db.close()
      }
    })
  const onMonths = (title: string, run: (t: ExecutionContext, fixture: MonthsFixture) => Promise<void>): void =>
    onDatabase(title, async (t, db) => run(t, await makeMonthsFixture(db)))

  onDatabase(
    'intervals that were continued into later months follow what is reported after the clock was set right',
    async (t, db) => {
      await addOwners(db)
      const objects = {
        deleted: newObject(),
        resized: newObject(),
        later: newObject({ createdAt: '2026-11-21T00:00:00Z' }),
      }
      const report = async (ahead: string | undefined) => {
        const clock = setClock(beforeClock)
        const recorder = recorderOn(db, clock)
        await recorder.send([
          objects.deleted.created('2026-11-19T00:00:00Z'),
          objects.resized.created('2026-11-19T00:00:00Z'),
          clusterHeard('2026-11-19T00:00:00Z'),
        ])
        if (ahead !== undefined) {
          clock.set(ahead)
          await recorder.carry()
        }
        clock.set('2026-11-21T00:00:00Z')
        await recorder.carry()
        await recorder.send([
          objects.deleted.deleted('2026-11-21T00:00:00Z'),
          objects.resized.resized('2026-11-21T00:00:00Z', 2, 7),
          objects.later.created('2026-11-21T00:00:00Z'),
        ])
        clock.set('2026-12-01T01:00:00Z')
        await recorder.carry()
        return (await tablesOf(db))['usage_intervals']
      }
      const expected = await report(undefined)
      for (const table of ['usage_intervals', 'usage_changes', 'usage_objects', 'usage_presence', 'usage_clusters'])
        await db.query((k) => k(table).delete())
      t.is(expected?.length, 6)
      t.deepEqual(await report('2026-12-30T00:00:00Z'), expected)
    },
  )

  onDatabase(
    'an instance that reads the clock just before the end of a month leaves what another one has continued',
    async (t, db) => {
      await addOwners(db)
      const clock = setClock(beforeClock)
      const recorder = recorderOn(db, clock)
      await recorder.send([newObject().created('2026-11-19T00:00:00Z')])
      clock.set('2026-12-01T00:00:00Z')
      await recorder.carry()
      const continued = await tablesOf(db)
      clock.set('2026-11-30T23:59:59Z')
      await recorder.carry()
      t.deepEqual(await tablesOf(db), continued)
    },
  )

  onDatabase('nothing is removed because of the clock alone', async (t, db) => {
    await addOwners(db)
    const clock = setClock(beforeClock)
    const recorder = recorderOn(db, clock)
    await recorder.expire()
    const [kept, deleted] = [newObject(), newObject()]
    await recorder.send([
      kept.created('2026-11-19T00:00:00Z'),
      { ...kept.created('2026-11-19T00:00:00Z'), milliCPU: 5 },
      deleted.created('2026-11-19T00:00:00Z'),
      deleted.deleted('2026-11-19T01:00:00Z'),
    ])
    const [tables, conflicts] = [await tablesOf(db), await db.query((k) => k('usage_conflicts').select('id'))]
    for (const wrong of ['2028-12-30T00:00:00Z', '2099-01-01T00:00:00Z', '1970-01-01T00:00:00Z', beforeClock]) {
      clock.set(wrong)
      await recorder.expire()
      t.deepEqual(await tablesOf(db), tables, wrong)
      t.deepEqual(await db.query((k) => k('usage_conflicts').select('id')), conflicts, wrong)
    }
  })

  onMonths(
    'a provisional month is computed again when it has really ended, also from the same events',
    async (t, fixture) => {
      await fillMonth(fixture)
      fixture.setNow(end + 2 * daySeconds)
      await fixture.close(callOf(), { ownerId: owner, month })
      fixture.setNow(end - 8 * daySeconds)
      t.deepEqual(await listDueMonths(fixture.deps.months, new Date((end - 8 * daySeconds) * 1000)), [])
      fixture.setNow(end + 3600)
      const failures: unknown[] = []
      const job = makeCloseDueMonths({
        months: fixture.deps.months,
        close: fixture.close,
        clock: fixture.deps.clock,
        onFailure: (_due, error) => void failures.push(error),
      })
      await job(callOf())
      t.deepEqual(
        [(await fixture.deps.months.newest(owner, month))?.generatedAt.getTime(), failures],
        [(end + 3600) * 1000, []],
      )
      t.deepEqual(await listDueMonths(fixture.deps.months, new Date((end + 3600) * 1000)), [])
    },
  )

  onMonths(
    'a month that was made final before its end is not taken for final: the job says so until it is reopened',
    async (t, fixture) => {
      const { a, kind } = await fillMonth(fixture)
      fixture.setNow(end + 20 * daySeconds)
      t.like(await fixture.close(callOf(), { ownerId: owner, month }), { right: { month: { status: 'final' } } })
      await fixture.object(a.id, kind, [{ from: end - 3600, to: end, milliCpu: 3000, memoryMib: 1 }], {
        uid: randomUUID(),
      })
      fixture.setNow(end + 3600)
      const failures: unknown[] = []
      const job = makeCloseDueMonths({
        months: fixture.deps.months,
        close: fixture.close,
        clock: fixture.deps.clock,
        onFailure: (_due, error) => void failures.push(error),
      })
      await job(callOf())
      t.true(failures[0] instanceof Error, 'the log shows the message of an error only')
      t.is(
        (failures[0] as Error).message,
        'Revision 1 of 2026-10 was made final by a clock that was ahead, at 2026-11-21T00:00:00.000Z. It lacks later events: reopen the month.',
      )
      t.like(await fixture.close(callOf(), { ownerId: owner, month, as: 'reopen' }), {
        right: { objectCount: 4, month: { revision: 2, status: 'provisional' } },
      })
      await job(callOf())
      t.is(failures.length, 1)
    },
  )

  onMonths('a month whose intervals are no longer kept is not replaced by an empty one', async (t, fixture) => {
    await fillMonth(fixture)
    fixture.setNow(end + 4 * daySeconds)
    await fixture.close(callOf(), { ownerId: owner, month })
    fixture.setNow(start + 450 * daySeconds)
    for (const input of [
      { ownerId: owner, month, as: 'reopen' as const },
      { ownerId: owner, month: laterByMonths(month, -1) },
    ]) {
      const refused = await fixture.close(callOf(), input)
      t.is(isLeft(refused) ? refused.left.tag : 'closed', 'UsageMonthNotClosable')
    }
    t.like(await fixture.close(callOf(), { ownerId: owner, month }), {
      right: { isNew: false, month: { revision: 1, status: 'final' } },
    })
    t.is((await fixture.shown('objects-usage-view'))?.revision, 1)
  })
}
