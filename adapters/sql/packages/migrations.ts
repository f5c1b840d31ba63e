import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, rowId } from '../kit/schema-columns.ts'

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
  needs: ['identity'],
  migrations: [drivers],
}
