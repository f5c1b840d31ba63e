import type { Knex } from 'knex'
import type { Bind, Params, SqlDatabase, SqlRunner, Statement } from './statement.ts'

/** The most rows of one statement. SQLite takes at most 500. */
const longest = { sqlite: 256, mysql: 1000 } as const

/** Inserts rows, in order. */
export type InsertRows<Names extends string> = (runner: SqlRunner, rows: readonly Readonly<Record<Names, Bind>>[]) => Promise<void>

/** More than the columns of any table. */
const widest = 64

/**
 * Composes the insert of any number of rows, each as `row` says. There is a statement for 1, 2, 4, and so on up to 256 rows (MySQL:
 * 512, and 1,000), composed when it is first needed: 500 rows take six statements, and few different statements exist. `onConflict`
 * says what becomes of a row whose key exists; without it, the statement fails. The caller must be in a transaction, because a failure
 * may leave a part of the rows.
 */
export const insertRows = <Names extends string>(
  db: Pick<SqlDatabase, 'prepare' | 'dialect'>,
  table: string,
  row: (p: Params<Names>, k: Knex) => Readonly<Record<string, Knex.Value>>,
  onConflict: (insert: Knex.QueryBuilder) => Knex.QueryBuilder = (insert) => insert,
): InsertRows<Names> => {
  const most = longest[db.dialect]
  const statements = new Map<number, Statement>()
  const slots = new Map<string, number>()
  /** Binds are named by small integers, which a large object finds faster than other names. */
  const slotOf = (name: string): number => {
    const known = slots.get(name) ?? slots.size
    slots.set(name, known)
    return known
  }
  const statementFor = (length: number): Statement => {
    const known = statements.get(length)
    if (known !== undefined) return known
    const composed: Statement = db.prepare((k, p: Params<string>) =>
      onConflict(k(table).insert(Array.from({ length }, (_, index) => row((name) => p(String(index * widest + slotOf(name))), k)))),
    )
    statements.set(length, composed)
    return composed
  }
  const bindsOf = (rows: readonly Readonly<Record<string, Bind>>[]): Record<number, Bind> => {
    const binds: Record<number, Bind> = {}
    for (const [index, each] of rows.entries()) {
      for (const name in each) {
        const bind = each[name]
        if (bind !== undefined) binds[index * widest + slotOf(name)] = bind
      }
    }
    return binds
  }
  return async (runner, rows) => {
    for (let at = 0; at < rows.length; ) {
      const left = rows.length - at
      const length = left >= most ? most : 2 ** Math.floor(Math.log2(left))
      await runner.run(statementFor(length), bindsOf(rows.slice(at, at + length)))
      at += length
    }
  }
}
