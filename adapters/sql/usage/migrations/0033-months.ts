import { asciiText, createTable, instant, longBytes, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0033-usage-months',
  summary: 'usage: months, their segments, views and reports, consumption of contracts, and alerts',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'usage_months', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned()
      table.integer('month').notNullable()
      table.integer('revision').notNullable()
      asciiText(table, dialect, 'status', 16).notNullable()
      instant(table, 'watermark').notNullable()
      asciiText(table, dialect, 'input_hash', 64).notNullable()
      table.integer('code_version').notNullable()
      instant(table, 'generated_at').notNullable()
      // Null while a revision is written, and after another one with its number has replaced it: readers do not see it.
      // Nulls are distinct in an index, so there is one visible row for each revision.
      table.boolean('is_published').nullable().defaultTo(true)
      table.unique(['owner_id', 'month', 'revision', 'is_published'])
      table.index(['month', 'status'])
    })
    // From what the revision was computed, so that each figure can be explained later.
    await createTable(knex, dialect, 'usage_segments', (table) => {
      table.bigInteger('month_id').notNullable().unsigned()
      table.bigInteger('cluster_id').notNullable().unsigned()
      asciiText(table, dialect, 'product', 16).notNullable()
      table.bigInteger('from_at').notNullable()
      table.bigInteger('to_at').notNullable()
      asciiText(table, dialect, 'mode', 8).notNullable()
      table.bigInteger('contract_id').notNullable().unsigned()
      table.primary(['month_id', 'cluster_id', 'product', 'from_at'])
    })
    await createTable(knex, dialect, 'usage_views', (table) => {
      rowId(table, dialect)
      table.bigInteger('month_id').notNullable().unsigned()
      asciiText(table, dialect, 'product', 16).notNullable()
      asciiText(table, dialect, 'view', 48).notNullable()
      asciiText(table, dialect, 'view_type', 16).notNullable()
      // The JSON text of the answer before and after its items.
      table.text('head').notNullable()
      table.text('tail').notNullable()
      table.integer('item_count').notNullable()
      // -1 until all pieces are written.
      table.integer('piece_count').notNullable()
      table.unique(['month_id', 'product', 'view', 'view_type'])
    })
    // The items in order: JSON texts that are joined by commas, as raw deflate without a last block, with CRC-32 and
    // length of the text.
    await createTable(knex, dialect, 'usage_view_pieces', (table) => {
      table.bigInteger('view_id').notNullable().unsigned()
      table.integer('piece').notNullable()
      asciiText(table, dialect, 'first_key', 80).notNullable()
      table.bigInteger('crc32').notNullable()
      table.integer('size').notNullable()
      longBytes(table, dialect, 'body').notNullable()
      table.primary(['view_id', 'piece'])
      table.index(['view_id', 'first_key'])
    })
    await createTable(knex, dialect, 'usage_reports', (table) => {
      table.bigInteger('month_id').notNullable().unsigned()
      table.integer('piece').notNullable()
      table.integer('size').notNullable()
      longBytes(table, dialect, 'body').notNullable()
      table.primary(['month_id', 'piece'])
    })
    // What a contract has used in a month so far, for its quota.
    await createTable(knex, dialect, 'usage_contract_months', (table) => {
      table.bigInteger('contract_id').notNullable().unsigned()
      table.integer('month').notNullable()
      asciiText(table, dialect, 'milli_cpu_seconds', 38).notNullable()
      asciiText(table, dialect, 'mebibyte_seconds', 38).notNullable()
      instant(table, 'computed_at').notNullable()
      table.primary(['contract_id', 'month'])
    })
    await createTable(knex, dialect, 'usage_alerts', (table) => {
      table.bigInteger('contract_id').notNullable().unsigned()
      table.integer('month').notNullable()
      // In percent of the quota.
      table.integer('threshold').notNullable()
      instant(table, 'sent_at').notNullable()
      table.primary(['contract_id', 'month', 'threshold'])
    })
  },
}
