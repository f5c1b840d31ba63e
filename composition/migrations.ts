import { MigrationRefused } from '../adapters/sql/engine/migration-ledger.ts'
import { migrationFaults, orderedMigrations } from '../adapters/sql/engine/migration-order.ts'
import { kernelMigrations } from '../adapters/sql/kernel/migrations.ts'
import type { SqlDatabase } from '../adapters/sql/kit/statement.ts'
import type { OrderedMigration, PartMigrations } from '../adapters/sql/kit/migration.ts'
import { StartRefused } from './boot.ts'

/** The parts of a deployment, as `loadConfig` returns them. The tables of closed parts exist too. */
export interface MigratedParts {
  readonly parts: readonly { readonly migrations?: PartMigrations }[]
  readonly ownParts: number
}

/**
 * Returns the migrations of the frame and of all parts, in order, for a database of this kind. Throws `StartRefused`.
 */
export const migrationsFor = async (
  { parts, ownParts }: MigratedParts,
  { dialect }: Pick<SqlDatabase, 'dialect'>,
): Promise<readonly OrderedMigration[]> => {
  const { own, outside } = divided(parts, ownParts)
  try {
    return await orderedMigrations(own, outside, dialect)
  } catch (error) {
    throw error instanceof MigrationRefused ? new StartRefused([error.message]) : error
  }
}

/** Returns what is wrong with the migrations of parts of a deployer, for a database of this kind. Asks no database. */
export const outsideMigrationFaults = (
  { parts, ownParts }: MigratedParts,
  dialect: SqlDatabase['dialect'],
): Promise<readonly string[]> => {
  const { own, outside } = divided(parts, ownParts)
  return migrationFaults(own, outside, dialect)
}

const divided = (parts: MigratedParts['parts'], ownParts: number) => {
  const migrationsOf = (some: MigratedParts['parts']): readonly PartMigrations[] =>
    some.flatMap(({ migrations }) => (migrations === undefined ? [] : [migrations]))
  return {
    own: [kernelMigrations, ...migrationsOf(parts.slice(0, ownParts))],
    outside: migrationsOf(parts.slice(ownParts)),
  }
}
