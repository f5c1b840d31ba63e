import { isDeepStrictEqual } from 'node:util'
import test from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { makeSqlUsageInputs } from '../../adapters/sql/usage/usage-inputs.ts'
import { daySeconds } from '../../core/usage/month.ts'
import { callOf } from '../sql/call.ts'
import { isSwitchedOff } from '../support/components/names.ts'
import { migratedMysqlUrl, patient } from '../support/databases.ts'
import { end, fillMonth, makeMonthsFixture, month, second, start } from './months-fixture.ts'
import { secondsOfMonth, usageBySecond } from './months-oracle.ts'
import { afterFinal, closed, closeInput, objectsOf, onEachFixture } from './months-close-fixture.ts'

onEachFixture('objects are read in order and used what an addition second by second gives', async (t, fixture) => {
  const { a, contract } = await fillMonth(fixture)
  const { objects } = await objectsOf(fixture)
  t.deepEqual(
    objects.map(({ object }) => object.uid.slice(0, 1) + object.uid.slice(-1)),
    ['10', '11', '21'],
  )
  const modes = [{ at: second(start + 15 * daySeconds), eventId: 'm', mode: 'prod' as const }]
  const coverages = [
    {
      contractId: contract,
      termsNumber: 1,
      boundFrom: second(start + 3600),
      from: second(start + 3600),
      to: second(end),
    },
  ]
  const occupied = [
    [{ from: start + 7200, to: end, milliCpu: 100, memoryMib: 10 }],
    [
      { from: start, to: start + 10 * daySeconds, milliCpu: 500, memoryMib: 1024 },
      { from: start + 10 * daySeconds, to: end, milliCpu: 1500, memoryMib: 2048 },
    ],
    [{ from: start + 10 * daySeconds, to: start + 10 * daySeconds + 12_345, milliCpu: 333, memoryMib: 777 }],
  ]
  t.deepEqual(
    objects.map(({ segments }) =>
      segments.map(({ from, to, milliCpu, memoryMib }) => ({
        from: Number(from),
        to: Number(to),
        milliCpu,
        memoryMib,
      })),
    ),
    occupied,
  )
  for (const { object, clusterUid, parts, segments } of objects) {
    const ownSeconds = secondsOfMonth(
      month,
      [{ from: second(start), to: second(end) }],
      clusterUid === a.uid ? modes : [],
      clusterUid === a.uid ? coverages : [],
    )
    const expected = usageBySecond(
      month,
      ownSeconds,
      segments.map((each) => ({ ...each, cutAt: each.to })),
      object.trialEndsAt,
    )
    t.deepEqual(
      new Map(
        parts.map((part) => [`${part.contractId} ${part.use}`, [part.milliCpuSeconds, part.mebibyteSeconds] as const]),
      ),
      new Map([...expected.parts].toSorted()),
    )
  }
})

onEachFixture('a thing that did not run in the month is not in its report', async (t, fixture) => {
  const { a, kind } = await fillMonth(fixture)
  // Lost before the month began, and one of a cluster that was silent.
  await fixture.object(a.id, kind, [{ from: start, to: end, cutAt: start, milliCpu: 500, memoryMib: 1 }])
  const silent = await fixture.cluster()
  await fixture.db.query((k) => k('usage_presence').where('cluster_id', silent.id).delete())
  await fixture.object(silent.id, kind, [{ from: start, to: end, milliCpu: 500, memoryMib: 1 }])
  fixture.setNow(afterFinal)
  t.is((await closed(fixture.close(callOf(), closeInput))).objectCount, 3)
  for (const view of ['objects-usage-view', 'clusters-usage-view'] as const) {
    const json = (await fixture.shown(view))?.json as {
      readonly items: readonly unknown[]
      readonly totals: { readonly objectCount: number }
    }
    t.deepEqual([json.items.length, json.totals.objectCount], [view === 'objects-usage-view' ? 3 : 2, 3])
  }
})

