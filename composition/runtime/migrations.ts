import { MigrationRefused, newestOf } from '../../adapters/sql/engine/migration-ledger.ts'
import { migrationFaults, orderedMigrations } from '../../adapters/sql/engine/migration-order.ts'
import { aliveWithout } from '../../adapters/sql/kernel/instance-store.ts'
import { kernelMigrations, previousSchema } from '../../adapters/sql/kernel/migrations.ts'
import type { SchemaSession, SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { OrderedMigration, PartMigrations } from '../../adapters/sql/kit/migration.ts'
import { StartRefused } from '../part/boot.ts'

/** The parts of a deployment, as `loadConfig` returns them. The tables of closed parts exist too. */
export interface MigratedParts {
  readonly parts: readonly { readonly migrations?: PartMigrations }[]
  readonly ownParts: number
}

/**
 * Returns the migrations of the runtime and of all parts, in order, for a database of this kind. Throws `StartRefused`.
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

/** Returns the newest of our migrations: what this process knows of the schema. */
export const knownSchemaOf = ({ parts, ownParts }: MigratedParts): string =>
  newestOf(divided(parts, ownParts).own.flatMap(({ migrations }) => migrations))

/** Returns what the migrator must know of this release and of the instances that are alive. */
export const besideOthers = ({ dialect }: Pick<SqlDatabase, 'dialect'>) => ({
  beside: previousSchema,
  aliveWithout: (session: SchemaSession, migration: string) => aliveWithout(session, dialect, migration),
})

/** Returns one sentence about a contracting migration that waits for instances. */
export const postponed = (id: string, instances: readonly string[]): string =>
  instances.length === 0
    ? `The migration ${id} waits: the user of the database may not change the schema. Run: moorage migrate up`
    : `The migration ${id} waits for instances of an older release: ${instances.join(', ')}. When they have ended, ` +
      'run: moorage migrate up'

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
