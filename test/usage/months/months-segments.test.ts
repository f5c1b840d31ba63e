import test from 'ava'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { Mail } from '../../../core/mail/ports.ts'
import type { UsageMonth } from '../../../core/usage/types.ts'
import { announceFinal } from '../../../core/usage/months/close.ts'
import fc from 'fast-check'
import { coverageOf, covers } from '../../../core/usage/months/coverage.ts'
import { daysOfMonth, daySeconds, monthEnd, monthKey, monthStart, monthSeconds } from '../../../core/usage/month.ts'
import { heardSpans, longestSilenceSeconds } from '../../../core/usage/months/presence.ts'
import { intervalText, parseIntervals } from '../../../core/formats/usage-intervals.ts'
import { addDays, DaySums, usageOfObject } from '../../../core/usage/months/roll-up.ts'
import { modesIn, segmentsOf } from '../../../core/usage/months/segments.ts'
import type { UnixSeconds, UsageClusterId } from '../../../core/usage/types.ts'
import {
  objectOf,
  secondNear,
  secondsOfMonth,
  someCoverages,
  someIntervals,
  someModes,
  someMonth,
  someSpan,
  usageBySecond,
} from '../months-oracle.ts'

const graceSeconds = 24 * 3600

const clusterId = 7 as UsageClusterId
const hour = 3600
const at = (seconds: number): UnixSeconds => seconds as UnixSeconds
const runs = { numRuns: 8 }

test('segments have each second that counts once, with its mode and contract', (t) => {
  const inputs = someMonth.chain((month) =>
    fc.record({
      month: fc.constant(month),
      heard: fc.array(someSpan(month), { maxLength: 2 }),
      modes: someModes(month),
      coverages: someCoverages(month),
    }),
  )
  fc.assert(
    fc.property(inputs, ({ month, heard: spans, modes, coverages }) => {
      const heard = spans
        .toSorted((a, b) => a.from - b.from)
        .filter((span, index, all) => index === 0 || span.from > all[0]!.to)
      const window = { from: monthStart(month), to: monthEnd(month) }
      const segments = segmentsOf({ clusterId, heard, modeChanges: modes }, 'dbProduct', coverages, window)
      const expected = secondsOfMonth(month, heard, modes, coverages)
      const [found, prod, contract] = [
        new Uint8Array(monthSeconds(month)),
        new Uint8Array(monthSeconds(month)),
        new Uint8Array(monthSeconds(month)),
      ]
      for (const segment of segments) {
        for (let index = segment.from - window.from; index < segment.to - window.from; index += 1) {
          found[index] = (found[index] ?? 0) + 1
          prod[index] = segment.mode === 'prod' ? 1 : 0
          contract[index] = segment.contractId
        }
      }
      // Neighbours differ: a cut without a reason would show in the views.
      if (
        segments.some(
          (each, index) =>
            index > 0 &&
            segments[index - 1]!.to === each.from &&
            segments[index - 1]!.mode === each.mode &&
            segments[index - 1]!.contractId === each.contractId &&
            segments[index - 1]!.termsNumber === each.termsNumber,
        )
      )
        return false
      return found.every(
        (times, index) =>
          times === expected.heard[index] &&
          (times === 0 || (prod[index] === expected.prod[index] && contract[index] === expected.contract[index])),
      )
    }),
    runs,
  )
  t.pass()
})

