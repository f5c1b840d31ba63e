import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, rowId } from '../kit/schema-columns.ts'

const calls: Migration = {
  id: '0060-metering-calls',
  summary: 'metering: usage that was sent to providers, and every call',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'metering_usage', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'usage_key', 36).notNullable()
      asciiText(table, dialect, 'cloud', 8).notNullable()
      asciiText(table, dialect, 'scope', 64).notNullable()
      instant(table, 'start_at').notNullable()
      instant(table, 'end_at').notNullable()
      asciiText(table, dialect, 'state', 8).notNullable()
      // The id of the record at the provider, or its answer as JSON. Empty if the usage is not accepted.
      table.text('answer').notNullable()
      instant(table, 'changed_at').notNullable()
      table.unique(['usage_key'])
      table.index(['scope', 'start_at'])
      table.index(['end_at'])
    })
    // Rows are added and, when they are old, removed; they are never changed.
    await createTable(knex, dialect, 'metering_calls', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'usage_key', 36).notNullable()
      asciiText(table, dialect, 'cloud', 8).notNullable()
      instant(table, 'at').notNullable()
      table.string('asked_by', 255).notNullable()
      asciiText(table, dialect, 'outcome', 8).notNullable()
      table.string('code', 64).notNullable()
      table.text('answer').notNullable()
      table.integer('attempts').notNullable()
      table.integer('milliseconds').notNullable()
      table.index(['usage_key'])
      table.index(['at'])
    })
  },
}

const hours: Migration = {
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

export const meteringMigrations: PartMigrations = {
  part: 'metering',
  needs: [],
  migrations: [calls, hours],
}
