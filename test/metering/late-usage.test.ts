import test from 'ava'
import fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlMeteredHourStore } from '../../adapters/sql/marketplace/metered-hours.ts'
import type { Mail } from '../../core/mail/ports.ts'
import { makeFindLateUsage, makeMailLosses } from '../../core/marketplace/metering/hours/late-usage.ts'
import { makeReadMeteredMonth } from '../../core/marketplace/metering/hours/metered-months.ts'
import { makeReportHours } from '../../core/marketplace/metering/hours/report-hours.ts'
import { MeteringFailed, UsageRefused } from '../../core/marketplace/metering/ports.ts'
import type { MeteredCloud } from '../../core/marketplace/metering/types.ts'
import type { MarketplaceStores } from '../../core/marketplace/ports.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import { eachDatabase } from '../support/databases.ts'

const anHour = 3600 * 1000
const coreHour = 3_600_000
const instantOf = (hour: number, minutes = 0): Date => new Date(Date.UTC(2026, 6, 14, hour, minutes))
const silent = () => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }
const never = new AbortController().signal
const [sqlite] = eachDatabase()

/** A deployment whose clock, provider and usage of each hour, in milli-core-seconds, are set. */
const environment = (database: SqlDatabase, cloud: MeteredCloud) => {
  const state = { now: instantOf(12, 20), refusal: '', subscription: 'sub-1' }
  const usage = new Map<number, number>()
  const billed: { readonly hour: Date; readonly quantity: number; readonly difference: number | undefined }[] = []
  const mails: Mail[] = []
  const reads = { count: 0 }
  const refused = () => {
    const origin = { origin: { code: state.refusal } }
    return state.refusal.endsWith('Exception') ? left(UsageRefused('no', origin)) : left(MeteringFailed('no', origin))
  }
  const hours = makeSqlMeteredHourStore(database)
  const clock = { now: () => state.now }
  const deps = {
    cloud,
    settings: { product: 'product-1', dimensions: [{ name: 'cores', measure: 'cpu' }] },
    used: {
      amountsBetween: async (from: Date, to: Date) => {
        reads.count += 1
        let sum = 0
        for (let at = from.getTime(); at < to.getTime(); at += anHour) sum += usage.get(at) ?? 0
        return { milliCpuSeconds: BigInt(sum), mebibyteSeconds: 0n }
      },
    },
    hours,
    subscriptions: { current: async () => state.subscription },
    // As the provider: an hour has one quantity.
    reportCloudA: async (
      _: string,
      { timestamp: hour, quantity = 0 }: { timestamp: Date; quantity?: number | undefined },
    ) => {
      if (state.refusal !== '') return refused()
      if (billed.some((each) => each.hour.getTime() === hour.getTime()))
        return left(UsageRefused('no', { origin: { code: 'DuplicateRequestException' } }))
      billed.push({ hour, quantity, difference: undefined })
      return right('id')
    },
    reportCloudC: async (
      _: string,
      { start: hour, value, difference }: { start: Date; value: object; difference?: number },
    ) => {
      if (state.refusal !== '') return refused() as never
      billed.push({ hour, quantity: Number((value as { int64: bigint }).int64), difference })
      return right({})
    },
    clock,
    timeTrust: { isTrusted: () => true },
    log,
  } as const
  const mail = makeMailLosses({
    marketplace: { alertsTo: 'ops@example.com' },
    hours,
    entropy: systemEntropy,
    unitOfWork: {
      run: (_call, work) => work({ mail: { post: async (each) => void mails.push(each) } } as MarketplaceStores),
    },
  })
  return {
    state,
    usage,
    billed,
    mails,
    reads,
    report: () => makeReportHours(deps)(never),
    findLate: () => makeFindLateUsage(deps)(never),
    mail,
    month: makeReadMeteredMonth({ hours, clock }),
  }
}

test('late usage of an hour is reported to cloud C as the difference, in whole units', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { state, usage, billed, findLate, report, month } = environment(database, 'cloudC')
  const hour = instantOf(11)
  usage.set(hour.getTime(), 2 * coreHour)
  await report()
  usage.set(hour.getTime(), 4.5 * coreHour)
  await findLate()
  await findLate()
  t.deepEqual(billed.slice(1), [{ hour, quantity: 2, difference: 1 }])
  t.like((await month())[0], { subscriptionRef: 'sub-1', used: 4.5, metered: 4, lost: 0, waiting: 0.5 })
  usage.set(hour.getTime(), 6.5 * coreHour)
  await findLate()
  t.deepEqual(billed.slice(2), [{ hour, quantity: 2, difference: 2 }])
  state.now = new Date(hour.getTime() + 31 * 24 * anHour)
  await findLate()
  t.like((await month('2026-07'))[0], { used: 6.5, metered: 6, lost: 0.5, waiting: 0 })
})

