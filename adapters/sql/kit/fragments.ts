import type { Columns, Row } from './columns.ts'
import { long, selectedAs, snakeCase } from './columns.ts'
import type { Prepared, SqlRunner } from './statement.ts'
import type { Knex } from 'knex'
import type { DriverRow } from './row-reader.ts'
import { rowReader } from './row-reader.ts'

/** Adds columns to what a query selects, each under the name of its field in snake case. */
export const selected = (k: Knex, query: Knex.QueryBuilder, rows: Columns): Knex.QueryBuilder =>
  query.select(
    ...Object.entries(rows).flatMap(([field, column]): (string | Knex.Raw)[] => {
      const name = snakeCase(field)
      if (!column.isSelected) return []
      if (column.expression !== undefined) return [k.raw(`${column.expression} as ${name}`)]
      return [column.name === name ? column.sql : `${column.sql} as ${name}`]
    }),
  )

const declaredToDecideNothing = new WeakSet<object>()

/** Declares that a statement written as SQL changes no access: without it, one that names a table of access changes that of everyone. */
export const decidingNothing = (statement: Knex.Raw): Knex.Raw => {
  declaredToDecideNothing.add(statement)
  return statement
}

/** Reports whether `decidingNothing` declared the statement. */
export const isDecidingNothing = (statement: object): boolean => declaredToDecideNothing.has(statement)

/** Runs a query that is composed at run time: `rows` are selected. User text must be passed only in bindings. */
export const queryRows = async <R extends Columns>(
  runner: SqlRunner,
  rows: R,
  build: (k: Knex) => Knex.QueryBuilder,
): Promise<readonly Row<R>[]> =>
  (await runner.query<DriverRow>((k) => selected(k, build(k), rows))).map(rowReader(rows))

/** Returns the database's clock in milliseconds since the epoch, as SQL for use inside statements. */
export const databaseNow = (dialect: 'sqlite' | 'mysql'): string =>
  dialect === 'sqlite'
    ? "cast(round(unixepoch('subsec') * 1000) as integer)"
    : 'cast(unix_timestamp(now(3)) * 1000 as signed)'

/** The row of a statement that selects the database's clock as `now`. */
export const clockRow = { now: selectedAs(long()) }

/**
 * The lengths for which statements with a list are composed. A shorter list is padded, so that few statements exist.
 */
export const listLengths = [1, 10, 100, 500] as const
export const longestList = 500

/** Splits ids into lists of at most 500. */
export const chunksOf = (ids: readonly number[]): readonly (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / longestList) }, (_, index) =>
    ids.slice(index * longestList, (index + 1) * longestList),
  )

/**
 * Deletes the rows whose ids `ids` selects, one by one, by `remove`, whose parameters are those of `ids` and `id`.
 * Returns the number of deleted rows. A delete by another column may scan a table that is still small and then wait for
 * rows of others: two users who sign in at the same time would deadlock. The caller must hold a lock that prevents new
 * rows.
 */
export const removeRows = async <B extends object, R extends object>(
  runner: SqlRunner,
  ids: Prepared<B, { readonly id: number }>,
  remove: Prepared<R, unknown>,
  binds: NoInfer<B & Omit<R, 'id'>>,
): Promise<number> => {
  let removed = 0
  for (const { id } of await runner.all(ids, binds))
    removed += (await runner.run(remove, { ...binds, id } as unknown as R)).affected
  return removed
}
