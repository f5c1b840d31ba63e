import { perCoreMonth, perGibMonth, thousandthsOf } from '../amounts.ts'
import type { MonthKey, UsageClass, UsedAmount } from '../types.ts'
import { usageClasses } from '../types.ts'

/** Thousandths of a unit as they are shown. Less than 2^53: a million cores of ten million objects. */
export type Shown = number

/**
 * Rounds the amounts of a sequence, each of which is seen once, so that they add up to a total that is known before.
 */
interface RunningShares {
  /** Returns what is shown for the next amount: its exact value rounded down or up to a thousandth. */
  next(amount: bigint): Shown
}

/**
 * Divides a rounded total over a sequence: what is shown for an amount is the rounded sum up to it less the rounded sum
 * before it. So any run of amounts is shown with an error below one thousandth, and all of them with the total. `sum`
 * is the exact sum, and `total` one of the two thousandths next to it.
 */
export const makeRunningShares = (sum: bigint, total: Shown, perUnit: bigint): RunningShares => {
  const offset = offsetFor(sum, BigInt(total), perUnit)
  const [unit, before] = [Number(perUnit), Number(offset)]
  // The exact sum less what was shown of it: between -perUnit and perUnit.
  let left = 0
  return {
    next: (amount) => {
      if (amount === 0n) return 0
      if (amount >= mostPlain) {
        const scaled = BigInt(left) + amount * 1000n
        const shown = (scaled + offset) / perUnit
        left = Number(scaled - shown * perUnit)
        return Number(shown)
      }
      const scaled = left + Number(amount) * 1000
      const shown = quotient(scaled + before, unit)
      left = scaled - shown * unit
      return shown
    },
  }
}

/** Below it, thousand times an amount and two units more are below 2^53: a unit is below 2^32. */
const mostPlain = 2n ** 43n

/**
 * Returns the quotient of a number that is not negative and below 2^53, rounded down: the division of numbers may be
 * rounded up to the next one.
 */
const quotient = (dividend: number, divisor: number): number => {
  const near = Math.floor(dividend / divisor)
  return near * divisor > dividend ? near - 1 : near
}

/** Returns what is added before rounding down, so that the whole sum is rounded to the total. */
const offsetFor = (sum: bigint, total: bigint, perUnit: bigint): bigint => {
  const offset = [perUnit / 2n, 0n, perUnit - 1n].find((each) => (sum * 1000n + each) / perUnit === total)
  if (offset === undefined)
    throw new RangeError(`The total ${total} is not ${sum} of ${perUnit}, rounded to a thousandth.`)
  return offset
}

/**
 * Divides a total over a few amounts by largest remainder: each is rounded down, and those with the largest remainders
 * are raised by a thousandth, the earlier ones first, until they add up to the total, which is one of the two
 * thousandths next to their exact sum.
 */
export const divideTotal = (total: Shown, amounts: readonly bigint[], perUnit: bigint): readonly Shown[] => {
  const unit = Number(perUnit)
  let missing = total
  const shown = amounts.map((amount) => {
    const part = amount < mostPlain ? quotient(Number(amount) * 1000, unit) : Number((amount * 1000n) / perUnit)
    missing -= part
    return part
  })
  if (missing === 0) return shown
  const remainders = amounts.map((amount) => Number((amount * 1000n) % perUnit))
  const byRemainder = remainders
    .map((_, index) => index)
    .sort((a, b) => (remainders[b] ?? 0) - (remainders[a] ?? 0) || a - b)
  for (const index of byRemainder.slice(0, Math.max(0, missing))) {
    shown[index] = (shown[index] ?? 0) + 1
    missing -= 1
  }
  if (missing !== 0) throw new RangeError(`${amounts.length} amounts do not add up to the total ${total}.`)
  return shown
}

/** Returns what is shown for the sum of all amounts. */
export const totalShown = (amounts: readonly bigint[], perUnit: bigint): Shown =>
  Number(
    thousandthsOf(
      amounts.reduce((sum, each) => sum + each, 0n),
      perUnit,
    ),
  )

/** Exact amounts by class and measure: `prod` cpu, `prod` memory, `non-prod` cpu, and so on. */
export type Amounts = bigint[]
/** The same as they are shown. */
export type ShownAmounts = readonly Shown[]

/** cpu and memory. */
const measures = 2
const slots = usageClasses.length * measures
const firstSlotOf: Readonly<Record<UsageClass, number>> = { prod: 0, 'non-prod': 2, trial: 4, free: 6 }
const everySlot = Array.from({ length: slots }, (_, slot) => slot)

export const noAmounts = (): Amounts => [0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n]

/** Adds what was used in a class to amounts. */
export const addUse = (amounts: Amounts, use: UsageClass, { milliCpuSeconds, mebibyteSeconds }: UsedAmount): void => {
  const slot = firstSlotOf[use]
  amounts[slot] = (amounts[slot] ?? 0n) + milliCpuSeconds
  amounts[slot + 1] = (amounts[slot + 1] ?? 0n) + mebibyteSeconds
}

