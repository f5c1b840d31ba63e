import type { Bind, SqlRunner, Statement } from './statement.ts'

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
