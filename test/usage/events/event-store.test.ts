// process: waiting - uses components
import { randomBytes, randomUUID } from 'node:crypto'
import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { ReportedEvent } from '../../../core/usage/events/types.ts'
import type { MonthKey } from '../../../core/usage/types.ts'
import { countingRunner } from '../../authz/counting-runner.ts'
import { casesOf } from '../../support/cases-of.ts'
import { needing } from '../../support/components/needing.ts'
import { borrowMysqlDatabase, eachDatabase, openPatiently } from '../../support/databases.ts'
import {
  addOwners,
  clusterHeard,
  clusterUid,
  modeChanged,
  newObject,
  otherOwner,
  owner,
  recorderOn,
  secondCluster,
  setClock,
  tablesOf,
} from './event-fixture.ts'

const instant = '2026-11-22T12:00:00Z'

/** A stream of events that do not contradict each other, with times around the end of a month. */
const streamOf = (seeds: readonly number[]): readonly ReportedEvent[] => {
  const objects = Array.from({ length: 4 }, (_, n) =>
    newObject({
      uid: `00000000-0000-4000-8000-00000000000${n}`,
      createdAt: `2026-10-2${n}T0${n}:00:00Z`,
      trial: n === 1,
      product: n === 2 ? 'vaultProduct' : 'dbProduct',
    }),
  )
  const time = (seed: number): string => new Date(Date.UTC(2026, 9, 29) + (seed % 400) * 1_000_000).toISOString()
  return seeds.map((seed, n) => {
    const object = objects[seed % 4]
    const id = `event-${n}`
    if (object === undefined) throw new Error('four objects')
    const kinds = [
      () => object.created(object.created('').createdAt ?? '', 1000 + (seed % 4)),
      () => object.resized(time(seed), n + 2, seed % 5000),
      () => object.resized(time(seed), n + 2, seed % 3),
      () => (seed % 3 === 0 ? object.deleted(time(seed), n + 2) : object.heard(time(seed))),
      () => object.heard(time(seed)),
      () => clusterHeard(time(seed)),
      () => modeChanged(time(seed), seed % 2 === 0 ? 'prod' : 'qa'),
      () => ({
        id,
        type: 'namespace.observed',
        time: time(seed),
        namespace: 'shop',
        namespaceUID: object.uid,
        createdAt: '2026-01-01T00:00:00Z',
        labels: { seed: String(seed % 3) },
      }),
    ]
    return { ...(kinds[(seed >> 3) % kinds.length]?.() ?? clusterHeard(time(seed))), id }
  })
}

