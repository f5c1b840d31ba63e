import type { MonthKey } from './types.ts'
import { monthSeconds } from './month.ts'

/** A thousandth of a unit: the smallest part that is shown. */
export type Thousandths = bigint

/** Returns how many milli-core-seconds one core-month has: a core for every second of that month. */
export const perCoreMonth = (month: MonthKey): bigint => 1000n * BigInt(monthSeconds(month))

/** Returns how many MiB-seconds one GiB-month has: a GiB for every second of that month. */
export const perGibMonth = (month: MonthKey): bigint => 1024n * BigInt(monthSeconds(month))

/**
 * Returns an amount in thousandths of a unit, rounded half to even. `perUnit` is positive; the amount is not negative.
 */
export const thousandthsOf = (amount: bigint, perUnit: bigint): Thousandths => {
  const scaled = amount * 1000n
  const floor = scaled / perUnit
  const twice = (scaled % perUnit) * 2n
  const isUp = twice > perUnit || (twice === perUnit && floor % 2n === 1n)
  return isUp ? floor + 1n : floor
}

/** Returns thousandths as a decimal number with three digits after the point, which is also a JSON number: `12.340`. */
export const decimalOf = (thousandths: Thousandths): string => {
  const digits = thousandths.toString().padStart(4, '0')
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`
}
