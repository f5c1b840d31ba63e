import type { StoredUsageView, UsageViewStore } from '../views/ports.ts'
import { compareNames, inOrder } from './by-name.ts'
import type { ReportColumn, ReportTable } from './ports.ts'
import type { ClusterItem, ContractItem, KindItem, NamespaceItem, ObjectItem, ShownUse, ViewTotals } from './view-items.ts'
import { decimals, itemsOf, totalsOf } from './view-items.ts'

type Pieces = Pick<UsageViewStore, 'pieces'>

/** A longer table would make a document that hardly a program opens; the views have all items. */
export const mostRows = 20_000

const text = (title: string, width: number): ReportColumn => ({ title, width, isNumber: false })
const number = (title: string, width = 1): ReportColumn => ({ title, width, isNumber: true })

const useColumns: readonly ReportColumn[] = [number('CPU'), number('Memory'), number('Prod.\nCPU'), number('Prod.\nmemory'), number('Non-prod.\nCPU', 1.1), number('Non-prod.\nmemory', 1.1)]

const useCells = ({ cpu, memory, prod, nonProd }: ShownUse): readonly string[] => [cpu, memory, prod.cpu, prod.memory, nonProd.cpu, nonProd.memory].map(decimals)

const none = 'None in this month.'

async function* nothing(): AsyncGenerator<never> {
  // A table of which only the note is shown.
}

async function* once(rows: readonly (readonly string[])[]): AsyncGenerator<readonly (readonly string[])[]> {
  yield rows
}

interface TableShape<Item> {
  readonly title: string
  readonly columns: readonly ReportColumn[]
  readonly cells: (item: Item) => readonly string[]
  readonly totals: (totals: ViewTotals) => readonly string[]
  /** The order of the items; that of the view without it. */
  readonly compare?: (a: Item, b: Item) => number
  readonly footnote?: string
}

const tableOf = <Item>(
  views: Pieces,
  view: StoredUsageView,
  { title, columns, cells, totals, compare, ...below }: TableShape<Item>,
): ReportTable => {
  if (view.itemCount > mostRows) return { title, columns, rows: nothing(), totals: undefined, note: `There are ${view.itemCount}, more than the ${mostRows} that a document lists. The view ${view.key.view} and its CSV list them.` }
  const rows = async function* (): AsyncGenerator<readonly (readonly string[])[]> {
    const items = itemsOf<Item>(views, view)
    for await (const some of compare === undefined ? items : inOrder(items, compare)) yield some.map(cells)
  }
  return { title, columns, rows: rows(), totals: totals(totalsOf(view)), note: none, ...below }
}

/** What was used in each class. */
export const classTable = ({ cpu, memory, prod, nonProd, free }: ViewTotals): ReportTable => ({
  title: 'Use by class',
  columns: [text('Class', 3), number('CPU, core-months'), number('Memory, GiB-months', 1.1)],
  rows: once([
    ['Production, billed', decimals(prod.cpu), decimals(prod.memory)],
    ['Non-production, billed', decimals(nonProd.cpu), decimals(nonProd.memory)],
    ['Trials, free', decimals(free.trial.cpu), decimals(free.trial.memory)],
    ['Without a contract, free', decimals(free.freeContract.cpu), decimals(free.freeContract.memory)],
  ]),
  totals: ['Total', decimals(cpu), decimals(memory)],
  note: none,
})

const quotaUnits: Readonly<Record<string, string>> = { cpu_core_month: 'core-months', memory_gib_month: 'GiB-months' }

export const contractTable = (views: Pieces, view: StoredUsageView): ReportTable =>
  tableOf<ContractItem>(views, view, {
    title: 'Contracts',
    columns: [text('Contract', 2.2), text('Quota', 1.8), number('Used'), number('Objects', 0.95), ...useColumns],
    cells: (item) => [
      item.contractID === 0 ? 'Without a contract' : item.name === '' ? `Contract ${item.contractID}` : item.name,
      item.quota === null ? '' : `${item.quota.limit} ${quotaUnits[item.quota.metric] ?? item.quota.metric}`,
      item.quota === null ? '' : `${item.quota.usedPercent}%`,
      String(item.objectCount),
      ...useCells(item),
    ],
    totals: (totals) => ['Total', '', '', String(totals.objectCount), ...useCells(totals)],
    ...(view.itemCount > 1 ? { footnote: 'An object counts once for each contract under which it was used, and once in the total.' } : {}),
  })

/** A cluster whose mode has changed in the month has both. */
const modeOf = ({ modes }: ClusterItem): string => (new Set(modes.map(({ mode }) => mode)).size > 1 ? 'both' : (modes[0]?.mode ?? ''))

export const clusterTable = (views: Pieces, view: StoredUsageView): ReportTable =>
  tableOf<ClusterItem>(views, view, {
    title: 'Clusters',
    columns: [text('Cluster', 2.2), text('Mode', 1.2), number('Hours', 1.1), number('Objects', 0.95), ...useColumns],
    cells: (item) => [item.displayName, modeOf(item), decimals(item.clusterHours), String(item.objectCount), ...useCells(item)],
    compare: (a, b) => compareNames(a.displayName, b.displayName),
    totals: (totals) => ['Total', '', totals.clusterHours === undefined ? '' : decimals(totals.clusterHours), String(totals.objectCount), ...useCells(totals)],
  })

/** The name of the cluster of an item. */
const nameIn = (names: ReadonlyMap<string, string>, { clusterUID }: { readonly clusterUID: string }): string => names.get(clusterUID) ?? clusterUID

export const namespaceTable = (views: Pieces, view: StoredUsageView, names: ReadonlyMap<string, string>): ReportTable =>
  tableOf<NamespaceItem>(views, view, {
    title: 'Namespaces',
    columns: [text('Namespace', 2), text('Cluster', 2), number('Objects', 0.95), ...useColumns],
    cells: (item) => [item.namespace, nameIn(names, item), String(item.objectCount), ...useCells(item)],
    compare: (a, b) => compareNames(a.namespace, b.namespace) || compareNames(nameIn(names, a), nameIn(names, b)),
    totals: (totals) => ['Total', '', String(totals.objectCount), ...useCells(totals)],
  })

export const kindTable = (views: Pieces, view: StoredUsageView): ReportTable =>
  tableOf<KindItem>(views, view, {
    title: 'Kinds',
    columns: [text('Kind', 1.5), text('Group', 2.1), number('Objects', 0.95), ...useColumns],
    cells: (item) => [item.kind, item.group, String(item.objectCount), ...useCells(item)],
    totals: (totals) => ['Total', '', String(totals.objectCount), ...useCells(totals)],
  })

export const objectTable = (views: Pieces, view: StoredUsageView, names: ReadonlyMap<string, string>): ReportTable =>
  tableOf<ObjectItem>(views, view, {
    title: 'Objects',
    columns: [text('Name', 2.6), text('Kind', 1.3), text('Namespace', 1.7), text('Cluster', 1.9), number('CPU'), number('Memory', 1.1)],
    cells: (item) => [item.name, item.kind, item.namespace, nameIn(names, item), decimals(item.cpu), decimals(item.memory)],
    compare: (a, b) => compareNames(a.name, b.name) || compareNames(a.namespace, b.namespace) || compareNames(nameIn(names, a), nameIn(names, b)),
    totals: ({ cpu, memory, objectCount }) => [`Total of ${objectCount}`, '', '', '', decimals(cpu), decimals(memory)],
  })
