import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { maxEvents, parseEvent } from '../../../core/usage/events/event-rules.ts'
import { intervalsOf, keptMonths } from '../../../core/usage/events/intervals.ts'
import { changedIntervals, cutOf, endsOf, silentBeforeDay } from '../../../core/usage/events/plan.ts'
import { heardHours, hoursOf, includesHours, unionOfHours } from '../../../core/usage/events/presence.ts'
import type { ObjectChange, ReportedEvent } from '../../../core/usage/events/types.ts'
import {
  daysOfMonth,
  hourOfMonth,
  laterByMonths,
  monthBounds,
  monthKey,
  monthOf,
  monthsBetween,
  monthSeconds,
  oneMonthAfter,
  parseMonthText,
} from '../../../core/usage/month.ts'
import type { MonthKey, UnixSeconds } from '../../../core/usage/types.ts'
import { clusterHeard, modeChanged, newObject } from './event-fixture.ts'

const second = (text: string): UnixSeconds => (Date.parse(text) / 1000) as UnixSeconds
const key = (value: number): MonthKey => value as MonthKey

test('months: every second is in exactly one consecutive month', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(2000, 0, 1) / 1000, max: Date.UTC(9998, 11, 31) / 1000 }), (at) => {
      const month = monthOf(at as UnixSeconds)
      const { from, to } = monthBounds(month)
      t.true(from <= at && at < to)
      t.is(monthOf((from - 1) as UnixSeconds), laterByMonths(month, -1))
      t.is(monthOf(to), laterByMonths(month, 1))
      t.is(monthKey(Math.floor(month / 100), month % 100), month)
      t.is(hourOfMonth(at as UnixSeconds), Math.floor((at - from) / 3600))
    }),
  )
})

test('months: lengths, leap years, spellings', (t) => {
  t.deepEqual(
    [202401, 202402, 202302, 210002, 200002, 202404].map((month) => daysOfMonth(key(month))),
    [31, 29, 28, 28, 29, 30],
  )
  t.is(monthSeconds(key(202402)), 29 * 86_400)
  t.deepEqual(['2026-06', '2000-01', '9998-12'].map(parseMonthText), [202606, 200001, 999812].map(key))
  t.deepEqual(
    ['2026-13', '2026-00', '2026-6', '26-06', '20266-06', '1999-06', '9999-06', '2026', ''].map(parseMonthText),
    Array(9).fill(undefined),
  )
  t.deepEqual(monthsBetween(key(202611), key(202702)), [202611, 202612, 202701, 202702])
  t.deepEqual(
    [
      oneMonthAfter(second('2026-01-31T10:00:01Z')),
      oneMonthAfter(second('2024-01-30T00:00:00Z')),
      oneMonthAfter(second('2026-12-31T23:59:59Z')),
    ].map((at) => new Date(at * 1000).toISOString()),
    ['2026-02-28T10:00:01.000Z', '2024-02-29T00:00:00.000Z', '2027-01-31T23:59:59.000Z'],
  )
})

const now = new Date('2026-11-22T12:00:00.500Z')
const object = newObject()
const reason = (event: ReportedEvent): string => {
  const parsed = parseEvent(event, now)
  return isLeft(parsed) ? parsed.left.reason : parsed.right.kind
}

test('events: their time is rounded down to the second', (t) => {
  const parsed = parseEvent(clusterHeard('2026-10-31T23:59:59.999Z'), now)
  t.is(isLeft(parsed) ? 0 : parsed.right.at, second('2026-10-31T23:59:59Z'))
})

test('events: a time 5 minutes ahead or 35 days ago is refused', (t) => {
  t.deepEqual(
    [
      '2026-11-22T12:05:00.400Z',
      '2026-11-22T12:05:00.600Z',
      '2026-11-23T12:00:00Z',
      '9999-12-31T23:59:59Z',
      '2026-11-21T12:00:00Z',
      '2026-10-18T12:00:00.600Z',
      '2026-10-18T12:00:00.400Z',
      '0001-01-01T00:00:00Z',
    ].map((time) => reason(clusterHeard(time))),
    ['cluster-heard', 'too-early', 'too-early', 'too-early', 'cluster-heard', 'cluster-heard', 'too-late', 'too-late'],
  )
})

