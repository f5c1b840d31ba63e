import type { Knex } from 'knex'
import type { Bind, Prepared, SqlRunner, Statement } from './statement.ts'

/** Returns the database's clock in milliseconds since the epoch, as SQL for use inside statements. */
export const databaseNow = (dialect: 'sqlite' | 'mysql'): string =>
  dialect === 'sqlite'
    ? "cast(round(unixepoch('subsec') * 1000) as integer)"
    : 'cast(unix_timestamp(now(3)) * 1000 as signed)'

/**
 * The lengths for which statements with a list are composed. A shorter list is padded, so that few statements exist.
 */
export const listLengths = [1, 10, 100, 500] as const
export const longestList = 500

/** Returns the placeholders for a list of the given length. */
export const listSlots = (p: (name: string) => Knex.Value, length: number): Knex.Value[] =>
  Array.from({ length }, (_, index) => p(`id${index}`))

/** Returns the binds of a list. It is padded to the full length with its first value. */
const listBinds = (ids: readonly number[], length: number): Record<string, Bind> =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`id${index}`, ids[index] ?? ids[0] ?? 0]))

/** Composes a statement for each length. The result selects the statement and the binds for a list of 1 to 500 ids. */
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

/** Splits ids into lists of at most 500. */
export const chunksOf = (ids: readonly number[]): readonly (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / longestList) }, (_, index) =>
    ids.slice(index * longestList, (index + 1) * longestList),
  )

/** Returns the rows of a padded list for any number of ids, which must differ: 500 ids take one statement. */
export const rowsFor = async <Row>(
  runner: SqlRunner,
  list: ReturnType<typeof paddedList>,
  ids: readonly number[],
  binds: Readonly<Record<string, Bind>> = {},
): Promise<readonly Row[]> => {
  const rows: Row[] = []
  for (const chunk of chunksOf(ids)) {
    const { statement, binds: listed } = list(chunk)
    for (const row of await runner.all<Row>(statement, { ...listed, ...binds })) rows.push(row)
  }
  return rows
}

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

/**
 * Deletes the rows whose ids `ids` selects, one by one, by `remove`, whose binds are those of `ids` and `id`. Returns
 * the number of deleted rows. A delete by another column may scan a table that is still small and then wait for rows of
 * others: two users who sign in at the same time would deadlock. The caller must hold a lock that prevents new rows.
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
