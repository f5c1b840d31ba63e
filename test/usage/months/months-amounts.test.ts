import test from 'ava'
import fc from 'fast-check'
import { decimalOf, perCoreMonth, perGibMonth, thousandthsOf } from '../../../core/usage/amounts.ts'
import {
  daysOfMonth,
  laterByMonths,
  monthEnd,
  monthKey,
  monthOf,
  monthStart,
  monthText,
  parseMonthText,
  monthSeconds,
} from '../../../core/usage/month.ts'
import type { UnixSeconds } from '../../../core/usage/types.ts'

const months = fc
  .tuple(fc.integer({ min: 2000, max: 9998 }), fc.integer({ min: 1, max: 12 }))
  .map(([year, month]) => monthKey(year, month))
const units = months.chain((month) => fc.constantFrom(perCoreMonth(month), perGibMonth(month)))
/** Small ones, so that halves occur, and ones beyond 2^63. */
const amountOf = fc.oneof(fc.bigInt({ min: 0n, max: 5_000n }), fc.bigInt({ min: 0n, max: 10n ** 30n }))

/** The distance of a rational number to a candidate, as numerators over the same denominator. */
const distance = (amount: bigint, perUnit: bigint, thousandths: bigint): bigint => {
  const difference = amount * 1000n - thousandths * perUnit
  return difference < 0n ? -difference : difference
}

test('an amount is rounded to the nearest thousandth, and half to even', (t) => {
  fc.assert(
    fc.property(amountOf, fc.oneof(units, fc.bigInt({ min: 1n, max: 4_000n })), (amount, perUnit) => {
      const rounded = thousandthsOf(amount, perUnit)
      const [below, own, above] = [rounded - 1n, rounded, rounded + 1n].map((each) => distance(amount, perUnit, each))
      if (own! > below! || own! > above!) return false
      return (own !== below && own !== above) || rounded % 2n === 0n
    }),
  )
  t.deepEqual(
    [1n, 3n, 5n, 7n].map((amount) => thousandthsOf(amount, 2000n)),
    [0n, 2n, 2n, 4n],
  )
})

test('a core for a whole month is one core-month, whatever the length of the month', (t) => {
  fc.assert(
    fc.property(
      months,
      (month) => decimalOf(thousandthsOf(1000n * BigInt(monthSeconds(month)), perCoreMonth(month))) === '1.000',
    ),
  )
  t.deepEqual([0n, 7n, 1_234n, 10n ** 20n].map(decimalOf), ['0.000', '0.007', '1.234', '100000000000000000.000'])
})

test('months are calendar months in UTC', (t) => {
  t.deepEqual(
    [202402, 202302, 202611, 202612].map((key) => daysOfMonth(key as never)),
    [29, 28, 30, 31],
  )
  t.is(laterByMonths(monthKey(2026, 12), 1), monthKey(2027, 1))
  t.is(laterByMonths(monthKey(2026, 1), -14), monthKey(2024, 11))
  fc.assert(
    fc.property(months, fc.integer({ min: -400, max: 400 }), (month, count) => {
      const [first, last] = [monthStart(month), (monthEnd(month) - 1) as UnixSeconds]
      if (
        monthOf(first) !== month ||
        monthOf(last) !== month ||
        monthOf((last + 1) as UnixSeconds) !== laterByMonths(month, 1)
      )
        return false
      return laterByMonths(laterByMonths(month, count), -count) === month && parseMonthText(monthText(month)) === month
    }),
  )
  t.deepEqual(['2026-13', '2026-00', '1999-12', '9999-01', '2026-1', '26-01', ''].map(parseMonthText), [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
