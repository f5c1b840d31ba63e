import { monthStart } from '../month.ts'
import type { MonthKey, UsageClass } from '../types.ts'
import type { StoredUsageView, UsageViewStore } from '../views/ports.ts'
import type { ReportColumn, ReportTable } from './ports.ts'
import type {
  ClusterItem,
  ContractItem,
  KindItem,
  NamespaceItem,
  ObjectItem,
  ShownPair,
  ShownUse,
  ViewTotals,
} from './view-items.ts'
import { countText, decimals, itemsOf, totalsOf } from './view-items.ts'

type Pieces = Pick<UsageViewStore, 'pieces'>

/** A longer table would make a document that hardly a program opens; the views have all items. */
const mostRows = 20_000

const text = (title: string, width: number): ReportColumn => ({ title, width, isNumber: false })
const number = (title: string, width = 1): ReportColumn => ({ title, width, isNumber: true })
const uid = (title: string): ReportColumn => ({ title, width: 3.1, isNumber: false, isId: true })
const objectCount = number('Objects', 0.85)

/** All parts of what was used, and their sum: a row adds up. */
const useColumns: readonly ReportColumn[] = ['CPU', 'Memory'].flatMap((measure) => [
  number(`${measure}\nprod.\n(billed)`),
  number(`${measure}\nnon-prod.\n(billed)`),
  number(`${measure}\ntrials\n(free)`),
  number(`${measure}\nwithout\ncontract\n(free)`),
  number(`${measure}\nall`),
])

const useCells = (use: ShownUse): readonly string[] => {
  const { prod, nonProd, free } = use
  return (['cpu', 'memory'] as const).flatMap((measure) =>
    [prod, nonProd, free.trial, free.freeContract, use].map((part) => decimals(part[measure])),
  )
}

const none = 'None in this month.'

async function* nothing(): AsyncGenerator<never> {
  // A table of which only the note is shown.
}

interface TableShape<Item> {
  readonly title: string
  readonly columns: readonly ReportColumn[]
  readonly rowsOf: (item: Item) => readonly (readonly string[])[]
  readonly totals: ((totals: ViewTotals) => readonly string[]) | undefined
  /** The order of the items; that of the view without it. */
  readonly compare?: (a: Item, b: Item) => number
  readonly note?: string
  readonly footnote?: string
  readonly sums?: NonNullable<ReportTable['sums']>
}

const tableOf = <Item>(
  views: Pieces,
  view: StoredUsageView,
  { title, columns, rowsOf, totals, compare, note = none, ...below }: TableShape<Item>,
): ReportTable => {
  if (view.itemCount > mostRows) {
    const instead = `There are ${countText(view.itemCount)}, more than the ${countText(mostRows)} that a document lists. The view ${view.key.view} and its CSV list them.`
    return { title, columns, rows: nothing(), totals: undefined, note: instead }
  }
  const rows = async function* (): AsyncGenerator<readonly (readonly string[])[]> {
    const items = itemsOf<Item>(views, view)
    for await (const some of compare === undefined ? items : inOrder(items, compare)) yield some.flatMap(rowsOf)
  }
  return { title, columns, rows: rows(), totals: totals?.(totalsOf(view)), note, ...below }
}

const quotaUnits: Readonly<Record<string, string>> = { cpu_core_month: 'core-months', memory_gib_month: 'GiB-months' }

/** Returns an instant in UTC, without its time if that is midnight. */
const instantShown = (at: string | null): string =>
  at === null ? '' : at.slice(0, 16).replace('T', ' ').replace(' 00:00', '')

const contractName = ({ contractID, name }: ContractItem): string => (contractID === 0 ? 'Without a contract' : name)
const contractNumber = (id: number): string => (id === 0 ? '-' : String(id))

const productText = ({ product, features }: Pick<ContractItem, 'product' | 'features'>): string =>
  [product, ...features.filter((feature) => feature !== product)].join(', ')

const includedCells = (quota: { readonly metric: string; readonly limit: number } | null): readonly string[] =>
  quota === null ? ['no limit', ''] : [decimals(quota.limit), quotaUnits[quota.metric] ?? quota.metric]

/**
 * Returns a row for each version of the terms, if they were not the same from the first second of the month to the
 * last.
 */
