import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/client-orgs.ts'

const clientOrgs: Migration = {
  id: '0080-client-orgs-clusters',
  phase: 'expand',
  summary: 'client organizations and their clusters, with tombstones',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'client_orgs', (table) => {
      rowId(table, dialect)
      // No foreign keys: a tombstone outlives its organization and accounts.
      table.bigInteger('org_id').notNullable().unsigned().unique()
      asciiText(table, dialect, 'name', 40).notNullable().unique()
      table.bigInteger('vendor_id').notNullable().unsigned()
      table.bigInteger('admin_id').notNullable().unsigned()
      asciiText(table, dialect, 'state', 16).notNullable()
      table.boolean('is_shared').notNullable()
      asciiText(table, dialect, 'settling', 32).notNullable().defaultTo('')
      instant(table, 'created_at').notNullable()
    })
    await createTable(knex, dialect, 'client_org_clusters', (table) => {
      rowId(table, dialect)
      table.bigInteger('client_org_id').notNullable().unsigned().references('client_orgs.id').onDelete('CASCADE')
      asciiText(table, dialect, 'name', 63).notNullable()
      asciiText(table, dialect, 'uid', 64).notNullable().index()
      table.bigInteger('hub_owner_id').notNullable().unsigned().index()
      asciiText(table, dialect, 'hub_uid', 64).notNullable()
      table.bigInteger('gateway_of_id').nullable().unsigned().index()
      asciiText(table, dialect, 'state', 16).notNullable()
      table.text('plan').notNullable()
      table.string('message', 1000).notNullable().defaultTo('')
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['client_org_id', 'name'])
    })
  },
}

const accounts: Migration = {
  id: '0097-client-orgs-accounts',
  phase: 'expand',
  summary: 'an account for each member of a client organization on a cluster',
  async up(knex, dialect) {
    await knex.schema.alterTable('client_org_clusters', (table) => {
      // 1: all members share an account. An earlier release inserts it, and makes such an account.
      table.integer('account_layout').notNullable().defaultTo(1).index()
      table.index(['hub_owner_id', 'uid'])
    })
    await createTable(knex, dialect, 'client_org_accounts', (table) => {
      rowId(table, dialect)
      table.bigInteger('cluster_id').notNullable().unsigned().references('client_org_clusters.id').onDelete('CASCADE')
      // No foreign key: the account on the cluster outlives its user until it is removed there.
      table.bigInteger('user_id').notNullable().unsigned()
      table.unique(['cluster_id', 'user_id'])
    })
  },
}

export const clientOrgsMigrations: PartMigrations = {
  part: 'client-orgs',
  tables,
  needs: [],
  migrations: [clientOrgs, accounts],
}
