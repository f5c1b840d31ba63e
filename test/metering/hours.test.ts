import test from 'ava'
import fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { makeSqlMeteredHourStore, makeSqlUsedHours } from '../../adapters/sql/marketplace/metered-hours.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { MeterUsage, UsageReport } from '../../core/marketplace/metering/types.ts'
import { quantityOf } from '../../core/marketplace/metering/hours/hour-rules.ts'
import { makeReportHours } from '../../core/marketplace/metering/hours/report-hours.ts'
import { MeteringFailed, UsageRefused } from '../../core/marketplace/metering/ports.ts'
import { eachDatabase } from '../support/databases.ts'

const anHour = 3600 * 1000
const instantOf = (hour: number, minutes = 0): Date => new Date(Date.UTC(2026, 6, 14, hour, minutes))
const silent = () => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }
const never = new AbortController().signal

test('a fraction of a unit carries over to the next hour exactly once', (t) => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 10n }), { maxLength: 20 }), (amounts) => {
      let rest = 0
      let total = 0n
      for (const amount of amounts) {
        const hour = quantityOf(amount, { measure: 'cpu' }, rest)
        rest = hour.rest
        total += BigInt(hour.quantity)
      }
      t.is(
        total * 3_600_000n + BigInt(rest),
        amounts.reduce((sum, each) => sum + each, 0n),
      )
      t.true(rest >= 0 && rest < 3_600_000)
    }),
  )
})

/** A deployment whose clock and provider are set. Each hour has 1.5 core-hours. */
const fixture = async (database: SqlDatabase, cloud: 'cloudA' | 'cloudC' = 'cloudA') => {
  const sentA: MeterUsage[] = []
  const sentC: UsageReport[] = []
  const state = { now: instantOf(12, 20), refusal: '', isTrusted: true, milliCpuSeconds: 5_400_000n }
  const answer = <A>(value: A) => {
    const origin = { origin: { code: state.refusal } }
    if (state.refusal === '') return right(value)
    return state.refusal.endsWith('Exception') ? left(UsageRefused('no', origin)) : left(MeteringFailed('no', origin))
  }
  const hours = makeSqlMeteredHourStore(database)
  const run = makeReportHours({
    cloud,
    settings: { product: 'product-1', dimensions: [{ name: 'cores', measure: 'cpu' }] },
    used: { amountsBetween: async () => ({ milliCpuSeconds: state.milliCpuSeconds, mebibyteSeconds: 0n }) },
    hours,
    subscriptions: { current: async () => undefined },
    reportCloudA: async (_, usage) => {
      sentA.push(usage)
      return answer('id')
    },
    reportCloudC: async (_, report) => {
      sentC.push(report)
      return answer({}) as never
    },
    clock: { now: () => state.now },
    timeTrust: { isTrusted: () => state.isTrusted },
    log,
  })
  return { state, hours, sentA, sentC, run: () => run(never) }
}

const [sqlite] = eachDatabase()

test('an hour is sent once, ten minutes after its end, with carried fractions', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { state, sentA, run } = await fixture(database)
  await run()
  await run()
  t.deepEqual(
    sentA.map(({ timestamp, quantity }) => [timestamp, quantity]),
    [[instantOf(11), 1]],
  )
  state.now = instantOf(13, 9)
  await run()
  t.is(sentA.length, 1)
  state.now = instantOf(13, 10)
  await run()
  t.deepEqual(
    sentA.map(({ timestamp, quantity }) => [timestamp, quantity]),
    [
      [instantOf(11), 1],
      [instantOf(12), 2],
    ],
  )
})

test('outage hours are sent in order, and expired ones are counted as lost', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { state, hours, sentA, run } = await fixture(database)
  state.refusal = 'RequestTimeout'
  await run()
  state.now = instantOf(14, 20)
  state.milliCpuSeconds = 36_000_000n
  await run()
  t.is(sentA.length, 2, 'later hours wait for the first')
  t.deepEqual(await hours.unreported(), { RequestTimeout: 1 })
  state.now = instantOf(17, 20)
  state.refusal = ''
  sentA.length = 0
  await run()
  t.deepEqual(
    sentA.map(({ timestamp, quantity }) => [timestamp, quantity]),
    [
      [instantOf(12), 10],
      [instantOf(13), 10],
      [instantOf(14), 10],
      [instantOf(15), 10],
      [instantOf(16), 10],
    ],
  )
  t.deepEqual(await hours.unreported(), { RequestTimeout: 1 })
})

