import type { UsageMonth } from '../types.ts'
import { monthName, yearOf } from '../month.ts'
import type { ReportColumn, ReportSummary } from './ports.ts'
import type { ShownPair, ShownUse } from './view-items.ts'
import { change, decimals } from './view-items.ts'

/** Totals of another revision with which a report is compared. */
export interface Compared {
  readonly month: Pick<UsageMonth, 'month' | 'revision' | 'status'>
  readonly totals: ShownUse
}

/** What the totals of a report are compared with, as far as there is one. */
export interface Comparisons {
  readonly lastMonth: Compared | undefined
  readonly revisionBefore: Compared | undefined
}

const sum = (...pairs: readonly ShownPair[]): ShownPair => {
  const add = (measure: 'cpu' | 'memory'): number =>
    pairs.reduce((total, pair) => total + Math.round(pair[measure] * 1000), 0) / 1000
  return { cpu: add('cpu'), memory: add('memory') }
}

/** The rows of the summary: the parts, and their sums after them. */
const parts: readonly { readonly name: string; readonly isSum?: true; readonly of: (use: ShownUse) => ShownPair }[] = [
  { name: 'Production, billed', of: ({ prod }) => prod },
  { name: 'Non-production, billed', of: ({ nonProd }) => nonProd },
  { name: 'Billed', isSum: true, of: ({ prod, nonProd }) => sum(prod, nonProd) },
  { name: 'Trials, free', of: ({ free }) => free.trial },
  { name: 'Without a contract, free', of: ({ free }) => free.freeContract },
  { name: 'Free', isSum: true, of: ({ free }) => sum(free.trial, free.freeContract) },
]

const measures = ['cpu', 'memory'] as const
const units = { cpu: 'CPU,\ncore-months', memory: 'Memory,\nGiB-months' } as const
const number = (title: string): ReportColumn => ({ title, width: 1, isNumber: true })

const nameOf = ({ month: { month } }: Compared): string => `${monthName(month)} ${yearOf(month)}`

const columnsOf = ({ lastMonth, revisionBefore }: Comparisons): readonly ReportColumn[] => [
  { title: 'Use', width: 2, isNumber: false },
  ...measures.flatMap((measure) => [
    number(units[measure]),
    ...(lastMonth === undefined ? [] : [number(`in\n${nameOf(lastMonth)}`), number('change to\nlast month')]),
    ...(revisionBefore === undefined ? [] : [number(`change to\nrevision ${revisionBefore.month.revision}`)]),
  ]),
]

const footnoteOf = ({ lastMonth, revisionBefore }: Comparisons): string =>
  [
    lastMonth === undefined
      ? 'There is no report of the month before to compare with.'
      : `Last month: revision ${lastMonth.month.revision} of ${nameOf(lastMonth)}, ${lastMonth.month.status}.`,
    ...(revisionBefore === undefined
      ? []
      : [
          `This revision replaces revision ${revisionBefore.month.revision}, which was ${revisionBefore.month.status}.`,
        ]),
  ].join(' ')

/** Returns what is billed and what is free of a product, compared with the last month and with the revision before. */
export const summaryOf = (totals: ShownUse, compared: Comparisons): ReportSummary => {
  const { lastMonth, revisionBefore } = compared
  const cells = (name: string, of: (use: ShownUse) => ShownPair): readonly string[] => [
    name,
    ...measures.flatMap((measure) => {
      const now = of(totals)[measure]
      const before = lastMonth === undefined ? undefined : of(lastMonth.totals)[measure]
      return [
        decimals(now),
        ...(before === undefined ? [] : [decimals(before), change(now, before)]),
        ...(revisionBefore === undefined ? [] : [change(now, of(revisionBefore.totals)[measure])]),
      ]
    }),
  ]
  return {
    columns: columnsOf(compared),
    rows: parts.map(({ name, of }) => cells(name, of)),
    subtotals: parts.flatMap(({ isSum }, index) => (isSum === true ? [index] : [])),
    totals: cells('All use', (use) => use),
    footnote: footnoteOf(compared),
  }
}
