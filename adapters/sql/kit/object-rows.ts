import { id, int, longText, selectedAs } from './columns.ts'
import type { SqlDatabase, SqlRunner } from './statement.ts'

/**
 * Where the database has the objects of one type. The adapter of the part that owns the type declares it; every
 * statement that authorization runs is composed from it. A table has the columns `id` and `name`.
 */
export interface ObjectRows {
  readonly type: string
  readonly table: string
  /** The column with the id of the account that owns an object, or of the object that contains it. */
  readonly owner: string
  /** The column that a request's name is compared with; `name` by default. */
  readonly nameColumn?: string
  /** Names are stored in lower case and compare without regard to case. */
  readonly hasLowerNames?: boolean
  /** The column with the version of a row, for types whose connections are kept by version. */
  readonly version?: string
  /** An account that owns such an object cannot be deleted. */
  readonly keepsAccount?: boolean
}

/** An object that an account owns, and that would be left without an owner if the account were deleted. */
interface HeldObject {
  readonly type: string
  readonly name: string
}

/** Returns at most `limit` objects that prevent the deletion of an account, by type and name. */
export type HeldObjects = (runner: SqlRunner, accountId: number, limit: number) => Promise<readonly HeldObject[]>

/** The statements are composed at the first use. */
export const makeSqlHeldObjects = (db: SqlDatabase, objectRows: readonly ObjectRows[]): HeldObjects => {
  let statements: ReturnType<typeof compose> | undefined
  const compose = () =>
    objectRows
      .filter(({ keepsAccount }) => keepsAccount === true)
      .toSorted((a, b) => (a.type < b.type ? -1 : 1))
      .map(({ type, table, owner }) => ({
        type,
        statement: db.prepare({ id: id(), limit: int() }, { name: selectedAs(longText()) }, (k, p) =>
          k(table).where(owner, p.id).select('name').orderBy('name').limit(p.limit),
        ),
      }))
  return async (runner, accountId, limit) => {
    statements ??= compose()
    const held: HeldObject[] = []
    for (const { type, statement } of statements) {
      if (held.length >= limit) break
      for (const { name } of await runner.all(statement, {
        id: accountId,
        limit: limit - held.length,
      }))
        held.push({ type, name })
    }
    return held
  }
}
