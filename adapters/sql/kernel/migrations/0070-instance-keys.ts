import { asciiText } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0070-kernel-instance-keys',
  summary: 'which keys of the key ring each process has',
  async up(knex, dialect) {
    // Null if the process seals nothing.
    await knex.schema.alterTable('instances', (table) => void asciiText(table, dialect, 'sealing_key', 64).nullable())
    await knex.schema.alterTable('instances', (table) => void asciiText(table, dialect, 'newest_key', 64).nullable())
  },
}