for (const database of eachDatabase()) {
  const onBench = casesOf(`${database.name}: events`, async () => {
    const db = await database.open()
    await addOwners(db)
    const clock = setClock(instant)
    return { db, clock, recorder: recorderOn(db, clock), close: () => db.close() }
  })
  const countOf = async (db: SqlDatabase, table: string): Promise<number> =>
    (await db.query((k) => k(table).select('*'))).length

  onBench(
    'each change is stored once; the same key with another content is a conflict, and the first one counts',
    async (t, { db, recorder }) => {
      const object = newObject()
      const created = object.created('2026-11-10T00:00:00Z')
      t.deepEqual(
        await recorder.send([created, { ...created, id: 'again' }, object.resized('2026-11-11T00:00:00Z', 2, 2000)]),
        ['accepted', 'repeated', 'accepted'],
      )
      const before = await tablesOf(db)
      t.deepEqual(
        await recorder.send([
          created,
          { ...created, milliCPU: 9 },
          { ...created, name: 'other' },
          { ...object.heard(created.time), namespace: 'other' },
        ]),
        ['repeated', 'conflict', 'conflict', 'conflict'],
      )
      t.deepEqual(await tablesOf(db), before)
      t.is(await countOf(db, 'usage_conflicts'), 3)
      t.like(recorder.counters, { accepted: 2, repeated: 2, conflict: 3 })
      const intervals = (await tablesOf(db))['usage_intervals']?.map((row) => row.split(' ').slice(1, 7).join(' '))
      const [from, resized, end] = ['2026-11-01', '2026-11-11', '2026-12-01'].map(
        (day) => Date.parse(`${day}T00:00:00Z`) / 1000,
      )
      t.deepEqual(intervals, [
        `202611 ${from} ${resized} ${resized} 1000 1024`,
        `202611 ${resized} ${end} ${end} 2000 2048`,
      ])
    },
  )

  onBench(
    'a report with events that are refused changes nothing but what its valid events say',
    async (t, { db, recorder }) => {
      const object = newObject()
      const before = await tablesOf(db)
      t.deepEqual(
        await recorder.send([
          object.created('2026-11-23T12:00:00Z'),
          object.created('2026-10-01T00:00:00Z'),
          { ...object.created(instant), milliCPU: -1 },
        ]),
        ['too-early', 'too-late', 'invalid'],
      )
      t.deepEqual(await tablesOf(db), before)
      t.deepEqual(await recorder.send([{ ...object.created(instant), memoryMiB: 2 ** 40 }, object.created(instant)]), [
        'invalid',
        'accepted',
      ])
      t.is(await countOf(db, 'usage_changes'), 1)
    },
  )

  onBench(
    'a cluster that the owner does not know is refused, and two owners with the same cluster count separately',
    async (t, { db, recorder }) => {
      const unknown = await recorder.reports.record({
        ownerId: owner,
        clusterUid: randomUUID(),
        events: [clusterHeard(instant)],
      })
      t.true(isLeft(unknown) && unknown.left.tag === 'UsageClusterUnknown')
      const malformed = await recorder.reports.record({
        ownerId: owner,
        clusterUid: 'production',
        events: [clusterHeard(instant)],
      })
      t.true(isLeft(malformed) && malformed.left.tag === 'UsageEventsInvalid')
      t.is(await countOf(db, 'usage_clusters'), 0)
      const object = newObject()
      const created = object.created(instant)
      t.deepEqual(await recorder.send([created]), ['accepted'])
      t.deepEqual(await recorder.send([created], clusterUid.toUpperCase(), otherOwner), ['accepted'])
      t.deepEqual(await recorder.send([created], secondCluster), ['accepted'])
      t.is(await countOf(db, 'usage_objects'), 3)
      const boundTo = randomUUID()
      await db.query((k) =>
        k('contracts').insert({
          id: 1,
          owner_id: owner,
          name: 'c',
          product: 'database',
          features: '[]',
          emails: '{}',
          quota: '{}',
          restrictions: '',
          starts_at: 0,
          ends_at: 1,
          allows_offline: 0,
          binds_new_clusters: 0,
          disables_analytics: 0,
          enables_client_billing: 0,
          created_at: 0,
          updated_at: 0,
        }),
      )
      await db.query((k) =>
        k('contract_clusters').insert({
          contract_id: 1,
          owner_id: owner,
          cluster_uid: boundTo,
          display_name: 'bound',
          bound_at: 0,
        }),
      )
      t.deepEqual(await recorder.send([clusterHeard(instant)], boundTo), ['accepted'])
    },
  )

  onBench(
    'any order, repetition, division into reports and restart gives the same tables',
    async (t, { db, clock }) => {
      const runs = database.name === 'sqlite' ? 12 : 2
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat(100_000), { minLength: 20, maxLength: 40 }),
          fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
          async (seeds, order) => {
            const events = streamOf(seeds)
            const empty = async () => {
              for (const table of [
                'usage_clusters',
                'usage_objects',
                'usage_changes',
                'usage_intervals',
                'usage_modes',
                'usage_presence',
                'usage_namespaces',
                'usage_conflicts',
              ])
                await db.query((k) => k(table).delete())
            }
            const inCluster = (tables: Awaited<ReturnType<typeof tablesOf>>) =>
              Object.entries(tables).map(([table, rows]) => [
                table,
                table === 'usage_modes' || table === 'usage_presence' || table === 'usage_namespaces'
                  ? rows.map((row) => row.slice(row.indexOf(' ')))
                  : rows,
              ])
            await empty()
            const results = await recorderOn(db, clock).send(events)
            t.false(results.includes('conflict'))
            const expected = inCluster(await tablesOf(db))
            await empty()
            const shuffled = [...events, ...events.slice(0, 15)]
              .map((event, n) => [order[n % order.length] ?? 0, event] as const)
              .sort(([a], [b]) => a - b)
              .map(([, event]) => event)
            let process = recorderOn(db, clock)
            for (let at = 0; at < shuffled.length;) {
              const count = 1 + ((order[at % order.length] ?? 0) % 7)
              await process.send(shuffled.slice(at, at + count))
              at += count
              if (count % 3 === 0) process = recorderOn(db, clock)
            }
            t.deepEqual(inCluster(await tablesOf(db)), expected)
          },
        ),
        { numRuns: runs },
      )
    },
  )

  onBench(
    'what was heard already costs no statement; a change costs a constant number of them',
    async (t, { db, clock }) => {
      const runners = [countingRunner(db)]
      const [outside] = runners
      const counted: SqlDatabase = {
        ...db,
        ...outside,
        transaction: (work) =>
          db.transaction((tx) => {
            const within = countingRunner(tx)
            runners.push(within)
            return work(within)
          }),
      }
      const counting = { taken: () => runners.reduce((sum, runner) => sum + runner.taken(), 0) }
      const recorder = recorderOn(counted, clock)
      const objects = Array.from({ length: 1000 }, () => newObject())
      await recorder.send(objects.slice(0, 10).map((object) => object.created(instant)))
      counting.taken()
      await recorder.send(objects.slice(10).map((object) => object.created(instant)))
      const forMany = counting.taken()
      t.true(forMany <= 60, `${forMany} statements for 990 objects`)
      await recorder.send(objects.map((object) => object.heard(instant)))
      counting.taken()
      await recorder.send([
        ...objects.slice(0, 900).map((object) => object.heard('2026-11-22T12:00:30Z')),
        clusterHeard(instant),
      ])
      t.is(counting.taken(), 0)
    },
  )

  onBench(
    'objects that are created are not looked up first; if one exists, all is done again with what the database has',
    async (t, { db, clock, recorder }) => {
      let transactions = 0
      const counted: SqlDatabase = { ...db, transaction: (work) => ((transactions += 1), db.transaction(work)) }
      const taken = (): number => {
        const count = transactions
        transactions = 0
        return count
      }
      const [known, fresh] = [
        Array.from({ length: 5 }, () => newObject()),
        Array.from({ length: 700 }, () => newObject()),
      ]
      await recorder.send(known.flatMap((object) => [object.created(instant), object.resized(instant, 2, 2)]))
      const other = recorderOn(counted, clock)
      const created = [...fresh, ...known].map((object) => object.created(instant))
      const results = await other.send([...created, known[0]?.created(instant, 7) ?? clusterHeard(instant)])
      t.deepEqual(results, [...fresh.map(() => 'accepted'), ...known.map(() => 'repeated'), 'conflict'])
      t.is(taken(), 2)
      const tables = await tablesOf(db)
      t.deepEqual(
        [tables['usage_objects']?.length, tables['usage_changes']?.length, tables['usage_intervals']?.length],
        [705, 710, 710],
      )
      t.true((await other.send(created)).every((result) => result === 'repeated'))
      t.is(taken(), 1, 'a cluster of which creations come again is looked up first')
      t.deepEqual(await tablesOf(db), tables)
      t.true(
        (await other.send(Array.from({ length: 3 }, () => newObject().created(instant)))).every(
          (result) => result === 'accepted',
        ),
      )
      t.true(
        (await other.send([newObject().created(instant), clusterHeard(instant)])).every(
          (result) => result === 'accepted',
        ),
      )
      t.is(taken(), 2)
      t.is(await countOf(db, 'usage_objects'), 709)
    },
  )

  onBench(
    'an object that exists is continued in the new month, once; one that was deleted or is no longer heard is not',
    async (t, { db, clock, recorder }) => {
      const [exists, deleted, silent] = [newObject(), newObject(), newObject()]
      await recorder.send([
        exists.created(instant),
        deleted.created(instant),
        deleted.deleted('2026-11-22T12:00:10Z'),
        silent.created(instant),
        silent.heard(instant),
      ])
      const rowsOf = async (month: number): Promise<readonly string[]> =>
        ((await tablesOf(db))['usage_intervals'] ?? [])
          .filter((row) => row.split(' ')[1] === String(month))
          .map((row) => row.split(' ')[0] ?? '')
          .sort()
      clock.set('2027-01-02T00:00:00Z')
      await recorder.carry()
      await recorder.carry()
      t.deepEqual(await rowsOf(202612), [exists.uid, silent.uid].sort())
      t.deepEqual(await rowsOf(202701), [exists.uid], 'the other was last heard more than 35 days before January')
      const resized = exists.resized('2027-01-01T10:00:00Z', 2, 5)
      await recorder.send([resized, silent.heard('2027-01-02T00:00:00Z')])
      t.deepEqual(await rowsOf(202701), [exists.uid, exists.uid, silent.uid].sort())
      const tables = await tablesOf(db)
      const fresh = recorderOn(db, clock)
      await fresh.carry()
      t.deepEqual(await fresh.send([resized]), ['repeated'])
      t.deepEqual(await tablesOf(db), tables)
    },
  )

  onBench(
    'an object that was not heard for a day while its cluster was is cut, until it is heard again',
    async (t, { db, clock, recorder }) => {
      const [silent, heard, quiet] = [newObject(), newObject(), newObject()]
      await recorder.send(
        [silent, heard].flatMap((object) => [
          object.created('2026-11-05T10:00:00Z'),
          object.heard('2026-11-05T10:00:00Z'),
        ]),
      )
      await recorder.send([quiet.created('2026-11-05T10:00:00Z'), heard.heard(instant)])
      const cuts = async (): Promise<Record<string, string>> =>
        Object.fromEntries(
          ((await tablesOf(db))['usage_intervals'] ?? []).map((row) => [
            row.split(' ')[0] ?? '',
            new Date(Number(row.split(' ')[4]) * 1000).toISOString(),
          ]),
        )
      await recorder.cut(202611 as MonthKey)
      const end = '2026-12-01T00:00:00.000Z'
      t.deepEqual(await cuts(), { [silent.uid]: '2026-11-06T00:00:00.000Z', [heard.uid]: end, [quiet.uid]: end })
      clock.set('2026-11-23T12:00:00Z')
      await recorder.send([silent.heard('2026-11-23T11:00:00Z')])
      await recorder.cut(202611 as MonthKey)
      t.is((await cuts())[silent.uid], end)
    },
  )

  onBench(
    'months that are no longer kept go, with conflicts after 35 days and objects that were deleted before',
    async (t, { db, clock, recorder }) => {
      const [old, kept] = [newObject(), newObject()]
      await recorder.expire()
      await recorder.send([
        old.created(instant),
        old.deleted('2026-11-22T12:01:00Z'),
        kept.created(instant),
        { ...kept.created(instant), milliCPU: 1 },
      ])
      t.is(await countOf(db, 'usage_conflicts'), 1)
      clock.set('2028-02-10T00:00:00Z')
      await recorder.carry()
      await recorder.send([clusterHeard('2028-02-09T23:00:00Z')])
      await recorder.expire()
      const months = ((await tablesOf(db))['usage_intervals'] ?? []).map((row) => Number(row.split(' ')[1]))
      t.deepEqual([Math.min(...months), Math.max(...months), months.length], [202701, 202802, 14])
      t.deepEqual(
        [await countOf(db, 'usage_conflicts'), await countOf(db, 'usage_objects'), await countOf(db, 'usage_changes')],
        [0, 1, 1],
      )
      await recorder.expire()
      t.deepEqual(await recorder.send([kept.resized('2028-02-09T00:00:00Z', 2, 7)]), ['accepted'])
    },
  )

  onBench(
    'concurrent reports of one cluster and of several, from two instances, count each event once',
    async (t, { db, clock, recorder }) => {
      const other = recorderOn(db, clock)
      const objects = Array.from({ length: 40 }, () => newObject())
      const events = objects.flatMap((object) => [
        object.created('2026-11-20T00:00:00Z'),
        object.resized('2026-11-21T00:00:00Z', 2, 2),
        object.heard(instant),
      ])
      const results = await Promise.all(
        [clusterUid, secondCluster].flatMap((uid) =>
          [recorder, other].flatMap((process) =>
            Array.from({ length: 10 }, (_, n) =>
              process.send(n % 2 === 0 ? events.slice(n * 6) : [...events].reverse(), uid),
            ),
          ),
        ),
      )
      const counters = results.flat().filter((result) => result === 'repeated' || result === 'conflict')
      t.false(counters.includes('conflict'))
      t.deepEqual(
        [await countOf(db, 'usage_objects'), await countOf(db, 'usage_changes'), await countOf(db, 'usage_intervals')],
        [80, 160, 160],
      )
    },
  )
}