const versionRows = ({ contractID, terms = [] }: ContractItem, month: MonthKey): readonly (readonly string[])[] =>
  terms.length > 1 || terms.some(({ from }) => Date.parse(from) > monthStart(month) * 1000)
    ? terms.map((version) => [
        String(contractID),
        `Terms, version ${version.number}`,
        productText(version),
        instantShown(version.from),
        instantShown(version.to),
        ...includedCells(version.quota),
        '',
        '',
        '',
      ])
    : []

/** The terms of the contracts, and what is billed beyond the quantity that they include. */
export const termsTable = (views: Pieces, view: StoredUsageView, month: MonthKey): ReportTable =>
  tableOf<ContractItem>(views, view, {
    title: 'Contracts',
    columns: [
      number('No.', 0.6),
      text('Contract', 2.4),
      text('Product and features', 2.6),
      text('In force from\n(UTC)', 1.3),
      text('until before\n(UTC)', 1.3),
      number('Included\nper month'),
      text('Unit', 1),
      number('Billed'),
      number('Excess'),
      number('Billed, % of\nincluded'),
    ],
    rowsOf: (item) => {
      const { contractID, start, end, quota } = item
      if (contractID === 0) return []
      const billed =
        quota === null ? ['', '', ''] : [decimals(quota.billed), decimals(quota.excess), decimals(quota.usedPercent)]
      const whole = [
        String(contractID),
        item.name,
        productText(item),
        instantShown(start),
        instantShown(end),
        ...includedCells(quota),
        ...billed,
      ]
      return [whole, ...versionRows(item, month)]
    },
    totals: undefined,
    note: 'No contract was in force.',
    footnote:
      'If terms began or changed in the month, their versions are below the contract, with the time in the ' +
      'month in which each was in force. Each limit then counts by its seconds in the included quantity.',
  })

export const contractTable = (views: Pieces, view: StoredUsageView): ReportTable =>
  tableOf<ContractItem>(views, view, {
    title: 'Use by contract',
    columns: [number('No.', 0.7), text('Contract', 3.5), objectCount, ...useColumns],
    rowsOf: (item) => [
      [contractNumber(item.contractID), contractName(item), countText(item.objectCount), ...useCells(item)],
    ],
    totals: (totals) => ['', 'Total', countText(totals.objectCount), ...useCells(totals)],
    ...(view.itemCount > 1
      ? { footnote: 'An object counts once for each contract under which it was used, and once in the total.' }
      : {}),
  })

/** A cluster whose mode has changed in the month has both. */
const modeOf = ({ modes }: ClusterItem): string =>
  new Set(modes.map(({ mode }) => mode)).size > 1 ? 'both' : (modes[0]?.mode ?? '')

export const clusterTable = (views: Pieces, view: StoredUsageView): ReportTable =>
  tableOf<ClusterItem>(views, view, {
    title: 'Clusters',
    columns: [text('Cluster', 2.2), uid('UID'), text('Mode', 1), number('Hours'), objectCount, ...useColumns],
    rowsOf: (item) => [
      [
        item.displayName,
        item.clusterUID,
        modeOf(item),
        decimals(item.clusterHours),
        countText(item.objectCount),
        ...useCells(item),
      ],
    ],
    compare: (a, b) => compareNames(a.displayName, b.displayName),
    totals: (totals) => [
      'Total',
      '',
      '',
      totals.clusterHours === undefined ? '' : decimals(totals.clusterHours),
      countText(totals.objectCount),
      ...useCells(totals),
    ],
  })

/** The name of the cluster of an item. */
const nameIn = (names: ReadonlyMap<string, string>, { clusterUID }: { readonly clusterUID: string }): string =>
  names.get(clusterUID) ?? clusterUID

export const namespaceTable = (views: Pieces, view: StoredUsageView, names: ReadonlyMap<string, string>): ReportTable =>
  tableOf<NamespaceItem>(views, view, {
    title: 'Namespaces',
    columns: [text('Namespace', 2.1), uid('UID'), text('Cluster', 2.1), objectCount, ...useColumns],
    rowsOf: (item) => [
      [item.namespace, item.namespaceUID, nameIn(names, item), countText(item.objectCount), ...useCells(item)],
    ],
    compare: (a, b) => compareNames(a.namespace, b.namespace) || compareNames(nameIn(names, a), nameIn(names, b)),
    totals: (totals) => ['Total', '', '', countText(totals.objectCount), ...useCells(totals)],
  })

