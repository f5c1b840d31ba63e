import type { DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import type { MysqlOptions } from '../../adapters/sql/engine/mysql-pool.ts'
import type { WaitingAccount } from '../../adapters/sql/engine/wait-queue.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { FrameSettings } from './frame-settings.ts'

/**
 * Returns the limits of connections to the database.
 * @param account the account of a caller, for the turns of those who wait.
 */
export const databaseOptionsOf = (
  { databaseTimeoutSeconds }: Pick<FrameSettings, 'databaseTimeoutSeconds'>,
  account?: WaitingAccount,
): DatabaseOptions => {
  const turns = definedFields({ account })
  return {
    sqlite: { writerWaitMilliseconds: databaseTimeoutSeconds * 1000, ...turns },
    mysql: { ...limitsWithin(databaseTimeoutSeconds), ...turns },
  }
}

/**
 * Returns the limits of a connection to MySQL or MariaDB. A statement gets nine tenths of the time; the rest is for
 * detecting that it ended.
 */
const limitsWithin = (seconds: number): MysqlOptions => ({
  connectTimeoutMilliseconds: seconds * 600,
  acquireTimeoutMilliseconds: seconds * 400,
  statementTimeoutMilliseconds: seconds * 900,
})
