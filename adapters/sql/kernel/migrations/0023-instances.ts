import { asciiText, createTable, instant } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0023-kernel-instances',
  summary: 'the processes that serve this database; which of them began an idempotency record',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'instances', (table) => {
      asciiText(table, dialect, 'id', 36).notNullable().primary()
      // The last sign of life, by the database's clock.
      instant(table, 'beat_at').notNullable()
    })
    // No foreign key: the record outlives the process.
    await knex.schema.alterTable(
      'idempotency_records',
      (table) => void asciiText(table, dialect, 'instance_id', 36).nullable(),
    )
  },
}