test('a difference whose answer was lost is sent again as it was', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { state, usage, billed, findLate, report, month } = environment(database, 'cloudC')
  const hour = instantOf(11)
  await report()
  usage.set(hour.getTime(), 2 * coreHour)
  state.refusal = 'RequestTimeout'
  await findLate()
  t.like((await month())[0], { used: 2, metered: 0, waiting: 2 })
  usage.set(hour.getTime(), 5 * coreHour)
  state.refusal = ''
  await findLate()
  await findLate()
  t.deepEqual(billed.slice(1), [
    { hour, quantity: 2, difference: 1 },
    { hour, quantity: 3, difference: 2 },
  ])
})

test('late usage of cloud A is lost, with a figure and one mail', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { usage, billed, findLate, report, month, mail, mails } = environment(database, 'cloudA')
  await report()
  usage.set(instantOf(11).getTime(), 2.5 * coreHour)
  await findLate()
  t.is(billed.length, 1)
  t.like((await month())[0], { subscriptionRef: 'sub-1', dimension: 'cores', used: 2.5, metered: 0, lost: 2.5 })
  await mail()
  await mail()
  t.is(mails.length, 1)
  t.true(mails[0]?.paragraphs.includes('2026-07-14T11:00:00.000Z cores: 2.500'))
  usage.set(instantOf(11).getTime(), 3 * coreHour)
  await findLate()
  await mail()
  t.is(mails.length, 2)
})

test('an hour that was not sent in time is in the mail', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { state, usage, report, month, mail, mails } = environment(database, 'cloudA')
  usage.set(instantOf(11).getTime(), 3 * coreHour)
  state.refusal = 'RequestTimeout'
  await report()
  state.now = instantOf(17, 20)
  await report()
  await mail()
  t.true(mails[0]?.paragraphs.includes('2026-07-14T11:00:00.000Z cores: 3.000'))
  t.like((await month())[0], { lost: 3 })
})

test('one read finds that the usage of a month has not changed', async (t) => {
  const database = await sqlite!.open()
  t.teardown(() => database.close())
  const { state, usage, reads, report, findLate } = environment(database, 'cloudC')
  await report()
  state.now = instantOf(60, 20)
  await report()
  reads.count = 0
  await findLate()
  t.is(reads.count, 1)
  usage.set(instantOf(30).getTime(), coreHour)
  await findLate()
  t.true(reads.count < 16, `${reads.count}`)
})

const step = fc.record({
  kind: fc.constantFrom('use', 'report', 'late', 'pass', 'refuse', 'recover'),
  hour: fc.nat({ max: 12 }),
  amount: fc.integer({ min: 1, max: 3 * coreHour }),
})

for (const cloud of ['cloudA', 'cloudC'] as const)
  test(`used is the sum of metered, lost and waiting: ${cloud}`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const database = await sqlite!.open()
        try {
          const { state, usage, billed, report, findLate, month } = environment(database, cloud)
          await report()
          for (const { kind, hour, amount } of steps) {
            const at = instantOf(11 + hour).getTime()
            if (kind === 'use') usage.set(at, (usage.get(at) ?? 0) + amount)
            else if (kind === 'pass') state.now = new Date(state.now.getTime() + (hour + 1) * anHour)
            else if (kind === 'refuse') state.refusal = amount % 2 === 0 ? 'RequestTimeout' : 'UsageOverlaps'
            else if (kind === 'recover') state.refusal = ''
            else await (kind === 'report' ? report() : findLate())
          }
          await report()
          await findLate()
          const last = state.now.getTime() - 70 * 60_000
          const used = [...usage].reduce((sum, [at, amount]) => sum + (at <= last ? amount : 0), 0) / coreHour
          const [figures] = await month('2026-07')
          t.true(Math.abs((figures?.used ?? 0) - used) < 1e-6, `${figures?.used} ${used}`)
          t.is(
            figures?.metered,
            billed.reduce((sum, { quantity }) => sum + quantity, 0),
          )
          t.true((figures?.waiting ?? -1) >= 0 && (figures?.lost ?? -1) >= 0)
        } finally {
          await database.close()
        }
      }),
      { numRuns: 40 },
    )
  })
