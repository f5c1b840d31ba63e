import Database from 'better-sqlite3'
import { until } from './until.ts'

const isBusy = (thrown: unknown): boolean =>
  thrown instanceof Database.SqliteError && thrown.code.startsWith('SQLITE_BUSY')

/**
 * Opens the SQLite file of a service, and reads. A reader waits for nobody. The service may run in this process: use
 * `writeSqliteFile` to write.
 */
export const readSqliteFile = <A>(path: string, read: (file: Database.Database) => A): A => {
  const file = new Database(path, { readonly: true })
  try {
    return read(file)
  } finally {
    file.close()
  }
}

/**
 * Opens the SQLite file of a service, and writes in one transaction. The service may run in this process, and have a
 * transaction open: a wait of the driver would stop this process, and so that transaction, which then never ends. So
 * nothing waits in the driver, and the write is repeated.
 */
export const writeSqliteFile = async (path: string, write: (file: Database.Database) => unknown): Promise<void> => {
  const file = new Database(path, { timeout: 0 })
  try {
    await until('no other transaction writes to the file', () => {
      try {
        file.transaction(write).immediate(file)
        return true
      } catch (thrown) {
        if (isBusy(thrown)) return undefined
        throw thrown
      }
    })
  } finally {
    file.close()
  }
}
