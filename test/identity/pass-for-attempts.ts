import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'

/** The database's own clock cannot be moved, so every end comes nearer instead. */
export const passForAttempts = async (db: SqlDatabase, milliseconds: number): Promise<void> => {
  await db.query((k) => k('identity_attempts').update({ expires_at: k.raw('expires_at - ?', [milliseconds]) }))
}
