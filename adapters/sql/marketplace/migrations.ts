import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, fixedBytes, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/marketplace.ts'

const subscriptions: Migration = {
  id: '0050-marketplace-subscriptions',
  summary: 'subscriptions of cloud marketplaces, their history, installers, claims and answered notifications',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'marketplace_subscriptions', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'ref', 36).notNullable().unique()
      asciiText(table, dialect, 'marketplace', 8).notNullable()
      // SHA-256 of what identifies the subscription for its provider.
      fixedBytes(table, dialect, 'key_hash', 32).notNullable().unique()
      asciiText(table, dialect, 'state', 16).notNullable()
      asciiText(table, dialect, 'installer_ref', 32).notNullable().defaultTo('')
      table.boolean('is_provisioned').notNullable()
      table.boolean('is_tombstone').notNullable()
      // Of the newest event that was applied, in units of 100 ns since the epoch.
      table.bigInteger('last_ticks').nullable()
      table.string('application_id', 512).notNullable()
      table.string('resource_usage_id', 255).notNullable().defaultTo('')
      // Objects that no statement searches, as JSON.
      table.text('plan').notNullable()
      table.text('error').nullable()
      table.text('contract_ids').notNullable()
      table.bigInteger('account_id').nullable().unsigned().index()
      table.bigInteger('claimed_by').nullable().unsigned()
      table.string('cluster_id', 255).notNullable().defaultTo('')
      table.integer('alerts').notNullable().defaultTo(0)
      instant(table, 'alerted_at').nullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.index(['is_tombstone', 'updated_at'])
    })
    await createTable(knex, dialect, 'marketplace_events', (table) => {
      rowId(table, dialect)
      table
        .bigInteger('subscription_id')
        .notNullable()
        .unsigned()
        .references('marketplace_subscriptions.id')
        .onDelete('CASCADE')
      instant(table, 'at').notNullable()
      table.string('operation', 80).notNullable()
      asciiText(table, dialect, 'outcome', 16).notNullable()
      table.string('description', 512).notNullable()
      asciiText(table, dialect, 'state', 16).notNullable()
      table.index(['subscription_id', 'id'])
    })
    await createTable(knex, dialect, 'marketplace_installers', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'ref', 32).notNullable().unique()
      asciiText(table, dialect, 'marketplace', 8).notNullable()
      table.bigInteger('account_id').nullable().unsigned()
      table.text('products').notNullable()
      table.integer('contract_days').notNullable()
      table.string('contact', 254).notNullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'expires_at').notNullable()
      instant(table, 'bound_at').nullable()
      table.string('cluster_id', 255).notNullable().defaultTo('')
      asciiText(table, dialect, 'cloud_account_id', 12).notNullable().defaultTo('')
      table.bigInteger('subscription_id').nullable().unsigned().index()
      instant(table, 'link_expires_at').nullable()
      table.string('admin_username', 255).notNullable().defaultTo('')
      // The password that was sent with the bind, until it is erased.
      longBytes(table, dialect, 'admin_password').nullable()
      longBytes(table, dialect, 'archive').notNullable()
    })
    await createTable(knex, dialect, 'marketplace_claims', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'ref', 32).notNullable().unique()
      table.bigInteger('installer_id').notNullable().unsigned().index()
      table.boolean('is_claimable').notNullable()
      table.integer('attempts').notNullable()
      instant(table, 'next_check_at').notNullable()
      instant(table, 'claimed_at').nullable()
      table.bigInteger('claimed_by').nullable().unsigned()
      table.bigInteger('org_id').nullable().unsigned()
      instant(table, 'created_at').notNullable()
      table.index(['is_claimable', 'claimed_at', 'id'])
    })
    await createTable(knex, dialect, 'marketplace_inbox', (table) => {
      rowId(table, dialect)
      fixedBytes(table, dialect, 'key_hash', 32).notNullable().unique()
      asciiText(table, dialect, 'marketplace', 8).notNullable()
      table.integer('status').notNullable()
      table.string('message', 255).notNullable()
      asciiText(table, dialect, 'installer_ref', 32).notNullable()
      instant(table, 'answered_at').notNullable().index()
    })
    // At most one row: the key that signs archives, PKCS#8 in PEM, sealed.
    await createTable(knex, dialect, 'marketplace_signing_keys', (table) => {
      table.integer('id').notNullable().primary()
      asciiText(table, dialect, 'ref', 36).notNullable()
      longBytes(table, dialect, 'sealed_key').notNullable()
    })
  },
}

