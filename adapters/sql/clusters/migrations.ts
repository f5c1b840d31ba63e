import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/clusters.ts'

const records: Migration = {
  id: '0006-clusters-records',
  summary: 'cluster records with sealed credentials',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'clusters', (table) => {
      rowId(table, dialect)
      table.bigInteger('owner_id').notNullable().unsigned().references('accounts.id')
      asciiText(table, dialect, 'name', 63).notNullable()
      table.string('display_name', 255).notNullable()
      // The UID of the namespace kube-system: the same cluster may be recorded under several owners.
      asciiText(table, dialect, 'uid', 64).notNullable().index()
      asciiText(table, dialect, 'external_id', 255).notNullable().defaultTo('')
      asciiText(table, dialect, 'provider', 32).notNullable()
      asciiText(table, dialect, 'vendor', 64).notNullable().defaultTo('')
      table.string('endpoint', 512).notNullable()
      table.string('location', 128).notNullable().defaultTo('')
      table.string('project', 128).notNullable().defaultTo('')
      asciiText(table, dialect, 'kubernetes_version', 64).notNullable().defaultTo('')
      table.integer('node_count').notNullable().defaultTo(0)
      // Bits of core/clusters/managers.ts
      table.integer('managers').notNullable().defaultTo(0)
      asciiText(table, dialect, 'hub_cluster_uid', 64).notNullable().defaultTo('')
      asciiText(table, dialect, 'infra_namespace', 63).notNullable().defaultTo('')
      asciiText(table, dialect, 'phase', 16).notNullable()
      asciiText(table, dialect, 'phase_reason', 32).notNullable().defaultTo('')
      table.string('phase_message', 1000).notNullable().defaultTo('')
      table.boolean('impersonates_users').notNullable().defaultTo(false)
      // What the sealed credential is bound to.
      asciiText(table, dialect, 'ref', 36).notNullable()
      longBytes(table, dialect, 'sealed_credential').nullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'checked_at').nullable()
      table.bigInteger('imported_by').nullable().unsigned()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['owner_id', 'name'])
    })
  },
}

const managedNames: Migration = {
  id: '0028-clusters-managed-names',
  summary: 'the name under which a hub manages a cluster',
  async up(knex, dialect) {
    await knex.schema.alterTable('clusters', (table) => {
      asciiText(table, dialect, 'managed_cluster_name', 63).notNullable().defaultTo('')
      table.index(['owner_id', 'hub_cluster_uid'])
    })
  },
}

const setNames: Migration = {
  id: '0034-clusters-set-names',
  summary: 'the cluster set in which a hub has a cluster',
  async up(knex, dialect) {
    await knex.schema.alterTable('clusters', (table) => {
      asciiText(table, dialect, 'cluster_set_name', 63).notNullable().defaultTo('')
    })
  },
}

export const clustersMigrations: PartMigrations = {
  part: 'clusters',
  tables,
  needs: ['identity'],
  migrations: [records, managedNames, setNames],
}
