import { asciiText, createTable, instant } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0061-metering-hours',
  summary: 'metering: the hours that the service reports by itself',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'metering_hours', (table) => {
      table.string('dimension', 255).notNullable()
      instant(table, 'hour_at').notNullable()
      asciiText(table, dialect, 'state', 8).notNullable()
      table.bigInteger('quantity').notNullable()
      table.bigInteger('rest').notNullable()
      table.string('reason', 64).notNullable()
      instant(table, 'changed_at').notNullable()
      table.primary(['dimension', 'hour_at'])
      table.index(['state', 'dimension'])
    })
  },
}
