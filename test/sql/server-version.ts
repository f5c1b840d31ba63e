import { unsuitableSettings } from '../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'

/** Reports whether the server is MariaDB, not MySQL. */
export const isMariaDb = async (database: SqlDatabase): Promise<boolean> => {
  const [row] = await database.query<{ readonly version: string }>((k) => k.raw('select version() as version'))
  return row?.version.includes('MariaDB') === true
}

/** Reports whether spaces at the end of a text do not count when it is compared: MySQL before 8.0.17 is so. */
export const ignoresTrailingSpaces = async (database: SqlDatabase): Promise<boolean> =>
  (await unsuitableSettings(database)).some((sentence) => sentence.includes('8.0.17'))
