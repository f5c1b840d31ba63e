import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, fixedBytes, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/usage.ts'

/**
 * Instants of usage are whole seconds since the epoch, since sums are computed from them in SQL. Only `received_at` is
 * an instant.
 */
const events: Migration = {
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

/** Instants of usage are whole seconds since the epoch, as in 0031. */
const clusters: Migration = {
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

const months: Migration = {
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

const terms: Migration = {
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

const intake: Migration = {
  id: '0043-usage-intake',
  summary: 'usage: how many events of a cluster arrived on each day',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'usage_intake', (table) => {
      table.bigInteger('owner_id').notNullable().unsigned()
      asciiText(table, dialect, 'cluster_uid', 36).notNullable()
      // Days since the epoch.
      table.integer('day').notNullable()
      table.bigInteger('accepted').notNullable()
      table.bigInteger('repeated').notNullable()
      table.bigInteger('refused').notNullable()
      table.bigInteger('late').notNullable()
      table.primary(['owner_id', 'day', 'cluster_uid'])
      table.index(['day'])
    })
  },
}

const refused: Migration = {
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

const finalMonths: Migration = {
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

export const usageMigrations: PartMigrations = {
  part: 'usage',
  tables,
  needs: [],
  migrations: [events, clusters, months, terms, intake, refused, finalMonths],
}