test("an object's usage equals an addition by second", (t) => {
  const inputs = someMonth.chain((month) =>
    fc.record({
      month: fc.constant(month),
      heard: someSpan(month),
      modes: someModes(month),
      coverages: someCoverages(month),
      intervals: someIntervals(month),
      trial: fc.option(secondNear(month), { nil: undefined }),
    }),
  )
  fc.assert(
    fc.property(inputs, ({ month, heard, modes, coverages, intervals, trial }) => {
      const segments = segmentsOf({ clusterId, heard: [heard], modeChanges: modes }, 'dbProduct', coverages, {
        from: monthStart(month),
        to: monthEnd(month),
      })
      const days = new DaySums(month)
      const usage = usageOfObject(objectOf(month, trial), 'c', month, intervals, segments)
      addDays(days, objectOf(month, trial), intervals, segments)
      const expected = usageBySecond(month, secondsOfMonth(month, [heard], modes, coverages), intervals, trial)
      const parts = new Map(
        usage.parts.map(({ contractId, use, milliCpuSeconds, mebibyteSeconds }) => [
          `${contractId} ${use}`,
          [milliCpuSeconds, mebibyteSeconds] as const,
        ]),
      )
      t.deepEqual(new Map([...parts].toSorted()), new Map([...expected.parts].toSorted()))
      const byDay = new Map(
        days
          .result()
          .map(({ day, use, milliCpuSeconds, mebibyteSeconds }) => [
            `${day} ${use}`,
            [milliCpuSeconds, mebibyteSeconds] as const,
          ]),
      )
      t.deepEqual(new Map([...byDay].toSorted()), new Map([...expected.days].toSorted()))
      const sum = (amounts: readonly { readonly milliCpuSeconds: bigint }[]) =>
        amounts.reduce((all, each) => all + each.milliCpuSeconds, 0n)
      t.is(sum(usage.modes), sum(usage.parts))
      return true
    }),
    runs,
  )
  t.pass()
})

test('sums of days are exact beyond 2^53', (t) => {
  const month = monthKey(2026, 12)
  const days = new DaySums(month)
  const kind = { product: 'dbProduct' as const, group: 'g', kind: 'K' }
  const piece = {
    from: monthStart(month),
    to: monthEnd(month),
    milliCpu: 999_999_999,
    memoryMib: 1_000_000_000,
    use: 'prod' as const,
    contractId: 1,
    termsNumber: 1,
    mode: 'prod' as const,
  }
  for (let count = 0; count < 10_000; count += 1) {
    days.adderOf(kind)(piece)
    days.adderOf(kind)({ ...piece, from: at(piece.from + 1), to: at(piece.from + 86_399) })
  }
  const [first, second] = days.result()
  t.is(first!.milliCpuSeconds, 10_000n * 999_999_999n * (86_400n + 86_398n))
  t.is(second!.mebibyteSeconds, 10_000n * 1_000_000_000n * 86_400n)
  t.is(days.result().length, daysOfMonth(month))
})

test('a cluster counts for 24 hours after its last report', (t) => {
  const heard = at(hour * 480_000)
  const end = heard + hour
  t.deepEqual(heardSpans({ hours: [heard], outages: [], asOf: at(end + graceSeconds) }), [
    { from: heard, to: at(end + graceSeconds) },
  ])
  t.deepEqual(heardSpans({ hours: [heard], outages: [], asOf: at(end + graceSeconds + 1) }), [
    { from: heard, to: at(end) },
  ])
  t.deepEqual(heardSpans({ hours: [heard], outages: [], asOf: at(heard + 10) }), [{ from: heard, to: at(heard + 10) }])
})

test('a silence counts if the cluster reports again within 35 days', (t) => {
  const first = at(hour * 480_000)
  const again = at(first + hour + longestSilenceSeconds)
  const asOf = at(again + 90 * daySeconds)
  t.deepEqual(heardSpans({ hours: [first, again], outages: [], asOf }), [{ from: first, to: at(again + hour) }])
  t.deepEqual(heardSpans({ hours: [first, at(again + hour)], outages: [], asOf }), [
    { from: first, to: at(first + hour) },
    { from: at(again + hour), to: at(again + 2 * hour) },
  ])
})