onEachFixture(
  'what an object occupied ends where its cluster falls silent, as what is billed does',
  async (t, fixture) => {
    const { a, kind } = await fillMonth(fixture)
    const { uid } = await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 1000, memoryMib: 1024 }])
    const hours = Buffer.alloc(93, 0)
    hours[0] = 0xff
    await fixture.db.query((k) => k('usage_presence').where('cluster_id', a.id).update({ hours }))
    const object = (await objectsOf(fixture)).objects.find((each) => each.object.uid === uid)
    const occupied = object?.segments.reduce((sum, { from, to, milliCpu }) => sum + BigInt((to - from) * milliCpu), 0n)
    t.is(
      occupied,
      object?.parts.reduce((sum, { milliCpuSeconds }) => sum + milliCpuSeconds, 0n),
    )
    t.true(occupied !== undefined && occupied < BigInt(end - start) * 1000n)
  },
)

onEachFixture('an object that went silent is cut by the close itself, whenever the job ran', async (t, fixture) => {
  const { a, kind } = await fillMonth(fixture)
  const { id } = await fixture.object(a.id, kind, [{ from: start, to: end, milliCpu: 1000, memoryMib: 1024 }])
  const silentFrom = start + 5 * daySeconds
  await fixture.db.query((k) =>
    k('usage_objects')
      .where({ id })
      .update({ sends_heartbeats: true, last_heard_day: silentFrom / daySeconds - 1 }),
  )
  await closed(fixture.closeWith({ gather: fixture.gatherWith({ settle: fixture.settle }) })(callOf(), closeInput))
  const cut = await fixture.db.query<{ readonly cut_at: number }>((k) =>
    k('usage_intervals').where({ object_id: id, month }).select('cut_at'),
  )
  t.deepEqual(
    cut.map((each) => Number(each.cut_at)),
    [silentFrom],
  )
})

onEachFixture('a cluster with more than is kept in memory gives the same', async (t, fixture) => {
  const { a, kind } = await fillMonth(fixture)
  for (let index = 0; index < 30; index += 1)
    await fixture.object(
      a.id,
      kind,
      Array.from({ length: 40 }, (_, n) => ({
        from: start + n * 60,
        to: start + n * 60 + 60,
        milliCpu: n,
        memoryMib: index,
      })),
    )
  const whole = await objectsOf(fixture)
  t.is(whole.objects.length, 33)
  const lookedUp = await objectsOf(fixture, makeSqlUsageInputs(fixture.db, { maxTextLength: 100 }))
  // A difference between so many values takes AVA minutes to show.
  const plain = ({ objects, inputHash }: typeof whole) => [
    inputHash,
    objects.map(({ object, clusterUid, parts, dailyEvents, segments, modes }) => ({
      object,
      clusterUid,
      parts,
      dailyEvents,
      segments,
      modes,
    })),
  ]
  t.true(isDeepStrictEqual(plain(lookedUp), plain(whole)))
})

if (!isSwitchedOff('mariadb'))
  test('a server that cuts long texts off, as MySQL does at 1 KiB, gives the same months', async (t) => {
    const url = await migratedMysqlUrl()
    const db = await openDatabase(url, { mysql: patient })
    // One connection, whose session has the setting.
    const short = await openDatabase(url, { mysql: { ...patient, connectionLimit: 1 } })
    t.teardown(async () => {
      await short.close()
      await db.close()
    })
    const fixture = await makeMonthsFixture(db)
    const { a, kind } = await fillMonth(fixture)
    for (const count of [1, 2, 18, 19, 20, 40])
      await fixture.object(
        a.id,
        kind,
        Array.from({ length: count }, (_, n) => ({
          from: start + n * 60,
          to: start + n * 60 + 60,
          milliCpu: n,
          memoryMib: count,
        })),
      )
    const whole = await objectsOf(fixture)
    t.is(whole.objects.length, 9)
    for (const length of [4, 64, 1024]) {
      await short.query((k) => k.raw(`set session group_concat_max_len = ${length}`))
      t.deepEqual(await short.query((k) => k.raw('select @@group_concat_max_len as length')), [{ length }])
      // Nothing is kept from the session before.
      for (const options of [{}, { maxTextLength: 100 }])
        t.true(isDeepStrictEqual(await objectsOf(fixture, makeSqlUsageInputs(short, options)), whole), `${length}`)
    }
  })
