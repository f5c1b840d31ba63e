import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createConnection } from 'mysql2/promise'
import { openDatabase } from '../../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { monthBounds, monthOf, secondOf } from '../../../core/usage/month.ts'
import type { ReportedEvent } from '../../../core/usage/events/types.ts'
import {
  addOwners,
  clusterUid,
  newObject,
  otherOwner,
  owner,
  recorderOn,
  secondCluster,
  type Recorder,
} from '../../usage/events/event-fixture.ts'
import { bars } from '../bars.ts'
import { cpuSeconds } from '../process-figures.ts'
import { best, median, pairedRatio } from '../statistics.ts'
import type { BenchLine } from '../table.ts'
import type { MeasureRow, RowInput } from './row.ts'
import { migrateToNow } from '../../support/schema.ts'

/** In this process, on MariaDB, until the commit: what HTTP costs is measured by other rows. */

const batchSize = 1000
const clock = { now: () => new Date() }
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const from = performance.now()
  await work()
  return (performance.now() - from) / 1000
}

/** Reads the CPU time of this process and of the database so far, in seconds. */
const cpuMeter = async (db: SqlDatabase): Promise<() => number> => {
  const [row] = await db.query<{ readonly file: string }>((k) => k.raw('select @@pid_file as file'))
  const server = Number(await readFile(row?.file ?? '', 'utf8'))
  return () => cpuSeconds(process.pid) + cpuSeconds(server)
}