const created = object.created('2026-11-22T11:00:00Z')
const wrong: Readonly<Record<string, ReportedEvent>> = {
  'no id': { ...created, id: '' },
  'a long id': { ...created, id: 'x'.repeat(256) },
  'an unknown type': { ...created, type: 'object.renamed' },
  'a time without a zone': { ...created, time: '2026-11-22T11:00:00' },
  'no time': { ...created, time: '' },
  'an unknown product': { ...created, product: 'cacheProduct' },
  'no group': { ...created, group: undefined },
  'a group with a slash': { ...created, group: 'a/b' },
  'a kind with a dash': { ...created, kind: 'Post-gres' },
  'a namespace in capitals': { ...created, namespace: 'Shop' },
  'a namespace UID that is none': { ...created, namespaceUID: 'shop' },
  'a UID that is none': { ...created, uid: '17' },
  'no name': { ...created, name: '' },
  'a name of two lines': { ...created, name: 'a\nb' },
  'an id with a control character': { ...created, id: 'a\u001bb' },
  'a volume whose name has a tab': {
    ...created,
    details: { volumes: [{ name: 'da\tta', sizeMiB: 1, createdAt: '2026-11-01T00:00:00Z' }] },
  },
  'a long name': { ...created, name: 'n'.repeat(254) },
  'no creation': { ...created, createdAt: undefined },
  'a creation after the event': { ...created, createdAt: '2026-11-22T11:05:01Z' },
  'a creation before 2000': { ...created, createdAt: '1999-12-31T23:59:59Z' },
  'a creation in the year 9999': { ...created, createdAt: '9999-01-01T00:00:00Z' },
  'a negative generation': { ...created, generation: -1 },
  'no generation': { ...created, generation: undefined },
  'a negative amount': { ...created, milliCPU: -1 },
  'an amount beyond the limit': { ...created, memoryMiB: 1_000_000_001 },
  'an amount beyond 2^53': { ...created, memoryMiB: 2 ** 63 },
  'a fraction': { ...created, milliCPU: 0.5 },
  'no amount': { ...created, milliCPU: undefined },
  'negative replicas': { ...created, replicas: -1 },
  'an amount without replicas': { ...created, replicas: 0 },
  'pods that occupy more than the object, as of one replica': {
    ...created,
    milliCPU: 500,
    replicas: 3,
    details: { pods: [{ milliCPU: 500, memoryMiB: 1, count: 3 }] },
  },
  'pods with more memory than the object': {
    ...created,
    memoryMiB: 512,
    replicas: 3,
    details: { pods: [{ milliCPU: 1, memoryMiB: 512, count: 3 }] },
  },
  'a pod without its amounts being numbers': { ...created, details: { pods: [{ milliCPU: '1' }] } },
  'a volume without a size': {
    ...created,
    details: { volumes: [{ name: 'data', createdAt: '2026-11-01T00:00:00Z' }] },
  },
  'too many pods': {
    ...created,
    details: { pods: Array.from({ length: 101 }, () => ({ milliCPU: 1, memoryMiB: 1, count: 1 })) },
  },
  'no mode': { ...modeChanged('2026-11-22T11:00:00Z', 'prod'), mode: undefined },
  'labels that are no texts': {
    id: '1',
    type: 'namespace.observed',
    time: created.time,
    namespace: 'shop',
    namespaceUID: created.namespaceUID,
    createdAt: created.createdAt,
    labels: { a: 1 },
  },
  'annotations that are too long': {
    id: '1',
    type: 'namespace.observed',
    time: created.time,
    namespace: 'shop',
    namespaceUID: created.namespaceUID,
    createdAt: created.createdAt,
    annotations: { a: 'x'.repeat(16_000) },
  },
}
for (const [title, event] of Object.entries(wrong))
  test(`events: ${title} is refused`, (t) => t.is(reason(event), 'invalid'))

test('a report has 1,000 events, intervals 14 months and a month 93 bytes of hours', (t) => {
  t.is(maxEvents, 1000)
  t.is(keptMonths, 14)
  t.is(hoursOf([second('2026-11-30T23:59:59Z')]).get(key(202611))?.length, 93)
})

