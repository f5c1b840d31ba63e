import { laterByMonths } from '../month.ts'
import type { MonthKey, UsageMonth, UsageProduct, UsageViewName } from '../types.ts'
import { usageProducts } from '../types.ts'
import type { StoredUsageView, UsageViewStore } from '../views/ports.ts'
import type {
  ReportContent,
  ReportFrame,
  ReportRenderer,
  ReportSection,
  ReportTable,
  UsageReportStore,
  ReportChart,
} from './ports.ts'
import type { Comparisons } from './summary.ts'
import { summaryOf } from './summary.ts'
import { clusterTable, contractTable, kindTable, namespaceTable, objectTable, termsTable } from './tables.ts'
import type { ClusterItem, KindItem, ViewTotals, ShownPair, ShownUse } from './view-items.ts'
import { countText, decimals, itemsOf, totalsOf } from './view-items.ts'

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