export const kindTable = (views: Pieces, view: StoredUsageView): ReportTable =>
  tableOf<KindItem>(views, view, {
    title: 'Kinds',
    columns: [text('Kind', 1.9), text('Group', 2.5), objectCount, ...useColumns],
    rowsOf: (item) => [[item.kind, item.group, countText(item.objectCount), ...useCells(item)]],
    totals: (totals) => ['Total', '', countText(totals.objectCount), ...useCells(totals)],
  })

const classNames: Readonly<Record<UsageClass, string>> = {
  prod: 'Production',
  'non-prod': 'Non-production',
  trial: 'Trial, free',
  free: 'No contract, free',
}

const sumOfObject = 'Sum'

/** Each object, with a row for each contract and class, and their sum below several of them. */
export const objectTable = (views: Pieces, view: StoredUsageView, names: ReadonlyMap<string, string>): ReportTable =>
  tableOf<ObjectItem>(views, view, {
    title: 'Objects',
    columns: [
      text('Name', 2.8),
      uid('UID'),
      text('Kind', 1.3),
      text('Namespace', 1.7),
      text('Cluster', 1.9),
      number('Contract\nNo.', 0.9),
      text('Class', 1.7),
      number('CPU', 1.1),
      number('Memory', 1.2),
    ],
    rowsOf: (item) => {
      const row = (contract: string, use: string, { cpu, memory }: ShownPair): readonly string[] => [
        item.name,
        item.objectID,
        item.kind,
        item.namespace,
        nameIn(names, item),
        contract,
        use,
        decimals(cpu),
        decimals(memory),
      ]
      const rows = item.uses.map((use) => row(contractNumber(use.contractID), classNames[use.class], use))
      return rows.length > 1 ? [...rows, row('', sumOfObject, item)] : rows
    },
    sums: { column: 6, text: sumOfObject },
    compare: (a, b) =>
      compareNames(a.name, b.name) ||
      compareNames(a.namespace, b.namespace) ||
      compareNames(nameIn(names, a), nameIn(names, b)),
    totals: (totals) => [
      `Total of ${countText(totals.objectCount)}`,
      '',
      '',
      '',
      '',
      '',
      '',
      decimals(totals.cpu),
      decimals(totals.memory),
    ],
    footnote:
      'An object that was used for several contracts or in several classes has a row for each of them, and their sum below.',
  })

/** Names as people order them: without regard to case, and `db-2` before `db-10`. */
const collator = new Intl.Collator('en', { numeric: true })

/** @internal */
export const compareNames = (a: string, b: string): number => collator.compare(a, b)

const merged = function* <Item>(
  runs: readonly (readonly Item[])[],
  compare: (a: Item, b: Item) => number,
): Generator<Item> {
  const half = runs.length >> 1
  if (half === 0) return yield* runs[0] ?? []
  const [left, right] = [merged(runs.slice(0, half), compare), merged(runs.slice(half), compare)]
  let [a, b] = [left.next(), right.next()]
  while (a.done !== true || b.done !== true) {
    if (b.done === true || (a.done !== true && compare(a.value, b.value) <= 0)) {
      if (a.done !== true) yield a.value
      a = left.next()
    } else {
      yield b.value
      b = right.next()
    }
  }
}

const batch = 250

/**
 * Yields items in order, equal ones in the order in which they came. Each batch is sorted as it comes and all are
 * merged as they are taken, so that no step holds up the event loop for longer than a batch does. All items are in
 * memory.
 *
 * @internal
 */
export async function* inOrder<Item>(
  batches: AsyncIterable<readonly Item[]>,
  compare: (a: Item, b: Item) => number,
): AsyncGenerator<readonly Item[]> {
  const runs: (readonly Item[])[] = []
  for await (const items of batches) runs.push(items.toSorted(compare))
  let taken: Item[] = []
  for (const item of merged(runs, compare)) {
    taken.push(item)
    if (taken.length < batch) continue
    yield taken
    taken = []
  }
  if (taken.length > 0) yield taken
}