test('events: the valid ones are taken, with the largest and smallest values', (t) => {
  const details = {
    pods: [{ milliCPU: 500, memoryMiB: 512, count: 3 }],
    volumes: [{ name: 'data', sizeMiB: 10_240, createdAt: '2026-11-01T00:00:00Z' }],
  }
  t.is(
    reason({
      ...created,
      milliCPU: 1_000_000_000,
      memoryMiB: 3 * 512,
      generation: Number.MAX_SAFE_INTEGER,
      group: '',
      details,
    }),
    'change',
  )
  t.is(reason(object.deleted('2026-11-22T11:00:00Z')), 'change')
  t.is(reason(object.heard('2026-11-22T11:00:00Z')), 'object-heard')
  t.is(reason(modeChanged('2026-11-22T11:00:00Z', 'staging')), 'mode')
})

// Around the end of a month, where everything can happen, second by second.
const boundary = second('2026-11-01T00:00:00Z')
const reach = 40
const instant = fc.integer({ min: boundary - reach, max: boundary + reach }).map((at) => at as UnixSeconds)
const change: fc.Arbitrary<ObjectChange> = fc.record({
  type: fc.constantFrom(
    'object.created' as const,
    'object.resized' as const,
    'object.resized' as const,
    'object.deleted' as const,
  ),
  generation: fc.integer({ min: 1, max: 6 }),
  at: instant,
  milliCpu: fc.integer({ min: 0, max: 5 }),
  memoryMib: fc.integer({ min: 0, max: 5 }),
  replicas: fc.constant(1),
  details: fc.constant(''),
  isTrial: fc.boolean(),
})
const changes = fc.uniqueArray(change, { maxLength: 8, selector: ({ generation, type }) => `${generation} ${type}` })
const horizon = { first: key(202510), last: key(202611) }

/** What an object occupies in one second, found without intervals. */
const occupied = (createdAt: UnixSeconds, all: readonly ObjectChange[], at: number): ObjectChange | undefined => {
  if (all.some((each) => each.type === 'object.deleted' && each.at <= at)) return undefined
  const first = all.filter(({ type }) => type === 'object.created').sort((a, b) => a.generation - b.generation)[0]
  const start = first === undefined ? undefined : Math.max(first.at - 35 * 86_400, Math.min(first.at, createdAt))
  if (start !== undefined && at < start) return undefined
  const applying = all.filter((each) => each.type !== 'object.deleted' && (each === first || each.at <= at))
  return applying.reduce<ObjectChange | undefined>((best, each) => {
    if (best === undefined || each.generation > best.generation) return each
    if (each.generation < best.generation) return best
    return each.at > best.at || (each.at === best.at && each.type > best.type) ? each : best
  }, undefined)
}

test('intervals: every second agrees with the oracle without overlaps', (t) => {
  fc.assert(
    fc.property(changes, instant, (all, createdAt) => {
      const intervals = intervalsOf(createdAt, all, horizon)
      for (let at = boundary - reach - 3; at < boundary + reach + 3; at += 1) {
        const covering = intervals.filter(({ from, to }) => from <= at && at < to)
        const expected = occupied(createdAt, all, at)
        t.is(covering.length, expected === undefined ? 0 : 1)
        t.deepEqual(
          [covering[0]?.milliCpu, covering[0]?.memoryMib, covering[0]?.generation],
          [expected?.milliCpu, expected?.memoryMib, expected?.generation],
        )
        if (covering[0] !== undefined) t.is(monthOf(at as UnixSeconds), covering[0].month)
      }
      for (const { month, from, to } of intervals)
        t.true(from < to && from >= monthBounds(month).from && to <= monthBounds(month).to)
      const end = all.some(({ type }) => type === 'object.deleted') ? 0 : monthBounds(horizon.last).to
      if (intervals.length > 0 && end > 0)
        t.is(intervals.at(-1)?.to, end as UnixSeconds, 'an object that exists is counted to the end of the month')
    }),
    { numRuns: 300 },
  )
})

