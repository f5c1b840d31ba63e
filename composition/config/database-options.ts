import type { DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import type { MysqlOptions } from '../../adapters/sql/engine/mysql-pool.ts'
import type { FrameSettings } from './frame-settings.ts'

/** Returns the limits of connections to the database. */
export const databaseOptionsOf = ({
  databaseTimeoutSeconds,
}: Pick<FrameSettings, 'databaseTimeoutSeconds'>): DatabaseOptions => ({
  sqlite: { writerWaitMilliseconds: databaseTimeoutSeconds * 1000 },
  mysql: limitsWithin(databaseTimeoutSeconds),
})

/**
 * Returns the limits of a connection to MySQL or MariaDB. A statement gets nine tenths of the time; the rest is for
 * detecting that it ended.
 */
const limitsWithin = (seconds: number): MysqlOptions => ({
  connectTimeoutMilliseconds: seconds * 600,
  acquireTimeoutMilliseconds: seconds * 400,
  statementTimeoutMilliseconds: seconds * 900,
})
