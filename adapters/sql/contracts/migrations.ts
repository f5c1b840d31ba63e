import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/contracts.ts'

const contracts: Migration = {
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

const documents: Migration = {
  id: '0030-contracts-documents',
  summary: 'documents in the store to which no contract refers; the order of the clusters of a contract',
  async up(knex, dialect) {
    // A document has a row here before it is stored, and again from when its contract is without it until it is removed
    // from the store.
    await createTable(knex, dialect, 'contract_document_removals', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'ref', 64).notNullable().unique()
      instant(table, 'due_at').notNullable().index()
    })
    await knex.schema.alterTable('contract_clusters', (table) => {
      // The order of the clusters of a contract.
      table.index(['contract_id', 'display_name', 'id'])
    })
  },
}

/**
 * A row of `contracts` has the newest version of the terms, so that the release before this one reads and writes it as
 * ever.
 */
const terms: Migration = {
  id: '0040-contracts-terms',
  summary:
    'contracts: versions of the terms with the time in which they are in force, trials, and reminders of one end',
  async up(knex, dialect) {
    await knex.schema.alterTable('contracts', (table) => {
      table.integer('terms_number').notNullable().defaultTo(1)
      // Of the newest version. 0: from the beginning of the contract.
      instant(table, 'terms_from').notNullable().defaultTo(0)
      instant(table, 'terms_recorded_at').notNullable().defaultTo(0)
      table.string('terms_recorded_by', 254).notNullable().defaultTo('')
      table.boolean('allows_trials').notNullable().defaultTo(false)
      table.integer('max_trials').notNullable().defaultTo(0)
      // The end of which the owner was reminded: another end needs other reminders.
      instant(table, 'reminded_ends_at').nullable()
      table.index(['terms_from'])
    })
    // What contracts allowed until now stays allowed, so that no past figure changes.
    await knex('contracts').update({
      allows_trials: true,
      max_trials: 1_000_000,
      terms_recorded_at: knex.ref('created_at'),
    })
    await knex('contracts')
      .where((each) => each.whereNotNull('reminded_45_at').orWhereNotNull('reminded_10_at'))
      .update({ reminded_ends_at: knex.ref('ends_at') })
    // The versions before the newest one, and those that a change of the past has replaced.
    await createTable(knex, dialect, 'contract_terms', (table) => {
      rowId(table, dialect)
      table.bigInteger('contract_id').notNullable().unsigned().references('contracts.id').onDelete('CASCADE')
      table.integer('number').notNullable()
      instant(table, 'from_at').notNullable()
      // Null if it was the newest version when it was replaced.
      instant(table, 'to_at').nullable()
      asciiText(table, dialect, 'product', 64).notNullable()
      table.text('features').notNullable()
      table.text('quota').notNullable()
      table.text('restrictions').notNullable()
      instant(table, 'starts_at').notNullable()
      instant(table, 'ends_at').notNullable()
      table.boolean('allows_offline').notNullable()
      table.boolean('allows_trials').notNullable()
      table.integer('max_trials').notNullable()
      table.boolean('disables_analytics').notNullable()
      table.boolean('enables_client_billing').notNullable()
      instant(table, 'recorded_at').notNullable()
      table.string('recorded_by', 254).notNullable()
      instant(table, 'superseded_at').nullable()
      table.unique(['contract_id', 'number'])
      table.index(['contract_id', 'from_at'])
    })
    await knex.schema.alterTable('contract_events', (table) => {
      // Of an event that changed the terms: the version, and from when on it is in force.
      table.integer('terms_number').nullable()
      instant(table, 'effective_from').nullable()
    })
  },
}

export const contractsMigrations: PartMigrations = {
  part: 'contracts',
  tables,
  needs: ['identity'],
  migrations: [contracts, documents, terms],
}