const consoles: Migration = {
  id: '0091-marketplace-consoles',
  phase: 'expand',
  summary: 'marketplace: where an installation takes reports of usage, and how often usage was reported',
  async up(knex, dialect) {
    await knex.schema.alterTable('marketplace_subscriptions', (table) => {
      table.string('console_url', 512).notNullable().defaultTo('')
      // The access token of the installation, sealed.
      longBytes(table, dialect, 'metering_token').nullable()
      table.integer('reports').notNullable().defaultTo(0)
      instant(table, 'reported_at').nullable()
    })
  },
}

const repurchases: Migration = {
  id: '0100-marketplace-repurchases',
  phase: 'expand',
  summary: 'marketplace: the deleted subscription before one of the same application',
  async up(knex, dialect) {
    await knex.schema.alterTable('marketplace_subscriptions', (table) => {
      asciiText(table, dialect, 'former_ref', 36).notNullable().defaultTo('')
      // Events up to this time are about the former subscription, in units of 100 ns since the epoch.
      table.bigInteger('floor_ticks').nullable()
    })
  },
}

export const marketplaceMigrations: PartMigrations = {
  part: 'marketplace',
  tables,
  needs: [],
  migrations: [subscriptions, consoles, repurchases],
}

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

const claims: Migration = {
  id: '0090-metering-claims',
  phase: 'expand',
  summary: 'metering: one report of a metric at a time, and what was reported, in words',
  async up(knex, dialect) {
    await knex.schema.alterTable('metering_usage', (table) => {
      // Of the clock of the database. Until then, the process that sends the usage is waited for.
      instant(table, 'claimed_until').notNullable().defaultTo(0)
      table.string('product', 255).notNullable().defaultTo('')
      table.string('dimension', 512).notNullable().defaultTo('')
      table.string('quantity', 64).notNullable().defaultTo('')
      table.string('consumer', 255).notNullable().defaultTo('')
      asciiText(table, dialect, 'subscription_ref', 36).notNullable().defaultTo('').index()
    })
    // The row of a metric is locked while its overlaps are looked for.
    await createTable(knex, dialect, 'metering_scopes', (table) => {
      asciiText(table, dialect, 'scope', 64).notNullable().primary()
      instant(table, 'used_at').notNullable().index()
    })
  },
}

const lateUsage: Migration = {
  id: '0101-metering-late-usage',
  phase: 'expand',
  summary: 'metering: usage that arrives after its hour was fixed, and the subscription of an hour',
  async up(knex, dialect) {
    await knex.schema.alterTable('metering_hours', (table) => {
      asciiText(table, dialect, 'subscription_ref', 36).notNullable().defaultTo('')
      // Amounts are milli-core-seconds or MiB-seconds; those of one unit are in `unit`.
      table.bigInteger('unit').notNullable().defaultTo(0)
      table.bigInteger('seen').nullable()
      table.bigInteger('counted').notNullable().defaultTo(0)
      table.bigInteger('late').notNullable().defaultTo(0)
      table.bigInteger('lost').notNullable().defaultTo(0)
      table.bigInteger('difference').notNullable().defaultTo(0)
      table.integer('differences').notNullable().defaultTo(0)
      table.bigInteger('added').notNullable().defaultTo(0)
      table.boolean('is_mailed').notNullable().defaultTo(true)
      table.index(['hour_at'])
      table.index(['is_mailed', 'hour_at'])
    })
  },
}

export const meteringMigrations: PartMigrations = {
  part: 'metering',
  needs: [],
  migrations: [calls, hours, claims, lateUsage],
}
