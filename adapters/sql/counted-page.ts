import type { Knex } from 'knex'
import type { Page } from '../../core/kernel/page.ts'
import type { Num } from './statement.ts'

/** Counting stops here: an exact number of more rows than this helps nobody and costs a scan. */
export const countCap = 10_000

/** Counts the rows of a query, up to one beyond the cap. */
export const countOf = (k: Knex, rows: Knex.QueryBuilder, cap = countCap): Knex.QueryBuilder =>
  k.from(rows.limit(cap + 1).as('counted')).count({ total: '*' })

/** What `countOf` answers. */
export interface CountRow {
  readonly total: Num
}

/** A page with the number of all rows, as far as they were counted. */
export const pageOf = <A>(items: readonly A[], row: CountRow | undefined, cap = countCap): Page<A> => {
  const total = Number(row?.total ?? 0)
  return total > cap ? { items, total: cap, totalIsCapped: true } : { items, total }
}
