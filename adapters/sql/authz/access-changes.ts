import type { Constant, Parameter, RowChange, StatementText } from '../kit/statement.ts'
import type { AccessTable } from '../tables/access.ts'
import { accessTables, everyoneShard, followersShard, shardOf } from '../tables/access.ts'

/** Whose access a statement changes. The accounts are the values of these binds. */
export type AccessChange =
  | 'nothing'
  | 'everyone'
  | { readonly accounts: readonly (Parameter | Constant)[]; readonly isShownToFollowers: boolean }

type Binds = ReadonlyMap<string, Parameter | Constant>

/** Returns one bind for each list of accounts, or undefined if one is not known. */
const accountsIn = ({ accounts }: AccessTable, known: Binds): readonly (Parameter | Constant)[] | undefined => {
  const binds = accounts.map((columns) => columns.map((column) => known.get(column)).find((bind) => bind !== undefined))
  return binds.every((bind) => bind !== undefined) ? binds : undefined
}

const changeOfRows = (table: AccessTable, { rows }: RowChange, isShownToFollowers: boolean): AccessChange => {
  const accounts = rows?.map((known) => accountsIn(table, known))
  return accounts?.every((ofRow) => ofRow !== undefined) === true
    ? { accounts: accounts.flat(), isShownToFollowers }
    : 'everyone'
}

const decidesAccess = ({ ignored, decides }: AccessTable, column: string): boolean =>
  decides === undefined ? ignored?.includes(column) !== true : decides.includes(column)

const changeOfUpdate = (table: AccessTable, change: RowChange): AccessChange => {
  const deciding = change.columns.filter((column) => decidesAccess(table, column))
  if (deciding.length === 0) return 'nothing'
  // The row had another account before.
  if (deciding.some((column) => table.accounts.flat().includes(column))) return 'everyone'
  const isShown = deciding.some((column) => table.shownToFollowers?.includes(column) === true)
  return changeOfRows(table, change, isShown)
}

const changeOf = (table: AccessTable, change: RowChange): AccessChange => {
  if (change.verb === 'update') return changeOfUpdate(table, change)
  if (change.verb === 'delete') return table.deletesOfOthers === true ? 'everyone' : changeOfRows(table, change, false)
  // A row that exists may be of another account than the statement says.
  if (change.isUpsert) return 'everyone'
  return table.isFoundByKey === true ? 'nothing' : changeOfRows(table, change, false)
}

const readingText = /^\s*(?:(?:select|show|explain|pragma)\b|with\b(?!.*\b(?:insert|delete|set|replace)\b))/is
const namesAccessTable = new RegExp(`\\b(?:${Object.keys(accessTables).join('|')})\\b`, 'i')

/** Returns whose access a statement changes. One that is written as SQL and names such a table changes that of everyone. */
export const accessChangeOf = ({ sql, change }: Pick<StatementText, 'sql' | 'change'>): AccessChange => {
  if (change === 'nothing') return 'nothing'
  if (change === 'unknown') return readingText.test(sql) || !namesAccessTable.test(sql) ? 'nothing' : 'everyone'
  const table = accessTables[change.table]
  return table === undefined ? 'nothing' : changeOf(table, change)
}

/** Returns the shards that a statement with these binds raises. */
export const raisedShards = (statement: StatementText, binds: object): readonly number[] => {
  const change = accessChangeOf(statement)
  if (change === 'nothing') return []
  if (change === 'everyone') return [everyoneShard]
  const values = change.accounts.map((slot) =>
    Number('constant' in slot ? slot.constant : slot.encode((binds as Record<string, unknown>)[slot.name] as never)),
  )
  if (!values.every((value) => Number.isSafeInteger(value) && value > 0)) return [everyoneShard]
  return [...new Set(values.map(shardOf)), ...(change.isShownToFollowers ? [followersShard] : [])]
}
