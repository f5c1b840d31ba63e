import type { MonthKey } from '../types.ts'
import { monthSeconds } from '../month.ts'

/** A thousandth of a unit: the smallest part that is shown. */
export type Thousandths = bigint

/** Returns how many milli-core-seconds one core-month has: a core for every second of that month. */
export const perCoreMonth = (month: MonthKey): bigint => 1000n * BigInt(monthSeconds(month))

/** Returns how many MiB-seconds one GiB-month has: a GiB for every second of that month. */
export const perGibMonth = (month: MonthKey): bigint => 1024n * BigInt(monthSeconds(month))

/** Returns an amount in thousandths of a unit, rounded half to even. `perUnit` is positive; the amount is not negative. */
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

/** Amounts in thousandths that add up to their total. */
export interface Shares {
  /** The sum of all amounts, rounded once. */
  readonly total: Thousandths
  /** Returns what is shown for the amount that was added as the `index`th, from 0. It differs from the exact value by less than one thousandth. */
  shareOf(index: number, amount: bigint): Thousandths
}

/**
 * Divides a rounded total by largest remainder: each amount is rounded down, and those with the largest remainders are raised
 * by a thousandth, the earlier ones first, until they add up to the total. Add all amounts in order, then take the shares in any
 * order. It keeps 4 bytes for each amount, so that millions of items can be read twice.
 */
export interface Apportionment {
  add(amount: bigint): void
  shares(): Shares
}

const shortest = 1024
const bucketBits = 16
const buckets = 2 ** bucketBits

/** `perUnit` is at most 2^32: both units of a month are below 2.8 * 10^9. */
export const makeApportionment = (perUnit: bigint): Apportionment => {
  if (perUnit <= 0n || perUnit > 0x1_0000_0000n) throw new RangeError(`A unit of ${perUnit} is not from 1 to 2^32.`)
  let remainders = new Uint32Array(shortest)
  let count = 0
  let sum = 0n
  let floors = 0n
  return {
    add: (amount) => {
      const scaled = amount * 1000n
      if (count === remainders.length) {
        const longer = new Uint32Array(count * 2)
        longer.set(remainders)
        remainders = longer
      }
      remainders[count] = Number(scaled % perUnit)
      count += 1
      sum += amount
      floors += scaled / perUnit
    },
    shares: () => {
      const total = thousandthsOf(sum, perUnit)
      const used = remainders.subarray(0, count)
      const { above, lastOfEqual } = raisedOf(used, Number(total - floors))
      return {
        total,
        shareOf: (index, amount) => {
          const remainder = used[index]
          if (remainder === undefined) throw new RangeError(`There is no amount ${index}.`)
          const isRaised = remainder > above || (remainder === above && index <= lastOfEqual)
          return (amount * 1000n) / perUnit + (isRaised ? 1n : 0n)
        },
      }
    },
  }
}

/** Returns the remainder above which all are raised, and the last index of those equal to it that is raised too. */
const raisedOf = (remainders: Uint32Array, raised: number): { readonly above: number; readonly lastOfEqual: number } => {
  if (raised === 0) return { above: buckets * buckets, lastOfEqual: -1 }
  // By counting, in two steps of 16 bits: a sort of millions of numbers takes seconds.
  const high = cutOf(remainders, raised, (remainder) => remainder >>> bucketBits)
  const low = cutOf(remainders, high.left, (remainder) => (remainder >>> bucketBits === high.bucket ? remainder & (buckets - 1) : undefined))
  const above = high.bucket * buckets + low.bucket
  let left = low.left
  for (let index = 0; index < remainders.length; index += 1) {
    if (remainders[index] !== above) continue
    left -= 1
    if (left === 0) return { above, lastOfEqual: index }
  }
  throw new Error('The remainders do not add up to the total.')
}

/** Returns the bucket with the `wanted`th largest number, and how many of that bucket are wanted. */
const cutOf = (remainders: Uint32Array, wanted: number, bucketOf: (remainder: number) => number | undefined): { readonly bucket: number; readonly left: number } => {
  const counts = new Uint32Array(buckets)
  for (const remainder of remainders) {
    const bucket = bucketOf(remainder)
    if (bucket !== undefined) counts[bucket] = (counts[bucket] ?? 0) + 1
  }
  let left = wanted
  for (let bucket = buckets - 1; bucket >= 0; bucket -= 1) {
    const size = counts[bucket] ?? 0
    if (left <= size) return { bucket, left }
    left -= size
  }
  throw new Error('There are fewer remainders than wanted.')
}

/** Returns what is shown for each of a few amounts, and their total. */
export const apportion = (amounts: readonly bigint[], perUnit: bigint): { readonly total: Thousandths; readonly shares: readonly Thousandths[] } => {
  const apportionment = makeApportionment(perUnit)
  for (const amount of amounts) apportionment.add(amount)
  const { total, shareOf } = apportionment.shares()
  return { total, shares: amounts.map((amount, index) => shareOf(index, amount)) }
}
