import type { Bind, Column, Family } from '../../adapters/sql/kit/columns.ts'
import {
  columnsOf,
  exact,
  int,
  long,
  longBytes,
  named,
  nullable,
  rowId,
  table,
  text,
} from '../../adapters/sql/kit/columns.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { newRow, values } from '../../adapters/sql/kit/values.ts'

/** The table of the runner's own tests. */
export const thingsTable = table('things', {
  id: rowId(),
  name: nullable(text(64)),
  amount: nullable(exact()),
  data: nullable(longBytes()),
  flag: nullable(int()),
})

/** A parameter that passes every value on as it is given: the tests bind what no column takes. */
const any = <F extends Family>(column: Column<never, F>): Column<Bind, F> => ({
  ...column,
  encode: (value: Bind) => value,
})

const id = any(thingsTable.id)
const name = any(thingsTable.name)
const amount = any(thingsTable.amount)
const exactRow = { ...columnsOf(thingsTable), id: named('id', exact()) }
const row = { ...columnsOf(thingsTable), amount: named('amount', nullable(long())) }

export type Things = ReturnType<typeof prepareThings>

/** Statements on the table `things`. */
export const prepareThings = ({ prepare }: Pick<SqlDatabase, 'prepare'>) => ({
  add: prepare({ name }, (k, p) => k('things').insert(newRow(thingsTable, { name: p.name }))),
  addAll: prepare({ name, amount, data: any(thingsTable.data), flag: any(thingsTable.flag) }, (k, p) =>
    k('things').insert(newRow(thingsTable, { name: p.name, amount: p.amount, data: p.data, flag: p.flag })),
  ),
  byName: prepare({ name }, row, (k, p) => k('things').where('name', p.name)),
  byId: prepare({ id }, row, (k, p) => k('things').where('id', p.id)),
  exact: prepare({ amount }, exactRow, (k, p) => k('things').where(values(thingsTable, { amount: p.amount }))),
  page: prepare({ limit: any(int()), offset: any(int()) }, { name: thingsTable.name }, (k, p) =>
    k('things').orderBy('id').limit(p.limit).offset(p.offset),
  ),
  setAmount: prepare({ name, amount }, (k, p) =>
    k('things')
      .where('name', p.name)
      .update(values(thingsTable, { amount: p.amount })),
  ),
  lock: prepare({ name }, row, (k, p) => k('things').where('name', p.name).forUpdate()),
  names: prepare({}, { name: thingsTable.name }, (k) => k('things').orderBy('id')),
})

/** The names in the table, in the order in which they were added. */
export const namesIn = async (database: SqlDatabase, things: Things): Promise<string[]> =>
  (await database.all(things.names, {})).map(({ name: found }) => found ?? '')
