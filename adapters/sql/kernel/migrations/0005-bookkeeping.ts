import { asciiText, createTable, fixedBytes, instant, longBytes, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0005-kernel-bookkeeping',
  summary: 'idempotency records and named leases',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'idempotency_records', (table) => {
      rowId(table, dialect)
      // SHA-256 over principal, operation and key, each with its length.
      fixedBytes(table, dialect, 'key_hash', 32).notNullable().unique()
      fixedBytes(table, dialect, 'request_hash', 32).notNullable()
      // started, applied (the change is committed, its answer not yet stored) or answered
      asciiText(table, dialect, 'state', 16).notNullable()
      table.integer('status').nullable()
      table.text('headers').nullable()
      longBytes(table, dialect, 'body').nullable()
      instant(table, 'created_at').notNullable().index()
    })
    await createTable(knex, dialect, 'leases', (table) => {
      asciiText(table, dialect, 'name', 64).notNullable().primary()
      asciiText(table, dialect, 'holder', 64).notNullable()
      table.bigInteger('fence').notNullable()
      instant(table, 'until').notNullable()
    })
  },
}