test('an outage counts as reported for clusters that counted before it', (t) => {
  const first = at(hour * 480_000)
  const end = first + hour
  const asOf = at(first + 90 * daySeconds)
  const spans = (...outages: readonly (readonly [number, number])[]) =>
    heardSpans({ hours: [first], outages: outages.map(([from, to]) => ({ from: at(from), to: at(to) })), asOf }).map(
      ({ from, to }) => [from - first, to - first],
    )
  t.deepEqual(spans([end + graceSeconds, end + graceSeconds + 500]), [[0, hour + graceSeconds + 500]])
  t.deepEqual(spans([end + graceSeconds + 1, end + graceSeconds + 500]), [[0, hour]])
  t.deepEqual(spans([first - 500, first - 100]), [[0, hour]])
  // The second outage counts because of the first, in any order.
  t.deepEqual(spans([end + 2 * graceSeconds, end + 3 * graceSeconds], [end + 10, end + 2 * graceSeconds - 5]), [
    [0, hour + 3 * graceSeconds],
  ])
})

test('the order of outages and repeated hours change nothing', (t) => {
  const month = monthKey(2026, 2)
  const inputs = fc.record({
    hours: fc.array(
      secondNear(month).map((second) => at(second - (second % hour))),
      { maxLength: 8 },
    ),
    outages: fc.array(someSpan(month), { maxLength: 4 }),
    asOf: secondNear(month),
  })
  fc.assert(
    fc.property(inputs, ({ hours, outages, asOf }) => {
      const spans = heardSpans({ hours: hours.toSorted((a, b) => a - b), outages, asOf })
      t.deepEqual(
        heardSpans({ hours: [...hours, ...hours].toSorted((a, b) => a - b), outages: outages.toReversed(), asOf }),
        spans,
      )
      return spans.every(
        ({ from, to }, index) =>
          from < to && to <= asOf && (index === 0 || from - spans[index - 1]!.to > longestSilenceSeconds),
      )
    }),
  )
})

test('a mode change counts to the second, and the greater event is last', (t) => {
  const window = { from: at(1000), to: at(9000) }
  const modes = modesIn(
    [
      { at: at(2000), eventId: 'b', mode: 'non-prod' },
      { at: at(2000), eventId: 'a', mode: 'prod' },
      { at: at(3000), eventId: 'c', mode: 'prod' },
      { at: at(3001), eventId: 'd', mode: 'non-prod' },
    ],
    window,
  )
  t.deepEqual(modes, [
    { from: at(1000), to: at(3000), mode: 'non-prod' },
    { from: at(3000), to: at(3001), mode: 'prod' },
    { from: at(3001), to: at(9000), mode: 'non-prod' },
  ])
  t.deepEqual(modesIn([{ at: at(500), eventId: 'a', mode: 'prod' }], window), [{ ...window, mode: 'prod' }])
})

test('a contract covers its time, binding and version of terms', (t) => {
  const date = (text: string) => new Date(text)
  const version = {
    number: 1,
    startsAt: date('2026-11-10T00:00:00Z'),
    endsAt: date('2026-11-20T23:59:59.999Z'),
    from: new Date(0),
    to: undefined,
  }
  const contract = { id: 4 as never, revokedAt: undefined }
  const binding = { contractId: 4, clusterUid: 'c', boundFrom: date('2026-11-05T00:00:00Z'), boundTo: undefined }
  const spanOf = (...given: Parameters<typeof coverageOf>) =>
    [coverageOf(...given)].map(({ from, to }) => [from, to].map((second) => new Date(second * 1000).toISOString()))[0]
  t.deepEqual(spanOf(contract, version, binding), ['2026-11-10T00:00:00.000Z', '2026-11-20T23:59:59.000Z'])
  t.deepEqual(
    spanOf(
      contract,
      { ...version, endsAt: date('2026-12-20T00:00:00Z') },
      { ...binding, boundTo: date('2026-11-15T12:00:00.500Z') },
    ),
    ['2026-11-10T00:00:00.000Z', '2026-11-15T12:00:00.000Z'],
  )
  t.deepEqual(
    spanOf({ ...contract, revokedAt: date('2026-11-12T00:00:01Z') }, version, {
      ...binding,
      boundFrom: date('2026-11-11T00:00:00Z'),
    }),
    ['2026-11-11T00:00:00.000Z', '2026-11-12T00:00:01.000Z'],
  )
  t.deepEqual(
    spanOf(contract, { ...version, from: date('2026-11-11T10:00:00.999Z'), to: date('2026-11-12T00:00:00Z') }, binding),
    ['2026-11-11T10:00:00.000Z', '2026-11-12T00:00:00.000Z'],
  )
})

