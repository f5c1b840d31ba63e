import type { FreeObject, Json } from '../kernel/json.ts'
import { at, isObject, listAt } from '../kernel/json.ts'

type View =
  | 'objects-usage-view'
  | 'clusters-usage-view'
  | 'namespaces-usage-view'
  | 'gks-usage-view'
  | 'gks-by-cluster'
  | 'contracts-usage-view'
  | 'object-quota-history-summaries-view'
  | 'objects-cluster-mode-usage-view'

/** Which view a table shows. */
interface ViewKey {
  readonly view: View
  readonly viewType: string
}

/**
 * A column: its name, and where an item has its value. Values of `each` come from one element of the list that makes
 * the rows.
 */
interface Column {
  readonly name: string
  readonly path: readonly string[]
  readonly inElement?: boolean
  /** The value is a list of objects, of which the member at this path is shown. */
  readonly member?: readonly string[]
}

/** What all rows of a file begin with, so that rows of several files can be put together. */
interface CsvOrigin {
  readonly account: string
  /** Such as 2026-11. */
  readonly month: string
  readonly revision: number
  readonly status: string
}

/** How a view becomes a table. With `rowsOf`, an item has a row for each element of that list. */
export interface CsvLayout {
  readonly columns: readonly Column[]
  readonly rowsOf?: string
}

const own = (...names: readonly string[]): readonly Column[] => names.map((name) => ({ name, path: [name] }))
const inElement = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => ({ name, path: [name], inElement: true }))

const classColumns: readonly Column[] = [['prod'], ['nonProd'], ['free', 'trial'], ['free', 'freeContract']].flatMap(
  (path) => ['cpu', 'memory'].map((measure) => ({ name: [...path, measure].join('.'), path: [...path, measure] })),
)

const usedColumns = (viewType: string): readonly Column[] => [
  ...own('cpu', 'memory'),
  ...(viewType === 'billable' ? classColumns : []),
]
const object = own('clusterUID', 'objectID', 'group', 'kind', 'namespace', 'namespaceUID', 'name')

/** Returns the table of a view. `days` is the number of days of its month. */
export const csvLayoutOf = ({ view, viewType }: ViewKey, days: number): CsvLayout => {
  const used = usedColumns(viewType)
  switch (view) {
    case 'objects-usage-view':
      return {
        columns: [
          ...object,
          ...own('createdAt', 'deletedAt'),
          ...(viewType === 'billable' ? useColumns : []),
          ...used,
          ...dailyColumns(days),
        ],
      }
    case 'clusters-usage-view':
      return { columns: [...own('clusterUID', 'displayName', 'contractIDs', 'clusterHours', 'objectCount'), ...used] }
    case 'namespaces-usage-view':
      return { columns: [...own('clusterUID', 'namespace', 'namespaceUID', 'clientOrg', 'objectCount'), ...used] }
    case 'gks-usage-view':
    case 'gks-by-cluster':
      return { columns: [...own('group', 'kind', 'objectCount'), ...used, ...matrixColumns(used, days)] }
    case 'contracts-usage-view':
      return {
        columns: [
          ...own('contractID', 'name', 'product', 'features', 'start', 'end'),
          ...quotaColumns,
          ...termsColumns,
          ...own('objectCount'),
          ...used,
        ],
      }
    case 'object-quota-history-summaries-view':
      return {
        columns: [...object, ...inElement('from', 'to', 'milliCPU', 'memMiB', 'replicas', 'generation')],
        rowsOf: 'segments',
      }
    case 'objects-cluster-mode-usage-view':
      return {
        columns: [...object, ...inElement('from', 'to', 'mode', 'cpu', 'memory'), ...sumColumns],
        rowsOf: 'segments',
      }
  }
}

const dayNumbers = (days: number): readonly number[] => Array.from({ length: days }, (_, index) => index)
const dailyColumns = (days: number): readonly Column[] =>
  dayNumbers(days).map((day) => ({ name: `events.${day + 1}`, path: ['dailyEvents', String(day)] }))
const matrixColumns = (used: readonly Column[], days: number): readonly Column[] =>
  dayNumbers(days).flatMap((day) =>
    used.map(({ name, path }) => ({ name: `day${day + 1}.${name}`, path: ['matrix', String(day), ...path] })),
  )
/** What an object used in all of its rows, the same in each. */
const sumColumns: readonly Column[] = ['cpu', 'memory'].map((measure) => ({
  name: `object.${measure}`,
  path: [measure],
}))
/** Of what an object was used for: the contracts and classes, in the same order. */
const useColumns: readonly Column[] = [
  { name: 'contractIDs', path: ['uses'], member: ['contractID'] },
  { name: 'classes', path: ['uses'], member: ['class'] },
]
const quotaColumns = ['metric', 'limit', 'billed', 'excess', 'usedPercent'].map((name) => ({
  name: `quota.${name}`,
  path: ['quota', name],
}))

/** Of the versions of the terms that were in force in the month, in the order of time. */
const termsColumns: readonly Column[] = [
  ['number'],
  ['from'],
  ['to'],
  ['product'],
  ['features'],
  ['quota', 'metric'],
  ['quota', 'limit'],
].map((member) => ({
  name: ['terms', ...member].join('.'),
  path: ['terms'],
  member,
}))

const lineEnd = '\r\n'

/**
 * Returns a value as a cell (RFC 4180). A text that a spreadsheet would take for a formula, some also with full-width
 * signs, gets an apostrophe in front, and so does one that begins with an apostrophe: a reader that removes one
 * apostrophe in front has the text. Each text is quoted: a program that separates by `;` would begin
 * a cell, and a formula, inside of it. Numbers stay as they are in JSON; a list becomes its elements with spaces between,
 * `none` for one without a value.
 */
export const csvCell = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = Array.isArray(value)
    ? value.map((each: unknown) => (each === undefined || each === null ? 'none' : String(each))).join(' ')
    : String(value)
  const safe = /^['=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}

const originNames = ['account', 'month', 'revision', 'status']

export const csvHead = ({ columns }: CsvLayout): string =>
  [...originNames, ...columns.map(({ name }) => name)].map(csvCell).join(',') + lineEnd

/** Returns the first cells of all rows of a file. */
export const csvOrigin = ({ account, month, revision, status }: CsvOrigin): string =>
  [account, month, revision, status].map(csvCell).join(',')

const valueOf = (item: unknown, { path, member }: Column): unknown => {
  const value = at(item, ...path)
  return member !== undefined && Array.isArray(value) ? value.map((each) => at(each, ...member)) : value
}

/** Returns the rows of an item. `origin` is what `csvOrigin` returns. */
export const csvRows = ({ columns, rowsOf }: CsvLayout, item: FreeObject, origin: string): string => {
  const elements: readonly unknown[] =
    rowsOf === undefined ? [{}] : listAt(item, rowsOf).filter((element) => isObject(element as Json))
  return elements
    .map(
      (element) =>
        [origin, ...columns.map((column) => csvCell(valueOf(column.inElement === true ? element : item, column)))].join(
          ',',
        ) + lineEnd,
    )
    .join('')
}