export const addAmounts = (amounts: Amounts, more: readonly bigint[]): void => {
  for (let slot = 0; slot < slots; slot += 1) {
    const added = more[slot] ?? 0n
    if (added !== 0n) amounts[slot] = (amounts[slot] ?? 0n) + added
  }
}

/**
 * The rounding of all views of a product in a month. The total of cpu, and that of memory, is rounded once. It is
 * divided over the classes; what is shown for a class is divided over the rows of a view; what is shown for a row over
 * its parts. So all figures of all views add up, and each differs by less than a thousandth from its exact value,
 * except the sum of classes in one row.
 */
export interface Rounding {
  readonly totals: ShownAmounts
  /** Returns the rounding of the rows of one view. Together they have the exact totals. */
  rows(): { next(amounts: readonly bigint[]): ShownAmounts }
  /** Divides a row over its parts. */
  parts(row: ShownAmounts, parts: readonly (readonly bigint[])[]): readonly ShownAmounts[]
}

export const makeRounding = (month: MonthKey, exact: readonly bigint[]): Rounding => {
  const units = [perCoreMonth(month), perGibMonth(month)]
  const unitOf = (slot: number): bigint => units[slot % measures] ?? 1n
  const exactOf = (slot: number): bigint => exact[slot] ?? 0n
  const totals = everySlot.map(() => 0)
  for (let measure = 0; measure < measures; measure += 1) {
    const own = everySlot.filter((slot) => slot % measures === measure)
    const shown = divideTotal(totalShown(own.map(exactOf), unitOf(measure)), own.map(exactOf), unitOf(measure))
    own.forEach((slot, index) => void (totals[slot] = shown[index] ?? 0))
  }
  return {
    totals,
    rows: () => {
      const running = everySlot.map((slot): RunningShares =>
        makeRunningShares(exactOf(slot), totals[slot] ?? 0, unitOf(slot)),
      )
      return { next: (amounts) => running.map((shares, slot) => shares.next(amounts[slot] ?? 0n)) }
    },
    parts: (row, parts) => {
      const bySlot = everySlot.map((slot) =>
        (row[slot] ?? 0) === 0 && parts.every((part) => part[slot] === 0n)
          ? undefined
          : divideTotal(
              row[slot] ?? 0,
              parts.map((part) => part[slot] ?? 0n),
              unitOf(slot),
            ),
      )
      return parts.map((_, index) => bySlot.map((shown) => shown?.[index] ?? 0))
    },
  }
}

const pair = (shown: ShownAmounts, slot: number): string =>
  `{"cpu":${numberText(shown[slot] ?? 0)},"memory":${numberText(shown[slot + 1] ?? 0)}}`

/** The digits of each number of thousandths after the point, with the point. */
const fractions = Array.from({ length: 1000 }, (_, thousandths) => String(thousandths / 1000).slice(1))
/**
 * Below it, a number with three decimals has at most 15 digits, which are those that are shown of the nearest double.
 */
const mostDigits = 1e15

/** Returns thousandths as a JSON number, as short as possible: `12.34`. */
export const numberText = (shown: Shown): string => {
  if (shown < 0 || shown >= mostDigits) return String(shown / 1000)
  // Twice as fast as a division and the digits of its result.
  const part = shown % 1000
  return part === 0 ? String(shown / 1000) : `${(shown - part) / 1000}${fractions[part] ?? ''}`
}

const sumOf = (shown: ShownAmounts, measure: number): Shown =>
  (shown[measure] ?? 0) + (shown[measure + 2] ?? 0) + (shown[measure + 4] ?? 0) + (shown[measure + 6] ?? 0)

/** Returns the members of an item that the view type `total` shows: `"cpu":1,"memory":2`. */
export const totalText = (shown: ShownAmounts): string =>
  `"cpu":${numberText(sumOf(shown, 0))},"memory":${numberText(sumOf(shown, 1))}`

/** Returns the members of an item that the view type `billable` shows. */
export const billableText = (shown: ShownAmounts): string =>
  `${totalText(shown)},"prod":${pair(shown, 0)},"nonProd":${pair(shown, 2)},"free":{"trial":${pair(shown, 4)},"freeContract":${pair(shown, 6)}}`

/** Returns what is shown as billed of cpu or memory: the classes that are not free. */
export const billedShown = (shown: ShownAmounts, measure: 'cpu' | 'memory'): Shown => {
  const slot = measure === 'cpu' ? 0 : 1
  return (shown[slot] ?? 0) + (shown[slot + 2] ?? 0)
}

/** Returns the use of one class in an item: `"cpu":1,"memory":2`. */
export const classText = (shown: ShownAmounts, use: UsageClass): string =>
  `"cpu":${numberText(shown[firstSlotOf[use]] ?? 0)},"memory":${numberText(shown[firstSlotOf[use] + 1] ?? 0)}`
