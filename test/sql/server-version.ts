import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'

/** Reports whether the server is MariaDB, not MySQL. */
export const isMariaDb = async (database: SqlDatabase): Promise<boolean> => {
  const [row] = await database.query<{ readonly version: string }>((k) => k.raw('select version() as version'))
  return row?.version.includes('MariaDB') === true
}
