import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { changedTerms, changeTimeline, effectiveInstant, namesTerms, termsAt } from '../../core/contracts/terms.ts'
import { unwrap } from '../support/outcome.ts'
import {
  base,
  date,
  fields,
  first,
  length,
  someChange,
  stepsAfter,
  terms,
  timelineAfter,
  valueAt,
} from './terms-timeline.ts'

test('at each second a term has its last change before', (t) => {
  fc.assert(
    fc.property(fc.array(someChange, { maxLength: 6 }), (changes) => {
      const { all, timeline } = timelineAfter(changes)
      const steps = stepsAfter(changes)
      for (let now = base - 30; now < base + length + 30; now += 1) {
        const found = termsAt(timeline, date(now))
        for (const field of fields)
          if (JSON.stringify(found?.[field]) !== valueAt(steps[field], now))
            return t.is(JSON.stringify(found?.[field]), valueAt(steps[field], now), `${field} at ${now - base}`)
      }
      t.is(new Set(all.map(({ number }) => number)).size, all.length, 'a number is used once')
      t.true(
        timeline.every(({ to }, index) => to?.getTime() === timeline[index + 1]?.from.getTime()),
        'no gaps',
      )
      return true
    }),
  )
})

test('a change counts from now or a named instant, past ones explicitly', (t) => {
  const now = new Date('2026-11-25T12:00:00.700Z')
  const instantOf = (from: string | undefined, reopens: boolean) =>
    effectiveInstant({ from: from === undefined ? undefined : new Date(from), reopens }, now)
  t.deepEqual(unwrap(instantOf(undefined, false)), now)
  t.deepEqual(unwrap(instantOf('2026-11-25T12:00:00Z', false)), now, 'the second that has begun is now')
  t.deepEqual(unwrap(instantOf('2026-12-01T00:00:00Z', false)), new Date('2026-12-01T00:00:00Z'))
  t.deepEqual(unwrap(instantOf('2026-11-01T00:00:00Z', true)), new Date('2026-11-01T00:00:00Z'))
  for (const [from, reopens] of [
    ['2026-11-25T11:59:59Z', false],
    [undefined, true],
    ['1969-12-31T23:59:59Z', true],
    ['+010000-01-01T00:00:00Z', false],
    ['no instant', true],
  ] as const)
    t.true(isLeft(instantOf(from, reopens)), from ?? '')
})

test('an empty change makes no version, and a conflicting one is refused', (t) => {
  const recorded = { recordedAt: date(base), recordedBy: '' }
  t.is(unwrap(changeTimeline([first], { product: 'database' }, date(base), recorded)), undefined)
  const planned =
    unwrap(changeTimeline([first], { startsAt: date(base + 9000) }, date(base + 100), recorded))?.versions ?? []
  t.deepEqual(changedTerms(planned[0]!, planned[1]!), ['startsAt'])
  const refused = changeTimeline(planned, { endsAt: date(base + 5000) }, date(base), recorded)
  t.true(isLeft(refused) && /planned from/.test(refused.left.message))
})

test('a second that has begun is now, and the year 9999 the last one', (t) => {
  const now = new Date('2026-11-28T12:00:00.700Z')
  const instantOf = (from: string | undefined, reopens = false) =>
    effectiveInstant({ from: from === undefined ? undefined : new Date(from), reopens }, now)
  t.is(unwrap(instantOf('2026-11-28T12:00:00.000Z')), now)
  t.is(unwrap(instantOf('2026-11-28T12:00:00.999Z')), now)
  t.true(isLeft(instantOf('2026-11-28T11:59:59.999Z')))
  t.deepEqual(unwrap(instantOf('2026-11-28T12:00:01.000Z')), new Date('2026-11-28T12:00:01.000Z'))
  t.deepEqual(unwrap(instantOf('9999-01-01T00:00:00Z')), new Date('9999-01-01T00:00:00Z'))
  t.true(isLeft(instantOf('9999-01-01T00:00:00.001Z')))
  t.deepEqual(unwrap(instantOf('1970-01-01T00:00:00Z', true)), new Date(0))
  t.true(isLeft(instantOf('1969-12-31T23:59:59Z', true)))
  t.true(isLeft(instantOf(undefined, true)))
})

test('a change at the instant of a version replaces it, and one within cuts it', (t) => {
  const recorded = { recordedAt: date(base), recordedBy: '' }
  const change = (at: number) => unwrap(changeTimeline([first], { maxTrials: 7 }, date(at), recorded))
  t.deepEqual(
    change(0)?.versions.map(({ number, from, to, maxTrials }) => ({ number, from, to, maxTrials })),
    [{ number: 2, from: date(0), to: undefined, maxTrials: 7 }],
  )
  t.deepEqual(
    change(base)?.versions.map(({ number, from, to }) => ({ number, from, to })),
    [
      { number: 1, from: date(0), to: date(base) },
      { number: 2, from: date(base), to: undefined },
    ],
  )
  t.is(change(base)?.first.number, 2)
})

test('a contract has at most 1,000 versions of its terms', (t) => {
  const recorded = { recordedAt: date(base), recordedBy: '' }
  const change = (number: number) => changeTimeline([{ ...first, number }], { maxTrials: 7 }, date(base), recorded)
  t.is(unwrap(change(999))?.first.number, 1000)
  t.true(isLeft(change(1000)))
})

test('only dated terms are named by a change', (t) => {
  t.false(namesTerms({ name: 'Databases' }))
  t.true(namesTerms({ maxTrials: 0 }))
  t.deepEqual(changedTerms(terms, { ...terms, features: ['database-basic', 'x'], maxTrials: 9 }), [
    'features',
    'maxTrials',
  ])
})
