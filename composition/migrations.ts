import { MigrationRefused } from '../adapters/sql/engine/migration-ledger.ts'
import { orderedMigrations } from '../adapters/sql/engine/migration-order.ts'
import type { SqlDatabase } from '../adapters/sql/kit/statement.ts'
import { allMigrations } from '../adapters/sql/migrations/all-migrations.ts'
import type { OrderedMigration } from '../adapters/sql/migrations/migration.ts'
import { StartRefused } from './boot.ts'

/** Returns the migrations of all parts, in order, for a database of this kind. Throws `StartRefused`. */
export const migrationsFor = async ({
  dialect,
}: Pick<SqlDatabase, 'dialect'>): Promise<readonly OrderedMigration[]> => {
  try {
    return await orderedMigrations(allMigrations, [], dialect)
  } catch (error) {
    throw error instanceof MigrationRefused ? new StartRefused([error.message]) : error
  }
}
