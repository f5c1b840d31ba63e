import { asciiText, createTable, fixedBytes, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

/** Instants of usage are whole seconds since the epoch, as in 0031. */
export const migration: Migration = {
  id: '0032-usage-clusters',
  summary: 'usage: modes and presence of clusters, their namespaces, outages',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'usage_modes', (table) => {
      table.bigInteger('cluster_id').notNullable().unsigned()
      table.bigInteger('at').notNullable()
      table.string('event_id', 255).notNullable()
      asciiText(table, dialect, 'mode', 8).notNullable()
      table.primary(['cluster_id', 'at', 'event_id'])
    })
    // One bit for each hour of the month in which the cluster was heard.
    await createTable(knex, dialect, 'usage_presence', (table) => {
      table.bigInteger('cluster_id').notNullable().unsigned()
      table.integer('month').notNullable()
      fixedBytes(table, dialect, 'hours', 93).notNullable()
      table.primary(['cluster_id', 'month'])
    })
    await createTable(knex, dialect, 'usage_namespaces', (table) => {
      table.bigInteger('cluster_id').notNullable().unsigned()
      asciiText(table, dialect, 'namespace_uid', 36).notNullable()
      asciiText(table, dialect, 'namespace', 63).notNullable()
      table.bigInteger('created_at').notNullable()
      table.text('labels').notNullable()
      table.text('annotations').notNullable()
      table.bigInteger('observed_at').notNullable()
      table.primary(['cluster_id', 'namespace_uid'])
    })
    // A time in which nothing was heard for a reason on our side: it counts as heard. Of all accounts, of one, or of
    // one cluster.
    await createTable(knex, dialect, 'usage_outages', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').nullable().unsigned()
      asciiText(table, dialect, 'cluster_uid', 36).notNullable().defaultTo('')
      table.bigInteger('from_at').notNullable()
      table.bigInteger('to_at').notNullable()
      table.text('tags').notNullable()
      table.text('comments').notNullable()
      instant(table, 'created_at').notNullable()
      table.index(['to_at'])
    })
  },
}
