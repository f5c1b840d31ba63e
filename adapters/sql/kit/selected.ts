import type { Knex } from 'knex'
import type { Columns, Row } from './columns.ts'
import { snakeCase } from './columns.ts'
import type { DriverRow } from './row-reader.ts'
import { rowReader } from './row-reader.ts'
import type { SqlRunner } from './statement.ts'

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

/** Runs a query that is composed at run time: `rows` are selected. User text must be passed only in bindings. */
export const queryRows = async <R extends Columns>(
  runner: SqlRunner,
  rows: R,
  build: (k: Knex) => Knex.QueryBuilder,
): Promise<readonly Row<R>[]> =>
  (await runner.query<DriverRow>((k) => selected(k, build(k), rows))).map(rowReader(rows))
