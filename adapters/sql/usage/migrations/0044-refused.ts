import { asciiText, createTable, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0044-usage-refused',
  summary: 'usage: events that were refused, to look at',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'usage_refused', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned()
      asciiText(table, dialect, 'cluster_uid', 36).notNullable()
      table.string('event_id', 255).notNullable()
      table.string('type', 64).notNullable()
      asciiText(table, dialect, 'reason', 32).notNullable()
      table.text('message').notNullable()
      instant(table, 'received_at').notNullable()
      table.index(['owner_id', 'id'])
      table.index(['received_at'])
    })
  },
}
