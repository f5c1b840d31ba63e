import type { Knex } from 'knex'
import type { Columns } from './columns.ts'
import { snakeCase } from './columns.ts'

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
