import { asciiText, createTable, instant, rowId } from './columns.ts'
import type { Migration } from './migration.ts'

export const migration: Migration = {
  id: '0030-contracts',
  summary: 'contracts, the clusters that are bound to them, and their history',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'contracts', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned().references('accounts.id')
      table.string('name', 255).notNullable()
      asciiText(table, dialect, 'product', 64).notNullable()
      // Lists and objects that no statement searches, as JSON.
      table.text('features').notNullable()
      table.text('emails').notNullable()
      table.text('quota').notNullable()
      table.text('restrictions').notNullable()
      instant(table, 'starts_at').notNullable()
      instant(table, 'ends_at').notNullable()
      table.boolean('allows_offline').notNullable()
      table.boolean('binds_new_clusters').notNullable()
      table.boolean('disables_analytics').notNullable()
      table.boolean('enables_client_billing').notNullable()
      asciiText(table, dialect, 'document_ref', 64).notNullable().defaultTo('')
      table.string('document_name', 255).notNullable().defaultTo('')
      asciiText(table, dialect, 'document_type', 127).notNullable().defaultTo('')
      table.bigInteger('document_size').notNullable().defaultTo(0)
      instant(table, 'revoked_at').nullable()
      instant(table, 'reminded_45_at').nullable()
      instant(table, 'reminded_10_at').nullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.index(['owner_id', 'starts_at', 'id'])
      table.index(['starts_at', 'id'])
      table.index(['ends_at'])
    })
    await createTable(knex, dialect, 'contract_clusters', (table) => {
      rowId(table, dialect)
      table.bigInteger('contract_id').notNullable().unsigned().references('contracts.id').onDelete('CASCADE')
      table.bigInteger('owner_id').notNullable().unsigned()
      asciiText(table, dialect, 'cluster_uid', 36).notNullable()
      table.string('display_name', 128).notNullable()
      instant(table, 'bound_at').notNullable()
      table.unique(['contract_id', 'cluster_uid'])
      table.index(['owner_id', 'cluster_uid', 'contract_id'])
    })
    // The tags belong to the cluster, whatever contracts license it.
    await createTable(knex, dialect, 'contract_cluster_tags', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned().references('accounts.id').onDelete('CASCADE')
      asciiText(table, dialect, 'cluster_uid', 36).notNullable()
      table.text('tags').notNullable()
      table.unique(['owner_id', 'cluster_uid'])
    })
    // From when to when a cluster counted for a contract. It outlives both.
    await createTable(knex, dialect, 'contract_cluster_intervals', (table) => {
      rowId(table, dialect)
      table.bigInteger('contract_id').notNullable().unsigned().index()
      asciiText(table, dialect, 'cluster_uid', 36).notNullable().index()
      instant(table, 'bound_from').notNullable()
      instant(table, 'bound_to').nullable()
    })
    await createTable(knex, dialect, 'contract_events', (table) => {
      rowId(table, dialect)
      table.bigInteger('contract_id').notNullable().unsigned().references('contracts.id').onDelete('CASCADE')
      asciiText(table, dialect, 'event', 32).notNullable()
      table.string('added_by', 254).notNullable()
      instant(table, 'created_at').notNullable()
      table.index(['contract_id', 'id'])
    })
  },
}
