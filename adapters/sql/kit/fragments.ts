import type { Knex } from 'knex'
import type { Page } from '../../../core/kernel/page.ts'
import type { Bind, Num, SqlRunner, Statement } from './statement.ts'

/** The database's clock in milliseconds since the epoch, as SQL for use inside statements. */
export const databaseNow = (dialect: 'sqlite' | 'mysql'): string =>
  dialect === 'sqlite' ? "cast(round(unixepoch('subsec') * 1000) as integer)" : 'cast(unix_timestamp(now(3)) * 1000 as signed)'

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

/** The lengths for which statements with a list are composed: any list fits one of them, so that few statements exist. */
export const listLengths = [1, 10, 100, 500] as const
export const longestList = 500

/** Placeholders for a list of the given length. */
export const listSlots = (p: (name: string) => Knex.Value, length: number): Knex.Value[] =>
  Array.from({ length }, (_, index) => p(`id${index}`))

/** The binds of a list: what is missing to the full length repeats the first value. */
const listBinds = (ids: readonly number[], length: number): Record<string, Bind> =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`id${index}`, ids[index] ?? ids[0] ?? 0]))

/** Composes a statement for each length; the result picks the statement and the binds for a list of 1 to 500 ids. */
export const paddedList = (
  compose: (length: number) => Statement,
): ((ids: readonly number[]) => { readonly statement: Statement; readonly binds: Record<string, Bind> }) => {
  const statements = listLengths.map((length) => ({ length, statement: compose(length) }))
  return (ids) => {
    const fitting = statements.find(({ length }) => length >= ids.length)
    if (fitting === undefined) throw new RangeError(`A list of ${ids.length} ids is longer than ${longestList}.`)
    return { statement: fitting.statement, binds: listBinds(ids, fitting.length) }
  }
}

/** Cuts ids into lists of at most 500. */
export const chunksOf = (ids: readonly number[]): readonly (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / longestList) }, (_, index) =>
    ids.slice(index * longestList, (index + 1) * longestList),
  )

/**
 * Deletes the rows whose ids `ids` selects, one by one, by `remove`, whose binds are those of `ids` and `id`. Answers how
 * many went. A delete by another column may scan a table that is still small, and then waits for rows of others: two
 * people who sign in at the same time would be a deadlock. The caller holds what keeps new rows from coming.
 */
export const removeEach = async <Names extends string>(
  runner: SqlRunner,
  ids: Statement<Names>,
  remove: Statement,
  binds: Readonly<Record<Names, Bind>>,
): Promise<number> => {
  let removed = 0
  for (const { id } of await runner.all<{ readonly id: number | string }>(ids as Statement, binds)) {
    removed += (await runner.run(remove, { ...binds, id: Number(id) })).affected
  }
  return removed
}
