import { asciiText, createTable, instant, longBytes, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0029-contracts',
  summary: 'contracts, the clusters that are bound to them, their history and licenses',
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
      table.index(['cluster_uid', 'contract_id'])
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
    await createTable(knex, dialect, 'license_authorities', (table) => {
      rowId(table, dialect)
      table.text('certificate').notNullable()
      // What the sealed key is bound to; empty if the key is in a file.
      asciiText(table, dialect, 'ref', 36).notNullable().defaultTo('')
      longBytes(table, dialect, 'sealed_key').nullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'retired_at').nullable()
    })
    // A license outlives its contract, so that the list of revoked ones stays complete.
    await createTable(knex, dialect, 'licenses', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'serial', 48).notNullable().unique()
      table.bigInteger('contract_id').notNullable().unsigned()
      table.bigInteger('owner_id').notNullable().unsigned()
      asciiText(table, dialect, 'cluster_uid', 36).notNullable()
      asciiText(table, dialect, 'kind', 8).notNullable()
      table.bigInteger('authority_id').notNullable().unsigned().references('license_authorities.id')
      instant(table, 'not_before').notNullable()
      instant(table, 'not_after').notNullable()
      asciiText(table, dialect, 'content_key', 64).notNullable()
      table.text('certificate').notNullable()
      instant(table, 'issued_at').notNullable()
      table.string('issued_by', 254).notNullable()
      instant(table, 'revoked_at').nullable()
      table.index(['contract_id', 'cluster_uid', 'kind', 'id'])
      table.index(['authority_id', 'revoked_at', 'not_after'])
    })
  },
}
