import { randomUUID } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import { migrateUp } from '../../../adapters/sql/engine/migrator.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { monthBounds, monthOf, secondOf } from '../../../core/usage/month.ts'
import type { ReportedEvent } from '../../../core/usage/events/types.ts'
import { addOwners, clusterUid, newObject, otherOwner, owner, recorderOn, secondCluster, type Recorder } from '../../usage/event-world.ts'
import { bars } from '../bars.ts'
import { best, median, pairedRatio } from '../statistics.ts'
import type { MeasureRow, RowInput } from './row.ts'

/** In this process, on MariaDB, until the commit: what HTTP costs is measured by other rows. */

const batchSize = 1000
const clock = { now: () => new Date() }
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const from = performance.now()
  await work()
  return (performance.now() - from) / 1000
}

const onMariaDb = async <A>({ lab, bench }: RowInput, work: (db: SqlDatabase, url: string) => Promise<A>): Promise<A> => {
  const url = await (await lab.mariaDb()).createDatabase()
  bench.progress.doing('migrating a database')
  const db = await openDatabase(url)
  try {
    await migrateUp(db)
    await addOwners(db)
    return await work(db, url)
  } finally {
    await db.close()
  }
}

const batchOf = (now: Date, count = batchSize): readonly ReportedEvent[] => {
  const createdAt = new Date(now.getTime() - 3_600_000).toISOString()
  return Array.from({ length: count }, () => newObject({ createdAt }).created(now.toISOString()))
}

/** The rows of a batch, as bare inserts of a thousand rows each in one transaction write them. */
const openRawInserts = async (url: string) => {
  const connection = await createConnection({ uri: url })
  const insertAll = async (now: Date): Promise<void> => {
    const [at, month] = [secondOf(now), monthOf(secondOf(now))]
    const { to } = monthBounds(month)
    const numbers = Array.from({ length: batchSize }, (_, n) => n)
    await connection.beginTransaction()
    const objects = numbers.map(() => [2, randomUUID(), 1, 'shop', '5d0e4d9a-7c40-4c55-9d3e-0b1f6a2b9c01', 'db-00000000', at - 3600, null, null, Math.floor(at / 86_400), 0])
    const [inserted] = await connection.query(
      'insert into usage_objects (cluster_id, object_uid, kind_id, namespace, namespace_uid, name, created_at, deleted_at, trial_ends_at, last_heard_day, sends_heartbeats) values ?',
      [objects],
    )
    const { insertId: first } = inserted as { insertId: number }
    const changes = numbers.map((n) => [first + n, 1, 'object.created', at, 1000, 1024, 1, '', 0, now.getTime()])
    await connection.query('insert into usage_changes (object_id, generation, type, at, milli_cpu, memory_mib, replicas, details, is_trial, received_at) values ?', [changes])
    const intervals = numbers.map((n) => [month, 2, first + n, at - 3600, to, to, 1, 1000, 1024, 1, 1])
    await connection.query('insert into usage_intervals (month, cluster_id, object_id, from_at, to_at, cut_at, kind_id, milli_cpu, memory_mib, generation, replicas) values ?', [intervals])
    await connection.commit()
  }
  return { insertAll, close: () => connection.end() }
}

/** Each sender has a cluster of its own. */
const clusters = [owner, otherOwner].flatMap((ownerId) => [clusterUid, secondCluster].map((uid) => ({ ownerId, uid })))
type BenchCluster = (typeof clusters)[number]

const accept = async (recorder: Recorder, events: readonly ReportedEvent[], { uid, ownerId }: BenchCluster): Promise<void> => {
  const results = await recorder.send(events, uid, ownerId)
  if (results.some((result) => result !== 'accepted')) throw new Error(`not accepted: ${results.find((result) => result !== 'accepted')}`)
}

/** Row 29. */
export const usageBatches: MeasureRow = (input) =>
  onMariaDb(input, async (db, url) => {
    const { bench, run } = input
    const [rounds, batches] = [run.quick ? 5 : 15, 2]
    const recorder = recorderOn(db, clock)
    const raw = await Promise.all(clusters.map(() => openRawInserts(url)))
    const rates = { ours: [] as number[], raw: [] as number[] }
    bench.progress.measuring('batches of 1,000 usage events', rounds)
    for (let round = -3; round < rounds; round += 1) {
      if (round >= 0) bench.progress.round(round + 1, rounds)
      const now = clock.now()
      const given = clusters.map((cluster) => ({ cluster, batches: Array.from({ length: batches }, () => batchOf(now)) }))
      const bare = await timed(() =>
        Promise.all(
          raw.map(async (connection) => {
            for (let n = 0; n < batches; n += 1) await connection.insertAll(now)
          }),
        ),
      )
      const ours = await timed(() =>
        Promise.all(
          given.map(async ({ cluster, batches: own }) => {
            for (const events of own) await accept(recorder, events, cluster)
          }),
        ),
      )
      if (round < 0) continue
      rates.raw.push((clusters.length * batches * batchSize) / bare)
      rates.ours.push((clusters.length * batches * batchSize) / ours)
    }
    for (const connection of raw) await connection.close()
    return [
      {
        row: '29',
        what: `usage events, batches of 1,000, ${clusters.length} senders, MariaDB`,
        ours: { perSecond: median(rates.ours) },
        against: 'the same rows in bare multi-row inserts, as many connections',
        twin: { perSecond: median(rates.raw) },
        value: pairedRatio(rates.ours, rates.raw),
        bestValue: best(rates.ours.map((ours, round) => ours / (rates.raw[round] ?? Number.NaN))),
        unit: 'x',
        bar: bars.usageBatches,
        note: 'events a second',
      },
    ]
  })

const senders = 256

/** Row 30. */
export const usageSingles: MeasureRow = (input) =>
  onMariaDb(input, async (db) => {
    const { bench, run } = input
    const [rounds, each] = [run.quick ? 5 : 15, 20]
    const recorder = recorderOn(db, clock)
    const rates: number[] = []
    bench.progress.measuring('single usage events', rounds)
    for (let round = -3; round < rounds; round += 1) {
      if (round >= 0) bench.progress.round(round + 1, rounds)
      const events = batchOf(clock.now(), senders * each)
      const seconds = await timed(() =>
        Promise.all(
          Array.from({ length: senders }, async (_, sender) => {
            for (let n = 0; n < each; n += 1) {
              const event = events[sender * each + n]
              const cluster = clusters[sender % clusters.length]
              if (event !== undefined && cluster !== undefined) await accept(recorder, [event], cluster)
            }
          }),
        ),
      )
      if (round >= 0) rates.push((senders * each) / seconds)
    }
    return [
      {
        row: '30',
        what: `single usage events, ${senders} senders, MariaDB`,
        ours: { perSecond: median(rates) },
        against: '',
        value: median(rates),
        bestValue: best(rates),
        unit: '/s',
        bar: bars.usageSingles,
        note: 'each acknowledged after its commit',
      },
    ]
  })
