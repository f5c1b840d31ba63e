import { thousandthsOf } from '../months/amounts.ts'

/** Thousandths of a unit as they are shown. Less than 2^53: a million cores of ten million objects. */
export type Shown = number

/** Rounds the amounts of a sequence, each of which is seen once, so that they add up to a total that is known before. */
export interface RunningShares {
  /** Returns what is shown for the next amount: its exact value rounded down or up to a thousandth. */
  next(amount: bigint): Shown
}

/**
 * Divides a rounded total over a sequence: what is shown for an amount is the rounded sum up to it less the rounded sum before it. So
 * any run of amounts is shown with an error below one thousandth, and all of them with the total. `sum` is the exact sum, and `total`
 * one of the two thousandths next to it.
 */
export const makeRunningShares = (sum: bigint, total: Shown, perUnit: bigint): RunningShares => {
  const offset = offsetFor(sum, BigInt(total), perUnit)
  // The exact sum less what was shown of it.
  let left = 0n
  return {
    next: (amount) => {
      if (amount === 0n) return 0
      left += amount * 1000n
      const shown = (left + offset) / perUnit
      left -= shown * perUnit
      return Number(shown)
    },
  }
}

/** Returns what is added before rounding down, so that the whole sum is rounded to the total. */
const offsetFor = (sum: bigint, total: bigint, perUnit: bigint): bigint => {
  const offset = [perUnit / 2n, 0n, perUnit - 1n].find((each) => (sum * 1000n + each) / perUnit === total)
  if (offset === undefined) throw new RangeError(`The total ${total} is not ${sum} of ${perUnit}, rounded to a thousandth.`)
  return offset
}

/**
 * Divides a total over a few amounts by largest remainder: each is rounded down, and those with the largest remainders are raised by a
 * thousandth, the earlier ones first, until they add up to the total, which is one of the two thousandths next to their exact sum.
 */
export const divideTotal = (total: Shown, amounts: readonly bigint[], perUnit: bigint): readonly Shown[] => {
  const shown = amounts.map((amount) => Number((amount * 1000n) / perUnit))
  let missing = total - shown.reduce((sum, each) => sum + each, 0)
  if (missing === 0) return shown
  const remainders = amounts.map((amount) => Number((amount * 1000n) % perUnit))
  const byRemainder = remainders.map((_, index) => index).sort((a, b) => (remainders[b] ?? 0) - (remainders[a] ?? 0) || a - b)
  for (const index of byRemainder.slice(0, Math.max(0, missing))) {
    shown[index] = (shown[index] ?? 0) + 1
    missing -= 1
  }
  if (missing !== 0) throw new RangeError(`${amounts.length} amounts do not add up to the total ${total}.`)
  return shown
}

/** Returns what is shown for the sum of all amounts. */
export const totalShown = (amounts: readonly bigint[], perUnit: bigint): Shown => Number(thousandthsOf(amounts.reduce((sum, each) => sum + each, 0n), perUnit))
