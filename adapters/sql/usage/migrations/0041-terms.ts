import { asciiText, createTable } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0041-usage-terms',
  summary: 'usage: which terms gave a figure, objects that were reported as trials, and the names of clusters',
  async up(knex, dialect) {
    await knex.schema.alterTable('usage_segments', (table) => {
      // The number of the version of the contract's terms; 0 without a contract, and in revisions of earlier releases.
      table.integer('terms_number').notNullable().defaultTo(0)
    })
    // The name outlives the record of the cluster and its binding. Empty until a job has read it.
    await knex.schema.alterTable('usage_clusters', (table) => {
      table.string('display_name', 255).notNullable().defaultTo('')
    })
    // Never removed: an object that is made again under its name is no trial again, however late.
    await createTable(knex, dialect, 'usage_trials', (table) => {
      table.bigInteger('object_id').notNullable().unsigned().primary()
      table.bigInteger('cluster_id').notNullable().unsigned()
      asciiText(table, dialect, 'object_uid', 36).notNullable()
      table.bigInteger('kind_id').notNullable().unsigned()
      asciiText(table, dialect, 'namespace', 63).notNullable()
      table.string('name', 253).notNullable()
      table.bigInteger('created_at').notNullable()
      table.index(['cluster_id', 'created_at'])
    })
    await knex.raw(
      'insert into usage_trials (object_id, cluster_id, object_uid, kind_id, namespace, name, created_at) ' +
        'select id, cluster_id, object_uid, kind_id, namespace, name, created_at from usage_objects where ' +
        'trial_ends_at is not null',
    )
  },
}
