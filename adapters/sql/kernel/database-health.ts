import type { SqlDatabase } from '../statement.ts'

/** Whether the database answers, in plain words when it does not. */
export type DatabaseHealth = { readonly isHealthy: true } | { readonly isHealthy: false; readonly message: string }

const boundMilliseconds = 1000

/** Asks the database for a sign of life, for at most one second. Askers at the same time share one question. */
export const makeDatabaseHealth = (database: SqlDatabase): (() => Promise<DatabaseHealth>) => {
  const ping = database.prepare((k) => k.raw('select 1 as one'))
  let asking: Promise<DatabaseHealth> | undefined
  const ask = async (): Promise<DatabaseHealth> => {
    try {
      await database.first(ping, {})
      return { isHealthy: true }
    } catch (error) {
      return { isHealthy: false, message: error instanceof Error ? error.message : String(error) }
    }
  }
  return async () => {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<DatabaseHealth>((resolve) => {
      timer = setTimeout(() => resolve({ isHealthy: false, message: 'The database did not answer within a second.' }), boundMilliseconds)
    })
    try {
      return await Promise.race([asking, tooLate])
    } finally {
      clearTimeout(timer)
    }
  }
}
