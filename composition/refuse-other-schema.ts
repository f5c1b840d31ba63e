import { ofNewerVersion } from '../adapters/sql/migration-records.ts'
import { migrationStatus } from '../adapters/sql/migrations.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'
import { StartRefused } from './start-refused.ts'

/**
 * Ends a start that may not migrate, unless the schema is this version's. An older version on a newer schema would not ask
 * for what it does not know of, such as a second factor. Throws `StartRefused`.
 */
export const refuseOtherSchema = async (database: SqlDatabase): Promise<void> => {
  const status = await migrationStatus(database)
  const newer = status.filter(({ state }) => state === 'unknown')
  if (newer.length > 0) throw new StartRefused([ofNewerVersion(newer.map(({ id }) => id))])
  const missing = status.filter(({ state }) => state !== 'done')
  if (missing.length > 0) throw new StartRefused([`The schema is behind by ${missing.length} migrations. Run: moorage migrate up`])
}
