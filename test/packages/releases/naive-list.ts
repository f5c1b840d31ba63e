import type { ReleaseListOptions } from '../../../core/packages/releases/release-reads.ts'
import type { RecordOf } from '../../helm/records/records.ts'

const idOf = ({ namespace, name, version }: RecordOf): string => `${namespace}/${name}/${version}`
const secondOf = (record: RecordOf): number => Math.floor(Date.parse(record.lastDeployed ?? '') / 1000)

const isWanted = (record: RecordOf, options: ReleaseListOptions): boolean => {
  const { status = 'deployed' } = record
  if (options.all === true) return status !== 'unknown'
  const named: Readonly<Record<string, boolean | undefined>> = {
    deployed: options.deployed,
    uninstalled: options.uninstalled,
    uninstalling: options.uninstalling,
    failed: options.failed,
    superseded: options.superseded,
    'pending-install': options.pending,
    'pending-upgrade': options.pending,
    'pending-rollback': options.pending,
  }
  if (Object.values(named).includes(true)) return named[status] === true
  return status === 'deployed' || status === 'failed'
}

const others = ['failed', 'uninstalled', 'uninstalling', 'pending'] as const
const isOnlySuperseded = (options: ReleaseListOptions): boolean =>
  options.all !== true &&
  options.superseded === true &&
  options.deployed !== true &&
  others.every((key) => options[key] !== true)

/**
 * Says what is wrong with a list, by looking at each record alone: which belong in it, and in which order neighbours
 * may stand. Equal dates have no order of their own.
 */
export const findProblem = (
  records: readonly RecordOf[],
  options: ReleaseListOptions,
  shown: readonly string[],
): string | undefined => {
  const matching = records.filter(({ name }) => new RegExp(options.filter ?? '').test(name))
  const isNewest = (record: RecordOf): boolean =>
    matching.every(
      (other) => other.name !== record.name || other.namespace !== record.namespace || other.version <= record.version,
    )
  const expected = matching.filter(
    (record) => (isOnlySuperseded(options) || isNewest(record)) && isWanted(record, options),
  )
  const { limit = 0, offset = 0 } = options
  const count = Math.max(0, Math.min(expected.length - offset, limit > 0 ? limit : expected.length))
  if (shown.length !== count) return `${shown.length} rows instead of ${count}`
  if (new Set(shown).size !== shown.length) return 'a row is repeated'
  const rows = shown.map((id) => expected.find((record) => idOf(record) === id))
  if (rows.includes(undefined)) return 'a row that does not belong there'
  return findDisorder(rows as RecordOf[], expected, options)
}

type Key = (record: RecordOf) => string | number

const findDisorder = (
  rows: readonly RecordOf[],
  expected: readonly RecordOf[],
  options: ReleaseListOptions,
): string | undefined => {
  const sort = String(options.sort ?? '').toLowerCase()
  const isByDate =
    options.byDate === true ||
    (options.sortReverse !== true && ['date', 'date-desc', '2', '3', 'bydatedesc'].includes(sort))
  const isDescending =
    options.sortReverse === true ||
    (options.byDate !== true && ['name-desc', 'date-desc', '1', '3', 'bydatedesc'].includes(sort))
  const key: Key = isByDate ? secondOf : ({ name }) => name
  const before = (a: RecordOf, b: RecordOf): boolean => (isDescending ? key(a) > key(b) : key(a) < key(b))
  for (const [index, row] of rows.entries()) {
    const next = rows[index + 1]
    if (next !== undefined && before(next, row)) return `${idOf(next)} is after ${idOf(row)}`
  }
  // How many come before the first row: at most the offset, were equal ones not free to change places.
  const [first] = rows
  const { offset = 0 } = options
  if (first !== undefined && expected.filter((record) => before(record, first)).length > offset)
    return 'the offset left out too few'
  if (first !== undefined && expected.filter((record) => !before(first, record)).length <= offset)
    return 'the offset left out too many'
  return undefined
}
