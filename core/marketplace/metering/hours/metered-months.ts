import type { Clock } from '../../../kernel/clock.ts'
import { portKey } from '../../../kernel/port-key.ts'
import type { MeteredHourStore, MeteredMonth, MeteredSums } from './ports.ts'

/** Returns sums as quantities with their fractions. What is less than one unit of the newest hour waits, too. */
const figuresOf = (sums: MeteredSums, rest: number): MeteredMonth => {
  const { subscriptionRef, dimension, unit, metered } = sums
  const inUnits = (amount: bigint): number => (unit === 0 ? 0 : Number(amount) / unit)
  const lost = sums.lost + inUnits(sums.lostAmount)
  const waiting = sums.pending + inUnits(sums.lateAmount + BigInt(rest))
  return { subscriptionRef, dimension, used: metered + lost + waiting, metered, lost, waiting }
}

interface MeteredMonthsDeps {
  readonly hours: Pick<MeteredHourStore, 'sums' | 'newest'>
  readonly clock: Clock
}

/** Returns what was made of the usage of a month; of the running one without a month. */
export type ReadMeteredMonth = (month?: string) => Promise<readonly MeteredMonth[]>
export const ReadMeteredMonthPort = portKey<ReadMeteredMonth>('metering.ReadMeteredMonth')

/** Reads what was made of the usage of months. A month is a text such as `2026-11`. */
export const makeReadMeteredMonth =
  ({ hours, clock }: MeteredMonthsDeps): ReadMeteredMonth =>
  async (month = clock.now().toISOString().slice(0, 7)) => {
    const from = new Date(`${month}-01T00:00:00Z`)
    const to = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1))
    const sums = await hours.sums(from, to)
    const figures: MeteredMonth[] = []
    for (const each of sums) {
      const newest = await hours.newest(each.dimension)
      const hasRest =
        newest !== undefined &&
        newest.hour >= from &&
        newest.hour < to &&
        newest.subscriptionRef === each.subscriptionRef
      figures.push(figuresOf(each, hasRest ? newest.rest : 0))
    }
    return figures
  }
