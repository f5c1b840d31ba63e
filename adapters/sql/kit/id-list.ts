import type { Knex } from 'knex'
import type { Binds, Column, Columns, Row } from './columns.ts'
import { chunksOf, listLengths, longestList } from './fragments.ts'
import type { Prepared, Slot, Slots, SqlDatabase, SqlRunner } from './statement.ts'

/** Rows for a list of ids. */
export interface IdList<Id extends number, B, R> {
  /** Only for the type checker. */
  readonly idsAndBinds?: (ids: readonly Id[], binds: B) => R
  statementFor(ids: readonly number[]): Prepared<Record<string, unknown>, R>
}

/**
 * Composes a statement for lists of 1, 10, 100 and 500 ids, so that few statements exist. `build` gets the places of
 * the ids, which are values of `column`.
 */
export const idList = <Id extends number, P extends Columns, R extends Columns>(
  db: Pick<SqlDatabase, 'prepare'>,
  column: Column<Id, 'integer'>,
  params: P,
  rows: R,
  build: (k: Knex, p: Slots<P>, ids: readonly Slot<'integer'>[]) => Knex.QueryBuilder,
): IdList<Id, Binds<P>, Row<R>> => {
  const statements = listLengths.map((length) => {
    const names = Array.from({ length }, (_, index) => `id${index}`)
    const ids: Columns = Object.fromEntries(names.map((name) => [name, column as Column<never>]))
    const statement = db.prepare({ ...params, ...ids } as P, rows, (k, p) =>
      build(
        k,
        p,
        names.map((name) => (p as unknown as Record<string, unknown>)[name] as Slot<'integer'>),
      ),
    )
    return { length, statement: statement as unknown as Prepared<Record<string, unknown>, Row<R>> }
  })
  return {
    statementFor(ids) {
      const fitting = statements.find(({ length }) => length >= ids.length)
      if (fitting === undefined) throw new RangeError(`A list of ${ids.length} ids is longer than ${longestList}.`)
      return fitting.statement
    },
  }
}

/** Returns the binds of a list. It is padded to the greatest length with its first value. */
const listBinds = (ids: readonly number[], length: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`id${index}`, ids[index] ?? ids[0] ?? 0]))

/** Returns the rows for any number of ids, which must differ: 500 ids take one statement. */
export const rowsOfIds = async <Id extends number, B, R>(
  runner: SqlRunner,
  list: IdList<Id, B, R>,
  ids: readonly NoInfer<Id>[],
  binds: NoInfer<B>,
): Promise<readonly R[]> => {
  const rows: R[] = []
  for (const chunk of chunksOf(ids)) {
    const length = listLengths.find((each) => each >= chunk.length) ?? longestList
    const found = await runner.all(list.statementFor(chunk), { ...listBinds(chunk, length), ...binds })
    for (const row of found) rows.push(row)
  }
  return rows
}
