import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/packages.ts'

const drivers: Migration = {
  id: '0021-packages-drivers',
  summary: 'which driver keeps the Helm releases of a cluster, for each account',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'package_drivers', (table) => {
      rowId(table, dialect)
      table.bigInteger('account_id').notNullable().unsigned().references('accounts.id').onDelete('CASCADE')
      // Not the record's id: the setting outlives a cluster that is forgotten and imported again.
      asciiText(table, dialect, 'cluster_uid', 64).notNullable()
      asciiText(table, dialect, 'driver', 16).notNullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.unique(['account_id', 'cluster_uid'])
    })
  },
}

export const packagesMigrations: PartMigrations = {
  part: 'packages',
  tables,
  needs: ['identity'],
  migrations: [drivers],
}

const chartRepositories: Migration = {
  id: '0022-chart-repositories',
  summary: 'named chart repositories of accounts, their credentials sealed',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'chart_repositories', (table) => {
      rowId(table, dialect)
      table.bigInteger('account_id').notNullable().unsigned().references('accounts.id').onDelete('CASCADE')
      asciiText(table, dialect, 'name', 63).notNullable()
      table.string('url', 512).notNullable()
      table.boolean('plain_http').notNullable().defaultTo(false)
      table.string('description', 1000).notNullable().defaultTo('')
      table.string('username', 255).notNullable().defaultTo('')
      // Words, comma-separated: which credentials the box holds.
      asciiText(table, dialect, 'holds', 64).notNullable().defaultTo('')
      // What the box is bound to, beside the account.
      asciiText(table, dialect, 'ref', 36).notNullable()
      longBytes(table, dialect, 'sealed_credentials').nullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['account_id', 'name'])
    })
  },
}

export const chartRepositoriesMigrations: PartMigrations = {
  part: 'chart-repositories',
  needs: ['identity'],
  migrations: [chartRepositories],
}