test('the first word of product or features names the covered products', (t) => {
  const contract = { product: 'database', features: ['database-enterprise', 'backup'] }
  t.deepEqual(
    (['dbProduct', 'backupProduct', 'vaultProduct', 'ingressProduct'] as const).map((product) =>
      covers(contract, product),
    ),
    [true, true, false, false],
  )
  t.false(covers({ product: 'databaseless', features: [] }, 'dbProduct'))
})

test('the events of a day are the creation, the changes and the deletion on it', (t) => {
  const month = monthKey(2026, 11)
  const [start, end] = [monthStart(month), monthEnd(month)]
  const interval = (from: number, to: number) => ({
    from: at(from),
    to: at(to),
    cutAt: at(to),
    milliCpu: 1,
    memoryMib: 1,
    generation: 1,
    replicas: 1,
  })
  const eventsOf = (
    created: number,
    deleted: number | undefined,
    ...intervals: readonly ReturnType<typeof interval>[]
  ) => {
    const object = {
      ...objectOf(month, undefined),
      createdAt: at(created),
      deletedAt: deleted === undefined ? undefined : at(deleted),
    }
    const { dailyEvents } = usageOfObject(object, 'c', month, intervals, [])
    return Object.fromEntries(
      dailyEvents.map((count, index) => [index + 1, count] as const).filter(([, count]) => count > 0),
    )
  }
  t.deepEqual(eventsOf(start - 5, undefined, interval(start, start + 90_000), interval(start + 90_000, end)), { 2: 1 })
  // The last second of the month, to which 23:59:59.999 is rounded down.
  t.deepEqual(eventsOf(start, end - 1, interval(start, end - 1)), { 1: 1, 30: 1 })
})

test('intervals are read from their text in the order of time', (t) => {
  fc.assert(
    fc.property(someMonth.chain(someIntervals), (intervals) => {
      t.deepEqual(parseIntervals(intervalText(intervals)), intervals)
      t.deepEqual(parseIntervals(intervalText(intervals.toReversed())), intervals)
    }),
  )
})

test('a final month is an event and is mailed once to each address', async (t) => {
  const posted: Mail[] = []
  const emails = {
    contactPerson: ['a@example.com'],
    signingAuthority: [],
    licenseUsers: [],
    financeTeam: ['b@example.com'],
    usageAlertClient: [],
    usageAlertAdmin: ['b@example.com', 'c@example.com'],
  }
  const contractsIn = async () => [
    { ownerName: 'acme', emails },
    { ownerName: 'acme', emails },
  ]
  const made: UsageMonth = {
    id: 1 as UsageMonth['id'],
    ownerId: 7 as AccountId,
    month: monthKey(2026, 10),
    revision: 2,
    status: 'final',
    generatedAt: new Date(0),
    inputHash: '',
  }
  const added: unknown[] = []
  await announceFinal(
    {
      mail: { post: async (mail) => void posted.push(mail) },
      events: { add: async (month) => void added.push(month) },
      contractsIn,
    },
    made,
  )
  t.deepEqual(added, [made])
  t.deepEqual(
    posted.map(({ to }) => to),
    ['b@example.com', 'c@example.com'],
  )
  t.is(posted[0]?.subject, 'The usage of acme in 2026-10 is final')
})
