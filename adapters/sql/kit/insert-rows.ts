import type { Knex } from 'knex'
import type { Bind, Params, SqlDatabase, SqlRunner, Statement } from './statement.ts'

/** The most rows of one statement. Larger statements cost more to compose, and SQLite takes at most 500. */
const longest = 256

/** Inserts rows, in order. */
export type InsertRows<Names extends string> = (runner: SqlRunner, rows: readonly Readonly<Record<Names, Bind>>[]) => Promise<void>

/**
 * Composes the insert of any number of rows, each as `row` says. There is a statement for 1, 2, 4, and so on up to 256 rows,
 * composed when it is first needed: 500 rows take six statements, and few different statements exist. `onConflict` says what becomes
 * of a row whose key exists; without it, the statement fails. The caller must be in a transaction, because a failure may leave a part
 * of the rows.
 */
export const insertRows = <Names extends string>(
  db: Pick<SqlDatabase, 'prepare'>,
  table: string,
  row: (p: Params<Names>, k: Knex) => Readonly<Record<string, Knex.Value>>,
  onConflict: (insert: Knex.QueryBuilder) => Knex.QueryBuilder = (insert) => insert,
): InsertRows<Names> => {
  const statements = new Map<number, Statement>()
  const statementFor = (length: number): Statement => {
    const known = statements.get(length)
    if (known !== undefined) return known
    const composed: Statement = db.prepare((k, p: Params<string>) =>
      onConflict(k(table).insert(Array.from({ length }, (_, index) => row((name) => p(`${name}${index}`), k)))),
    )
    statements.set(length, composed)
    return composed
  }
  return async (runner, rows) => {
    for (let at = 0; at < rows.length; ) {
      const length = Math.min(longest, 2 ** Math.floor(Math.log2(rows.length - at)))
      await runner.run(statementFor(length), bindsOf(rows.slice(at, at + length)))
      at += length
    }
  }
}

const bindsOf = (rows: readonly Readonly<Record<string, Bind>>[]): Record<string, Bind> =>
  Object.fromEntries(rows.flatMap((row, index) => Object.entries(row).map(([name, bind]) => [`${name}${index}`, bind])))