test('a final refusal loses its hour only, and other ones are retried', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { state, hours, sentA, run } = await fixture(database)
  state.refusal = 'DuplicateRequestException'
  await run()
  state.refusal = 'CustomerNotEntitledException'
  state.now = instantOf(13, 20)
  await run()
  t.deepEqual(await hours.unreported(), { DuplicateRequestException: 1, CustomerNotEntitledException: 1 })
  state.refusal = ''
  await run()
  t.deepEqual(await hours.unreported(), { DuplicateRequestException: 1 })
  t.is(sentA.length, 3)
})

test('nothing is sent while the clock is not reliable', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { state, sentA, run } = await fixture(database)
  state.isTrusted = false
  await run()
  t.is(sentA.length, 0)
})

test('cloud C gets the hour with its end', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { sentC, run } = await fixture(database, 'cloudC')
  await run()
  t.like(sentC[0], {
    serviceName: 'product-1',
    dimension: 'cores',
    start: instantOf(11),
    end: instantOf(12),
    value: { int64: 1n },
  })
})

const interval = (objectId: number, from: Date, to: Date, milliCpu: number, clusterId = 1) => ({
  month: 202607,
  cluster_id: clusterId,
  object_id: objectId,
  from_at: from.getTime() / 1000,
  to_at: to.getTime() / 1000,
  cut_at: to.getTime() / 1000,
  kind_id: 1,
  milli_cpu: milliCpu,
  memory_mib: 1024,
  generation: 1,
  replicas: 1,
})

for (const { name, open } of eachDatabase())
  test(`an hour's usage counts known clusters without trials: ${name}`, async (t) => {
    const database = await open()
    t.teardown(() => database.close())
    const cluster = (id: number, lastHeard: Date) => ({
      id,
      owner_id: 1,
      cluster_uid: `c-${id}`,
      first_heard: 0,
      last_heard: lastHeard.getTime() / 1000,
      carried_month: 202607,
    })
    const object = (id: number, trialEnds: Date | null = null, clusterId = 1) => ({
      id,
      cluster_id: clusterId,
      object_uid: `o-${id}`,
      kind_id: 1,
      namespace: '',
      namespace_uid: '',
      name: 'o',
      created_at: 0,
      trial_ends_at: trialEnds === null ? null : trialEnds.getTime() / 1000,
      last_heard_day: 0,
      sends_heartbeats: 0,
    })
    const insert = (table: string, rows: readonly object[]) => database.query((k) => k(table).insert(rows))
    await insert('usage_clusters', [
      cluster(1, instantOf(9)),
      cluster(2, new Date(instantOf(9).getTime() - 26 * anHour)),
    ])
    await insert('usage_objects', [
      object(1),
      object(2, instantOf(20)),
      object(3),
      object(4, null, 2),
      object(5, instantOf(2)),
    ])
    await insert('usage_intervals', [
      interval(1, instantOf(9, 30), instantOf(10, 30), 1000),
      interval(2, instantOf(9), instantOf(12), 1000),
      interval(3, instantOf(8), instantOf(10), 1000),
      interval(4, instantOf(9), instantOf(12), 1000, 2),
      interval(5, instantOf(9), instantOf(12), 250),
    ])
    const used = makeSqlUsedHours(database)
    t.deepEqual(await used.amountsBetween(instantOf(10), instantOf(11)), {
      milliCpuSeconds: 1800n * 1000n + 3600n * 250n,
      mebibyteSeconds: (1800n + 3600n) * 1024n,
    })
    t.deepEqual(await used.amountsBetween(instantOf(20), instantOf(21)), { milliCpuSeconds: 0n, mebibyteSeconds: 0n })
    const heard = (at: Date) =>
      database.query((k) =>
        k('usage_clusters')
          .where('id', 1)
          .update({ last_heard: at.getTime() / 1000 }),
      )
    const trialEnds = (at: Date) =>
      database.query((k) =>
        k('usage_objects')
          .where('id', 2)
          .update({ trial_ends_at: at.getTime() / 1000 }),
      )
    for (const [ends, last] of [
      [instantOf(10, 1), instantOf(-14, 30)],
      [instantOf(11), instantOf(-13)],
      [instantOf(9, 59), instantOf(-15)],
    ] as const) {
      await heard(last)
      await trialEnds(ends)
      let sum = 0n
      for (let hour = 7; hour < 13; hour += 1)
        sum += (await used.amountsBetween(instantOf(hour), instantOf(hour + 1))).milliCpuSeconds
      t.is((await used.amountsBetween(instantOf(7), instantOf(13))).milliCpuSeconds, sum)
      t.true(sum > 0n)
    }
  })
