import { fixedBytes } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0017-audit-retention',
  summary: 'where an audit chain goes on after its oldest rows were retired, and an index for finding those',
  async up(knex, dialect) {
    await knex.schema.alterTable('audit_heads', (table) => {
      fixedBytes(table, dialect, 'base_hash', 32).nullable()
      fixedBytes(table, dialect, 'base_seal', 32).nullable()
    })
    await knex.schema.alterTable('audit_events', (table) => {
      table.index(['at'])
    })
    // A robot's login is longer than a person's. Up to 63 characters (255 bytes) the server changes no row; beyond, it
    // copies the whole log, and every change waits. SQLite knows no width.
    if (dialect === 'mysql') {
      await knex.schema.alterTable('audit_events', (table) => {
        table.string('actor_name', 63).notNullable().defaultTo('').alter()
        table.string('impersonator_name', 63).notNullable().defaultTo('').alter()
      })
    }
  },
}
