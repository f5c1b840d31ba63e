import { asciiText, createTable, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

/**
 * Instants of usage are whole seconds since the epoch, since sums are computed from them in SQL. Only `received_at` is
 * an instant.
 */
export const migration: Migration = {
  id: '0031-usage-events',
  summary: 'usage: clusters, objects, their changes and intervals',
  async up(knex, dialect) {
    // A month that was billed outlives its owner: no table of usage refers to accounts.
    await createTable(knex, dialect, 'usage_clusters', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned()
      asciiText(table, dialect, 'cluster_uid', 36).notNullable()
      // The first second of the first and of the last hour in which the cluster was heard.
      table.bigInteger('first_heard').notNullable()
      table.bigInteger('last_heard').notNullable()
      // The last month into which the intervals of its objects were continued.
      table.integer('carried_month').notNullable()
      table.unique(['owner_id', 'cluster_uid'])
    })
    await createTable(knex, dialect, 'usage_kinds', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'product', 16).notNullable()
      asciiText(table, dialect, 'api_group', 253).notNullable()
      asciiText(table, dialect, 'kind', 63).notNullable()
      table.unique(['product', 'api_group', 'kind'])
    })
    await createTable(knex, dialect, 'usage_objects', (table) => {
      rowId(table, dialect)
      table.bigInteger('cluster_id').notNullable().unsigned()
      asciiText(table, dialect, 'object_uid', 36).notNullable()
      table.bigInteger('kind_id').notNullable().unsigned()
      asciiText(table, dialect, 'namespace', 63).notNullable()
      asciiText(table, dialect, 'namespace_uid', 36).notNullable()
      table.string('name', 253).notNullable()
      table.bigInteger('created_at').notNullable()
      table.bigInteger('deleted_at').nullable()
      table.bigInteger('trial_ends_at').nullable()
      // The last day on which the object was heard, in days since the epoch, and whether it sends heartbeats of its
      // own.
      table.integer('last_heard_day').notNullable()
      table.boolean('sends_heartbeats').notNullable()
      table.unique(['cluster_id', 'object_uid'])
      table.index(['deleted_at'])
    })
    // Each change once, whatever the order in which changes arrive: intervals are derived from the set of them.
    await createTable(knex, dialect, 'usage_changes', (table) => {
      table.bigInteger('object_id').notNullable().unsigned()
      table.bigInteger('generation').notNullable().unsigned()
      asciiText(table, dialect, 'type', 16).notNullable()
      table.bigInteger('at').notNullable()
      table.bigInteger('milli_cpu').notNullable()
      table.bigInteger('memory_mib').notNullable()
      table.integer('replicas').notNullable()
      // Pods and volumes of the object, as JSON; for the reports on databases. Empty if they were not reported.
      table.text('details').notNullable()
      table.boolean('is_trial').notNullable()
      instant(table, 'received_at').notNullable()
      table.primary(['object_id', 'generation', 'type'])
    })
    // Events whose key was received before with another content; for an operator to look at.
    await createTable(knex, dialect, 'usage_conflicts', (table) => {
      rowId(table, dialect)
      table.bigInteger('cluster_id').notNullable().unsigned()
      table.string('event_id', 255).notNullable()
      table.text('event').notNullable()
      instant(table, 'received_at').notNullable()
      table.index(['cluster_id', 'id'])
      table.index(['received_at'])
    })
    await createTable(knex, dialect, 'usage_intervals', (table) => {
      table.integer('month').notNullable()
      table.bigInteger('cluster_id').notNullable().unsigned()
      table.bigInteger('object_id').notNullable().unsigned()
      table.bigInteger('from_at').notNullable()
      table.bigInteger('to_at').notNullable()
      // At most `to_at`: where an object ends of which nothing was heard any more.
      table.bigInteger('cut_at').notNullable()
      table.bigInteger('kind_id').notNullable().unsigned()
      table.bigInteger('milli_cpu').notNullable()
      table.bigInteger('memory_mib').notNullable()
      table.bigInteger('generation').notNullable().unsigned()
      table.integer('replicas').notNullable()
      table.primary(['month', 'cluster_id', 'object_id', 'from_at'])
    })
    // A job makes a partition for each month ahead of it, and drops those that are no longer kept.
    if (dialect === 'mysql')
      await knex.schema.raw(
        'alter table usage_intervals partition by range (month) (partition p0 values less than (200001), ' +
          'partition pmax values less than maxvalue)',
      )
  },
}
