import type { Knex } from 'knex'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import { maxListRows, pageOffset } from '../../../core/kernel/page.ts'
import type { Binds, Columns, Row } from './columns.ts'
import { int, long, selectedAs } from './columns.ts'
import type { DriverRow } from './row-reader.ts'
import { rowReader } from './row-reader.ts'
import { selected } from './fragments.ts'
import type { Num, Slots, SqlDatabase, SqlRunner } from './statement.ts'

/** Counting stops here: an exact number of more rows is of no use and costs a scan. */
export const countCap = maxListRows

/** Counts the rows of a query, up to one beyond the cap. */
export const countOf = (k: Knex, rows: Knex.QueryBuilder, cap = countCap): Knex.QueryBuilder =>
  k.from(rows.limit(cap + 1).as('counted')).count({ total: '*' })

/** A row of `countOf`. */
interface CountRow {
  readonly total: Num
}

/** Cuts the requested page out of a query, which must be ordered. */
type Cut = (query: Knex.QueryBuilder) => Knex.QueryBuilder

/**
 * Selects the columns of the rows, orders them and cuts the page out. It may join further tables, one row to each row.
 */
export type Shown = (k: Knex, rows: Knex.QueryBuilder, cut: Cut) => Knex.QueryBuilder

type WithTotal<Row> = Row & { readonly page_total: Num }

/** The number of all rows is a column of each row, which the database computes once. */
const withTotal = (k: Knex, matching: () => Knex.QueryBuilder, shown: Shown, cut: Cut): Knex.QueryBuilder =>
  shown(k, matching(), cut).select(counted(k, matching()).as('page_total'))

const counted = (k: Knex, rows: Knex.QueryBuilder): Knex.QueryBuilder => countOf(k, rows.select(k.raw('1')))

/** A page after the last one has no row that carries the number. */
const pageFrom = async <Row>(
  rows: readonly WithTotal<Row>[],
  { page }: PageRequest,
  count: () => Promise<CountRow | undefined>,
): Promise<Page<Row>> => {
  const total = Number(rows[0]?.page_total ?? (page === 1 ? 0 : ((await count())?.total ?? 0)))
  return total > countCap ? { items: rows, total: countCap, totalIsCapped: true } : { items: rows, total }
}

/** Returns a page of rows and the number of all of them, up to the cap. */
export type TypedPage<B, R> = (runner: SqlRunner, binds: B, page: PageRequest) => Promise<Page<R>>

const paging = { limit: int(), offset: int() }

/**
 * Composes the list of the rows that `matching` selects, without columns: `rows` are selected. A page takes one
 * statement, and a second one if it is after the last row.
 */
export const typedPage = <P extends Columns, R extends Columns>(
  db: Pick<SqlDatabase, 'prepare'>,
  params: P,
  rows: R,
  matching: (k: Knex, p: Slots<P>) => Knex.QueryBuilder,
  shown: Shown = (_, query, cut) => cut(query),
): TypedPage<Binds<P>, Row<R>> => {
  const list = db.prepare({ ...params, ...paging }, (k, p) => {
    const slots = p as unknown as Slots<P> & Slots<typeof paging>
    const cut: Cut = (query) => query.limit(slots.limit).offset(slots.offset)
    return selected(
      k,
      withTotal(k, () => matching(k, slots), shown, cut),
      rows,
    )
  })
  const count = db.prepare(params, { total: selectedAs(long()) }, (k, p) => counted(k, matching(k, p)))
  return async (runner, binds, page) => {
    const paged = { ...binds, limit: page.limit, offset: pageOffset(page) } as unknown as Parameters<
      typeof list.binds
    >[0]
    const found = (await runner.all(list, paged)) as WithTotal<DriverRow>[]
    const { items, ...counts } = await pageFrom(found, page, () => runner.first(count, binds))
    return { ...counts, items: items.map(rowReader(rows)) }
  }
}

/** Like `typedPage`, for filters that are known only at run time. */
export const filteredRows = async <R extends Columns>(
  runner: SqlRunner,
  rows: R,
  matching: (k: Knex) => Knex.QueryBuilder,
  shown: Shown,
  page: PageRequest,
): Promise<Page<Row<R>>> => {
  const cut: Cut = (query) => query.limit(page.limit).offset(pageOffset(page))
  const found = await runner.query<WithTotal<DriverRow>>((k) =>
    selected(
      k,
      withTotal(k, () => matching(k), shown, cut),
      rows,
    ),
  )
  const { items, ...counts } = await pageFrom(
    found,
    page,
    async () => (await runner.query<CountRow>((k) => counted(k, matching(k))))[0],
  )
  return { ...counts, items: items.map(rowReader(rows)) }
}
