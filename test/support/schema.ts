import { ownMigrations } from '../../adapters/sql/engine/migration-order.ts'
import { migrateUp } from '../../adapters/sql/engine/migrator.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { allMigrations } from './all-migrations.ts'

/** The migrations of our parts, in the order in which they run. */
export const ourMigrations = ownMigrations(allMigrations)

/** Migrates to the schema of this version. Returns the ids of the migrations that ran. */
export const migrateToNow = (database: SqlDatabase): Promise<readonly string[]> =>
  migrateUp(database, { migrations: ourMigrations })
