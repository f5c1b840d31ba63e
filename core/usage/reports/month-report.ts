import { laterByMonths, monthName, yearOf } from '../month.ts'
import type { MonthKey, UsageMonth, UsageProduct, UsageViewName } from '../types.ts'
import { usageProducts } from '../types.ts'
import type { StoredUsageView, UsageViewStore } from '../views/ports.ts'
import type {
  ReportChart,
  ReportColumn,
  ReportContent,
  ReportFrame,
  ReportRenderer,
  ReportSection,
  ReportSummary,
  ReportTable,
  StoredReport,
  UsageReportStore,
} from './ports.ts'
import { clusterTable, contractTable, kindTable, namespaceTable, objectTable, termsTable } from './tables.ts'
import type { ClusterItem, KindItem, ShownPair, ShownUse, ViewTotals } from './view-items.ts'
import { change, countText, decimals, itemsOf, totalsOf } from './view-items.ts'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'

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
const chartsOf = (matrices: readonly (readonly ShownUse[])[]): readonly ReportChart[] =>
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

const titles: Readonly<Record<UsageProduct, string>> = {
  dbProduct: 'Databases',
  backupProduct: 'Backup',
  vaultProduct: 'Vault',
  ingressProduct: 'Ingress',
}

interface ReportSources {
  readonly views: Pick<UsageViewStore, 'find' | 'listOf' | 'pieces'>
  readonly frame: ReportFrame
}

/**
 * Returns what the report of a revision shows: the figures of its views, and no others. The rows are read while the
 * report is written.
 */
const buildReport = async ({ views, frame }: ReportSources, month: UsageMonth): Promise<ReportContent> => {
  const stored = await views.listOf(month.id)
  const sections: ReportSection[] = []
  for (const product of usageProducts) {
    const section = await sectionOf(
      { views, month: month.month, stored },
      product,
      await comparisonsOf(views, month, product),
    )
    if (section !== undefined) sections.push(section)
  }
  const { revision, status, generatedAt } = month
  return {
    ownerName: (await frame.nameOf(month.ownerId)) ?? `Account ${month.ownerId}`,
    branding: await frame.branding(),
    month: month.month,
    revision,
    status,
    generatedAt,
    sections,
  }
}

/** Returns the totals of a product in the newest revision of the month before, and in the revision before this one. */
const comparisonsOf = async (
  views: Pick<UsageViewStore, 'find'>,
  { ownerId, month, revision }: UsageMonth,
  product: UsageProduct,
): Promise<Comparisons> => {
  const compared = async (of: MonthKey, its?: number): Promise<Comparisons['lastMonth']> => {
    const view = await views.find(ownerId, of, { product, view: 'clusters-usage-view', viewType: 'billable' }, its)
    return view === undefined ? undefined : { month: view.month, totals: totalsOf(view) }
  }
  return {
    lastMonth: await compared(laterByMonths(month, -1)),
    revisionBefore: revision > 1 ? await compared(month, revision - 1) : undefined,
  }
}

interface StoredMonth {
  readonly views: ReportSources['views']
  readonly month: MonthKey
  readonly stored: readonly StoredUsageView[]
}

const sectionOf = async (
  { views, month, stored }: StoredMonth,
  product: UsageProduct,
  compared: Comparisons,
): Promise<ReportSection | undefined> => {
  const find = (view: UsageViewName, viewType: 'total' | 'billable'): StoredUsageView | undefined =>
    stored.find(({ key }) => key.product === product && key.view === view && key.viewType === viewType)
  const clusters = find('clusters-usage-view', 'billable')
  const contracts = find('contracts-usage-view', 'billable')
  const namespaces = find('namespaces-usage-view', 'billable')
  const kinds = find('gks-usage-view', 'billable')
  const objects = find('objects-usage-view', 'billable')
  if (clusters === undefined) return undefined
  const totals = totalsOf(clusters)
  if (totals.objectCount === 0) return undefined
  const names = new Map<string, string>()
  for await (const items of itemsOf<ClusterItem>(views, clusters))
    for (const { clusterUID, displayName } of items) names.set(clusterUID, displayName)
  const days: KindItem['matrix'][number][][] = []
  if (kinds !== undefined)
    for await (const items of itemsOf<KindItem>(views, kinds)) for (const { matrix } of items) days.push([...matrix])
  const tables: readonly (ReportTable | undefined)[] = [
    contracts && termsTable(views, contracts, month),
    contracts && contractTable(views, contracts),
    clusterTable(views, clusters),
    namespaces && namespaceTable(views, namespaces, names),
    kinds && kindTable(views, kinds),
    objects && objectTable(views, objects, names),
  ]
  return {
    title: titles[product],
    summary: summaryOf(totals, compared),
    figures: figuresOf(totals, clusters.itemCount),
    charts: kinds === undefined ? [] : chartsOf(days),
    tables: tables.filter((table) => table !== undefined),
  }
}

const figuresOf = (totals: ViewTotals, clusterCount: number): ReportSection['figures'] => [
  ['CPU, core-months', decimals(totals.cpu)],
  ['Memory, GiB-months', decimals(totals.memory)],
  ['Objects', countText(totals.objectCount)],
  ['Clusters', countText(clusterCount)],
  ...(totals.clusterHours === undefined ? [] : [['Hours of clusters', decimals(totals.clusterHours)] as const]),
]

/**
 * Returns the function that writes the report of a revision whose views are complete. The revision must have no report.
 */
export const makeWriteReport =
  (deps: ReportSources & { readonly renderer: ReportRenderer; readonly reports: UsageReportStore }) =>
  async (month: UsageMonth, signal: AbortSignal): Promise<void> => {
    const content = await buildReport(deps, month)
    let piece = 0
    for await (const bytes of deps.renderer.render(content, signal)) {
      await deps.reports.addPiece(month.id, piece, bytes)
      piece += 1
    }
  }

/** The month was not generated for the account, or has no report. */
export const UsageReportMissing = defineFailure('UsageReportMissing', 'NotFound', 'No report of this month exists.')

export interface AskedReport {
  readonly ownerId: AccountId
  readonly month: MonthKey
  /** The newest if absent. */
  readonly revision: number | undefined
}

/** Returns the report of a month. */
export const makeFindReport =
  ({ reports }: { readonly reports: UsageReportStore }) =>
  async (
    _call: SignedInCall<never>,
    { ownerId, month, revision }: AskedReport,
  ): Outcome<Failure<'UsageReportMissing'>, StoredReport> => {
    const found = await reports.find(ownerId, month, revision)
    return found === undefined ? left(UsageReportMissing('There is no report of this month.')) : right(found)
  }

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
const summaryOf = (totals: ShownUse, compared: Comparisons): ReportSummary => {
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