test('a stream of the generator has each kind of event', (t) => {
  const types = new Set(streamOf(Array.from({ length: 400 }, (_, n) => n * 7)).map(({ type }) => type))
  t.is(types.size, 7)
})

needing('mariadb')('a user who may not change the schema removes months that are no longer kept', async (t) => {
  const borrowed = await borrowMysqlDatabase()
  const url = new URL(borrowed.url)
  const schema = url.pathname.slice(1)
  const owner = await openPatiently(url.href)
  const session = await owner.openSchemaSession()
  const [user, password] = [`usage_${randomBytes(6).toString('hex')}`, randomBytes(6).toString('hex')]
  await session.execute(`create user '${user}'@'%' identified by '${password}'`, [])
  await session.execute(`grant select, insert, update, delete on \`${schema}\`.* to '${user}'@'%'`, [])
  url.username = user
  url.password = password
  const db = await openPatiently(url.href)
  t.teardown(async () => {
    await session.execute(`drop user '${user}'@'%'`, [])
    await session.close()
    await Promise.all([db.close(), owner.close()])
    await borrowed.giveBack()
  })
  await addOwners(db)
  const clock = setClock(instant)
  const recorder = recorderOn(db, clock)
  await recorder.send([newObject().created(instant)])
  clock.set('2028-02-10T00:00:00Z')
  await recorder.carry()
  await recorder.send([clusterHeard('2028-02-09T23:00:00Z')])
  await recorder.expire()
  const months = ((await tablesOf(db))['usage_intervals'] ?? []).map((row) => Number(row.split(' ')[1]))
  t.deepEqual([Math.min(...months), Math.max(...months)], [202701, 202802])
})