const onMariaDb = async <A>(
  { lab, bench }: RowInput,
  work: (db: SqlDatabase, url: string) => Promise<A>,
): Promise<A> => {
  const url = await (await lab.mariaDb()).createDatabase()
  bench.progress.doing('migrating a database')
  const db = await openDatabase(url)
  try {
    await migrateToNow(db)
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

/**
 * The rows of a batch, as bare inserts of a thousand rows each in one transaction write them, on a connection of its
 * own. The UIDs are given, as those of events are.
 */
const openRawInserts = async (url: string, clusterId: number) => {
  const connection = await createConnection({ uri: url })
  const insertAll = async (now: Date, uids: readonly string[]): Promise<void> => {
    const [at, month] = [secondOf(now), monthOf(secondOf(now))]
    const { to } = monthBounds(month)
    await connection.beginTransaction()
    const objects = uids.map((uid) => [
      clusterId,
      uid,
      1,
      'shop',
      '5d0e4d9a-7c40-4c55-9d3e-0b1f6a2b9c01',
      `db-${uid.slice(0, 8)}`,
      at - 3600,
      null,
      null,
      Math.floor(at / 86_400),
      0,
    ])
    const [inserted] = await connection.query(
      'insert into usage_objects (cluster_id, object_uid, kind_id, namespace, namespace_uid, name, created_at, deleted_at, trial_ends_at, last_heard_day, sends_heartbeats) values ?',
      [objects],
    )
    const { insertId: first } = inserted as { insertId: number }
    const changes = uids.map((_, n) => [first + n, 1, 'object.created', at, 1000, 1024, 1, '', 0, now.getTime()])
    await connection.query(
      'insert into usage_changes (object_id, generation, type, at, milli_cpu, memory_mib, replicas, details, is_trial, received_at) values ?',
      [changes],
    )
    const intervals = uids.map((_, n) => [month, clusterId, first + n, at - 3600, to, to, 1, 1000, 1024, 1, 1])
    await connection.query(
      'insert into usage_intervals (month, cluster_id, object_id, from_at, to_at, cut_at, kind_id, milli_cpu, memory_mib, generation, replicas) values ?',
      [intervals],
    )
    await connection.commit()
  }
  return { insertAll, close: () => connection.end() }
}

/** Each sender has a cluster of its own. */
const clusters = [owner, otherOwner].flatMap((ownerId) => [clusterUid, secondCluster].map((uid) => ({ ownerId, uid })))
type BenchCluster = (typeof clusters)[number]

const send = async (
  recorder: Recorder,
  events: readonly ReportedEvent[],
  { uid, ownerId }: BenchCluster,
  expected = 'accepted',
): Promise<void> => {
  const results = await recorder.send(events, uid, ownerId)
  const other = results.find((result) => result !== expected)
  if (other !== undefined) throw new Error(`not ${expected}: ${other}`)
}

interface SenderBatches {
  readonly cluster: BenchCluster
  readonly batches: readonly (readonly ReportedEvent[])[]
}

const sendAll = (recorder: Recorder, given: readonly SenderBatches[], expected = 'accepted'): Promise<unknown> =>
  Promise.all(
    given.map(async ({ cluster, batches }) => {
      for (const events of batches) await send(recorder, events, cluster, expected)
    }),
  )

const resized = (given: readonly SenderBatches[], at: Date): readonly SenderBatches[] =>
  given.map(({ cluster, batches }) => ({
    cluster,
    batches: batches.map((events) =>
      events.map((event) => ({
        ...event,
        id: randomUUID(),
        type: 'object.resized',
        time: at.toISOString(),
        generation: 2,
        milliCPU: 2000,
      })),
    ),
  }))

/** Row 29. */
export const usageBatches: MeasureRow = (input) =>
  onMariaDb(input, async (db, url) => {
    const { bench, run } = input
    const [rounds, warmUp, batches] = [run.quick ? 5 : 15, 10, 4]
    const recorder = recorderOn(db, clock)
    const raw = await Promise.all(clusters.map((_, index) => openRawInserts(url, 1_000_000 + index)))
    const rates = { ours: [] as number[], raw: [] as number[], repeated: [] as number[], resized: [] as number[] }
    const cpu = { ours: [] as number[], raw: [] as number[] }
    const cpuNow = await cpuMeter(db)
    const perRound = clusters.length * batches * batchSize
    bench.progress.measuring('batches of 1,000 usage events', rounds * 2)
    for (let round = -warmUp; round < rounds; round += 1) {
      if (round >= 0) bench.progress.round(round + 1, rounds)
      const now = clock.now()
      const given = clusters.map((cluster) => ({
        cluster,
        batches: Array.from({ length: batches }, () => batchOf(now)),
      }))
      const uids = clusters.map(() =>
        Array.from({ length: batches }, () => Array.from({ length: batchSize }, () => randomUUID())),
      )
      const sides = {
        raw: () =>
          Promise.all(
            raw.map(async (connection, index) => {
              for (const batch of uids[index] ?? []) await connection.insertAll(now, batch)
            }),
          ),
        ours: () => sendAll(recorder, given),
      }
      // Every other round backwards, so that none of them always comes behind the other.
      for (const side of round % 2 === 0 ? (['raw', 'ours'] as const) : (['ours', 'raw'] as const)) {
        const before = cpuNow()
        const seconds = await timed(sides[side])
        if (round < 0) continue
        rates[side].push(perRound / seconds)
        cpu[side].push(((cpuNow() - before) * 1e6) / perRound)
      }
    }
    for (let round = -2; round < rounds; round += 1) {
      const now = clock.now()
      const given = clusters.map((cluster) => ({ cluster, batches: [batchOf(now)] }))
      const changes = resized(given, new Date(now.getTime() - 60_000))
      await sendAll(recorder, given)
      const again = await timed(() => sendAll(recorder, given, 'repeated'))
      const later = await timed(() => sendAll(recorder, changes))
      if (round < 0) continue
      rates.repeated.push(perRound / batches / again)
      rates.resized.push(perRound / batches / later)
    }
    for (const connection of raw) await connection.close()
    const figure = (what: string, values: readonly number[]): BenchLine => ({
      row: '29',
      what: `${what}, batches of 1,000, ${clusters.length} senders, MariaDB`,
      ours: { perSecond: median(values) },
      against: '',
      value: median(values),
      bestValue: best(values),
      unit: '/s',
    })
    return [
      {
        row: '29',
        what: `usage events of new objects, batches of 1,000, ${clusters.length} senders, MariaDB`,
        ours: { perSecond: median(rates.ours), cpuUs: median(cpu.ours) },
        against: 'the same rows in bare multi-row inserts, as many connections',
        twin: { perSecond: median(rates.raw), cpuUs: median(cpu.raw) },
        value: pairedRatio(rates.ours, rates.raw),
        bestValue: best(rates.ours.map((ours, round) => ours / (rates.raw[round] ?? Number.NaN))),
        unit: 'x',
        bar: bars.usageBatches,
        note: 'events a second; the CPU is that of this process and of MariaDB for each event',
      },
      figure('the same events again', rates.repeated),
      figure('resizes', rates.resized),
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
              if (event !== undefined && cluster !== undefined) await send(recorder, [event], cluster)
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
