import { refusesChanges } from '../kit/driver-errors.ts'
import type { SqlDatabase } from '../kit/statement.ts'

/** A database, and whether it takes changes. */
export interface WatchedDatabase {
  readonly database: SqlDatabase
  /**
   * Returns why the database refused a change within the last 30 seconds (read-only, or full), or would refuse one now
   * (its file was removed or replaced), in plain words, or undefined.
   */
  readonly refusal: () => string | undefined
}

/** A full disk may take a small change between large ones that it refuses, so one success proves nothing. */
const keptMs = 30_000

/**
 * Watches the changes that the service makes. No statement is added: each process writes its sign of life every three
 * seconds, so a database that takes no changes is noticed without requests.
 */
export const watchChanges = (
  database: SqlDatabase,
  elapsedMs: () => number = () => performance.now(),
): WatchedDatabase => {
  let last: { readonly atMs: number; readonly message: string } | undefined
  const noted = async <A>(change: Promise<A>): Promise<A> => {
    try {
      return await change
    } catch (error) {
      if (refusesChanges(error)) last = { atMs: elapsedMs(), message: (error as Error).message }
      throw error
    }
  }
  return {
    database: {
      ...database,
      run: (statement, binds) => noted(database.run(statement, binds)),
      transaction: (work) => noted(database.transaction(work)),
    },
    refusal: () => (last !== undefined && elapsedMs() - last.atMs < keptMs ? last.message : lossOf(database)),
  }
}

/** Returns why a change made now would be lost, or undefined. */
const lossOf = (database: SqlDatabase): string | undefined => {
  try {
    database.refuseLost()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
