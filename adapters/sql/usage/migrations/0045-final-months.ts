import { createTable, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0045-usage-final-months',
  summary: 'usage: months that have become final, until the message bus has been told',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'usage_final_months', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned()
      table.integer('month').notNullable()
      table.integer('revision').notNullable()
      instant(table, 'generated_at').notNullable()
    })
  },
}
