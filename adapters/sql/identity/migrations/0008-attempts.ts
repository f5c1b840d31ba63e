import { createTable, fixedBytes, instant } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0008-identity-attempts',
  summary: 'counters of failed attempts to prove a password or a code',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'identity_attempts', (table) => {
      // HMAC-SHA256 of the counted name: a user may have typed a password into the field of the name.
      fixedBytes(table, dialect, 'key_hash', 32).notNullable().primary()
      table.integer('points').notNullable()
      instant(table, 'expires_at').notNullable().index()
    })
  },
}
