import type { ReportChart } from './ports.ts'
import type { ShownPair, ShownUse } from './view-items.ts'

/** The classes in the order of the bars, from the axis. */
const classes: readonly (readonly [string, (use: ShownUse) => ShownPair])[] = [
  ['Production', ({ prod }) => prod],
  ['Non-production', ({ nonProd }) => nonProd],
  ['Trials', ({ free }) => free.trial],
  ['Without a contract', ({ free }) => free.freeContract],
]

/**
 * Returns charts of cpu and memory per day. `matrices` has the days of each kind. Classes that were not used are left
 * out.
 */
export const chartsOf = (matrices: readonly (readonly ShownUse[])[]): readonly ReportChart[] =>
  (['cpu', 'memory'] as const).map((measure) => {
    const series = classes.map(([name, of]) => ({ name, values: sumsOf(matrices, (use) => of(use)[measure]) }))
    const used = series.filter(({ values }) => values.some((value) => value > 0))
    return {
      title: measure === 'cpu' ? 'CPU per day' : 'Memory per day',
      unit: measure === 'cpu' ? 'core-months' : 'GiB-months',
      series: used.length === 0 ? series.slice(0, 1) : used,
    }
  })

/** Sums by day, as whole thousandths: sums of decimal fractions would not be exact. */
const sumsOf = (matrices: readonly (readonly ShownUse[])[], of: (use: ShownUse) => number): readonly number[] =>
  Array.from({ length: Math.max(0, ...matrices.map((days) => days.length)) }, (_, day) => {
    const thousandths = matrices.reduce(
      (sum, days) => sum + Math.round((days[day] === undefined ? 0 : of(days[day])) * 1000),
      0,
    )
    return thousandths / 1000
  })
