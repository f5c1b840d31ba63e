// process: own - it replaces the clock by which checks expire
import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import sinon from 'sinon'
import { makeMeteringCounters, usageDigests } from '../../adapters/metering/sending.ts'
import { lruCaches } from '../../adapters/system/lru-caches.ts'
import { sentCloudA } from '../../core/marketplace/metering/cloud-a.ts'
import { makeReportCloudC, operationOf } from '../../core/marketplace/metering/cloud-c.ts'
import type { CheckError } from '../../core/marketplace/metering/ports.ts'
import type { MeterUsage, ProviderResult, ReportAnswer, UsageReport } from '../../core/marketplace/metering/types.ts'

const instant = fc.date({ min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true })
const tag = fc.record({ key: fc.string({ maxLength: 4 }), value: fc.string({ maxLength: 4 }) })
const allocation = fc.record({ quantity: fc.nat(5), tags: fc.array(tag, { maxLength: 3 }) })
const usages: fc.Arbitrary<MeterUsage> = fc.record({
  productCode: fc.string({ maxLength: 4 }),
  dimension: fc.string({ maxLength: 4 }),
  timestamp: instant,
  isDryRun: fc.boolean(),
  quantity: fc.option(fc.nat(5), { nil: undefined }),
  allocations: fc.option(fc.array(allocation, { maxLength: 3 }), { nil: undefined }),
})
const keyOf = (usage: MeterUsage) => sentCloudA(usageDigests, usage, { askedBy: 'vera', subscriptionRef: '' }).key

test('the usage token depends on every part but not on their order', (t) => {
  fc.assert(
    fc.property(usages, (usage) => {
      const reversed = usage.allocations
        ?.map(({ quantity, tags }) => ({ quantity, tags: tags.toReversed() }))
        .toReversed()
      t.is(keyOf({ ...usage, allocations: reversed }), keyOf(usage))
      for (const change of [
        { productCode: `${usage.productCode}x` },
        { dimension: `${usage.dimension}x` },
        { timestamp: new Date(usage.timestamp.getTime() + 1) },
        { isDryRun: !usage.isDryRun },
        { quantity: (usage.quantity ?? 0) + 1 },
        { allocations: [...(usage.allocations ?? []), { quantity: 1, tags: [] }] },
      ])
        t.not(keyOf({ ...usage, ...change }), keyOf(usage))
    }),
  )
})

test('two fields do not become one text', (t) => {
  const usage = {
    productCode: 'ab',
    dimension: 'c',
    timestamp: new Date(0),
    isDryRun: false,
    quantity: 1,
    allocations: undefined,
  }
  t.not(keyOf({ ...usage, productCode: 'a', dimension: 'bc' }), keyOf(usage))
})

const reportFor = (changes: Partial<UsageReport> = {}): UsageReport => ({
  name: '',
  serviceName: 'product.example',
  dimension: 'nodes',
  start: new Date('2026-07-14T10:00:00Z'),
  end: new Date('2026-07-14T11:00:00Z'),
  labels: {},
  value: { int64: 3n },
  ...changes,
})

test('an operation id depends on the usage only', (t) => {
  const labels = fc.dictionary(fc.string({ maxLength: 4 }), fc.string({ maxLength: 4 }), { maxKeys: 4 })
  fc.assert(
    fc.property(labels, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (given, int64) => {
      const idOf = (report: UsageReport) => operationOf(usageDigests, 'project:p', report).operationId
      const id = idOf(reportFor({ labels: given, value: { int64 } }))
      const reversed = Object.fromEntries(Object.entries(given).toReversed())
      t.is(idOf(reportFor({ labels: reversed, value: { int64 }, name: 'other' })), id)
      t.not(idOf(reportFor({ labels: given, value: { int64: int64 + 1n } })), id)
      t.not(idOf(reportFor({ labels: given, value: { double: Number(int64) } })), id)
      t.not(idOf(reportFor({ labels: { ...given, another: '1' }, value: { int64 } })), id)
    }),
  )
})

const silent = () => undefined
const log = { debug: silent, info: silent, warn: silent, error: silent }

/** Reports of cloud C to a provider whose checks give what is set. */
const checking = (isStrict = false) => {
  const now = { checks: 0, reports: 0 }
  let found: ProviderResult<readonly CheckError[]> = { kind: 'accepted', answer: [], attempts: 1 }
  let answer: ReportAnswer = {}
  const report = makeReportCloudC({
    provider: {
      check: async () => {
        now.checks += 1
        return found
      },
      report: async () => {
        now.reports += 1
        return { kind: 'accepted', answer, attempts: 1 }
      },
    },
    settings: { cloud: 'cloudC', consumerId: 'project:p', isStrict },
    digests: usageDigests,
    ledger: {
      begin: async () => ({ kind: 'send', isDoubtful: false }),
      settle: async () => undefined,
    },
    subscriptions: { current: async () => undefined, reported: async () => undefined },
    passed: lruCaches.make({ maxEntries: 10 }),
    counters: makeMeteringCounters(),
    clock: { now: () => new Date() },
    log,
  })
  return {
    now,
    report: () => report('vera', reportFor()),
    finds: (result: typeof found) => void (found = result),
    answers: (given: ReportAnswer) => void (answer = given),
  }
}

test.serial('a check is valid for 60 seconds, and a failed one keeps the last', async (t) => {
  const clock = sinon.useFakeTimers({ toFake: ['performance'] })
  t.teardown(() => clock.restore())
  const fixture = checking()
  for (const [passed, checks] of [
    [0, 1],
    [59_000, 1],
    [2_000, 2],
  ] as const) {
    clock.tick(passed)
    t.true(isRight(await fixture.report()))
    t.is(fixture.now.checks, checks)
  }
  clock.tick(61_000)
  fixture.finds({ kind: 'failed', code: 'RequestTimeout', message: 'late', mayBeRecorded: true, attempts: 3 })
  t.true(isRight(await fixture.report()))
  t.is(fixture.now.checks, 3)
})

test('nothing is reported if a check finds errors or, without an earlier one, fails', async (t) => {
  const fixture = checking()
  fixture.finds({ kind: 'accepted', answer: [{ code: 'BILLING_DISABLED', detail: 'unpaid' }], attempts: 1 })
  const refused = await fixture.report()
  t.like(refused, {
    left: {
      kind: 'Upstream',
      origin: { code: 'BILLING_DISABLED', error: { checkErrors: [{ code: 'BILLING_DISABLED', detail: 'unpaid' }] } },
    },
  })
  fixture.finds({ kind: 'failed', code: 'RequestTimeout', message: 'late', mayBeRecorded: true, attempts: 3 })
  t.true(isLeft(await fixture.report()))
  t.is(fixture.now.reports, 0)
})

test('errors of a report are an answer, or a failure where the deployment is strict', async (t) => {
  const reportErrors = [{ operationId: 'x' }]
  for (const isStrict of [false, true]) {
    const fixture = checking(isStrict)
    fixture.answers({ reportErrors })
    const result = await fixture.report()
    if (isStrict) t.like(result, { left: { origin: { code: 'ReportErrors', error: { reportErrors } } } })
    else t.deepEqual(result, { _tag: 'Right', right: { reportErrors } })
  }
})