test('intervals: the order of changes does not matter', (t) => {
  const identity = { ...created, product: 'dbProduct', createdAt: (boundary - 90 * 86_400) as UnixSeconds } as never
  const state = (all: readonly ObjectChange[]) => ({
    identity,
    lastHeardDay: 20_000,
    sendsHeartbeats: false,
    changes: all,
  })
  fc.assert(
    fc.property(changes, fc.integer({ min: 0, max: 8 }), fc.infiniteStream(fc.nat()), (all, count, order) => {
      const shuffled = all
        .map((each) => [order.next().value as number, each] as const)
        .sort(([a], [b]) => a - b)
        .map(([, each]) => each)
      t.deepEqual(intervalsOf(boundary, shuffled, horizon), intervalsOf(boundary, all, horizon))
      t.deepEqual(endsOf(state(shuffled)), endsOf(state(all)))
      const before = state(all.slice(0, count))
      const { months, intervals } = changedIntervals(before, state(all), horizon)
      const kept = intervalsOf(before.identity['createdAt'], before.changes, horizon).filter(
        ({ month }) => !months.includes(month),
      )
      t.deepEqual(
        [...kept, ...intervals].sort((a, b) => a.from - b.from),
        intervalsOf(before.identity['createdAt'], all, horizon),
      )
    }),
    { numRuns: 200 },
  )
})

test('intervals: a late creation counts for 35 days and kept months only', (t) => {
  const spec = {
    type: 'object.created',
    generation: 1,
    at: second('2026-11-20T00:00:00Z'),
    milliCpu: 1,
    memoryMib: 1,
    replicas: 1,
    details: '',
    isTrial: false,
  } as const
  const starts = (createdAt: string, first = 202510) =>
    intervalsOf(second(createdAt), [spec], { first: key(first), last: key(202611) })[0]?.from
  t.is(starts('2026-11-19T07:00:00Z'), second('2026-11-19T07:00:00Z'))
  t.is(starts('2020-01-01T00:00:00Z'), second('2026-10-16T00:00:00Z'))
  t.is(starts('2020-01-01T00:00:00Z', 202611), second('2026-11-01T00:00:00Z'))
})

test('presence: reported hours in any order are those of the instants', (t) => {
  fc.assert(
    fc.property(
      fc.array(
        fc
          .integer({ min: second('2024-01-01T00:00:00Z'), max: second('2024-04-30T00:00:00Z') })
          .map((at) => at as UnixSeconds),
        { minLength: 1 },
      ),
      (instants) => {
        const hours = hoursOf(instants)
        const heard = [...hours].flatMap(([month, bits]) => heardHours(month, bits)).sort((a, b) => a - b)
        t.deepEqual(
          heard,
          [...new Set(instants.map((at) => (at - (at % 3600)) as UnixSeconds))].sort((a, b) => a - b),
        )
        for (const [month, bits] of hoursOf([...instants].reverse())) t.deepEqual(bits, hours.get(month))
        const half = hoursOf(instants.slice(0, instants.length / 2))
        for (const [month, bits] of half) {
          const all = hours.get(month) ?? bits
          t.true(includesHours(all, bits))
          t.deepEqual(unionOfHours(all, bits), all)
        }
      },
    ),
  )
})

test('silence: an interval is cut after 24 hours without a report', (t) => {
  const interval = {
    objectId: 1 as never,
    from: second('2026-11-03T10:00:00Z'),
    to: second('2026-12-01T00:00:00Z'),
    lastHeardDay: second('2026-11-05T00:00:00Z') / 86_400,
  }
  const cut = (lastHeard: string) => new Date(cutOf(interval, second(lastHeard)) * 1000).toISOString()
  t.is(cut('2026-11-06T23:59:59Z'), '2026-12-01T00:00:00.000Z')
  t.is(cut('2026-11-07T00:00:00Z'), '2026-11-06T00:00:00.000Z')
  t.is(cutOf({ ...interval, lastHeardDay: interval.lastHeardDay - 9 }, second('2026-11-07T00:00:00Z')), interval.from)
  fc.assert(
    fc.property(
      fc.integer({ min: 20_000, max: 20_100 }),
      fc.integer({ min: 20_000 * 86_400, max: 20_100 * 86_400 }),
      (lastHeardDay, heard) => {
        const isCut =
          cutOf(
            { ...interval, from: 0 as UnixSeconds, to: (30_000 * 86_400) as UnixSeconds, lastHeardDay },
            heard as UnixSeconds,
          ) <
          30_000 * 86_400
        t.is(isCut, lastHeardDay < silentBeforeDay(heard as UnixSeconds), 'the statement finds what the rule cuts')
      },
    ),
  )
})
