import { perCoreMonth, perGibMonth } from '../months/amounts.ts'
import type { MonthKey, UsageClass, UsedAmount } from '../types.ts'
import { usageClasses } from '../types.ts'
import type { RunningShares, Shown } from './shares.ts'
import { divideTotal, makeRunningShares, totalShown } from './shares.ts'

/** Exact amounts by class and measure: `prod` cpu, `prod` memory, `non-prod` cpu, and so on. */
export type Amounts = bigint[]
/** The same as they are shown. */
export type ShownAmounts = readonly Shown[]

/** cpu and memory. */
const measures = 2
const slots = usageClasses.length * measures
const firstSlotOf: Readonly<Record<UsageClass, number>> = { prod: 0, 'non-prod': 2, trial: 4, free: 6 }
const everySlot = Array.from({ length: slots }, (_, slot) => slot)

export const noAmounts = (): Amounts => Array.from({ length: slots }, () => 0n)

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
 * The rounding of all views of a product in a month. The total of cpu, and that of memory, is rounded once. It is divided over the
 * classes; what is shown for a class is divided over the rows of a view; what is shown for a row over its parts. So all figures of all
 * views add up, and each differs by less than a thousandth from its exact value, except the sum of classes in one row.
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
      const running = everySlot.map((slot): RunningShares => makeRunningShares(exactOf(slot), totals[slot] ?? 0, unitOf(slot)))
      return { next: (amounts) => running.map((shares, slot) => shares.next(amounts[slot] ?? 0n)) }
    },
    parts: (row, parts) => {
      const bySlot = everySlot.map((slot) => ((row[slot] ?? 0) === 0 && parts.every((part) => part[slot] === 0n) ? undefined : divideTotal(row[slot] ?? 0, parts.map((part) => part[slot] ?? 0n), unitOf(slot))))
      return parts.map((_, index) => bySlot.map((shown) => shown?.[index] ?? 0))
    },
  }
}

const pair = (shown: ShownAmounts, slot: number): string => `{"cpu":${numberText(shown[slot] ?? 0)},"memory":${numberText(shown[slot + 1] ?? 0)}}`

/** Returns thousandths as a JSON number, as short as possible: `12.34`. */
export const numberText = (shown: Shown): string => String(shown / 1000)

const sumOf = (shown: ShownAmounts, measure: number): Shown => (shown[measure] ?? 0) + (shown[measure + 2] ?? 0) + (shown[measure + 4] ?? 0) + (shown[measure + 6] ?? 0)

/** Returns the members of an item that the view type `total` shows: `"cpu":1,"memory":2`. */
export const totalText = (shown: ShownAmounts): string => `"cpu":${numberText(sumOf(shown, 0))},"memory":${numberText(sumOf(shown, 1))}`

/** Returns the members of an item that the view type `billable` shows. */
export const billableText = (shown: ShownAmounts): string =>
  `${totalText(shown)},"prod":${pair(shown, 0)},"nonProd":${pair(shown, 2)},"free":{"trial":${pair(shown, 4)},"freeContract":${pair(shown, 6)}}`

/** What is billed of cpu or memory: the classes that are not free. */
export const billedOf = (amounts: readonly bigint[], measure: 'cpu' | 'memory'): bigint => {
  const slot = measure === 'cpu' ? 0 : 1
  return (amounts[slot] ?? 0n) + (amounts[slot + 2] ?? 0n)
}
