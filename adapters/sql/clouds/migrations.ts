import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/clouds.ts'

const credentials: Migration = {
  id: '0014-clouds-credentials',
  summary: 'cloud credentials of people, sealed',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'cloud_credentials', (table) => {
      rowId(table, dialect)
      table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
      asciiText(table, dialect, 'name', 253).notNullable()
      asciiText(table, dialect, 'type', 32).notNullable()
      table.bigInteger('owner_id').notNullable().unsigned()
      // Empty for types that belong to no fleet manager.
      table.string('fleet_endpoint', 512).notNullable().defaultTo('')
      // What the sealed spec is bound to, beside the user.
      asciiText(table, dialect, 'ref', 36).notNullable()
      longBytes(table, dialect, 'sealed_spec').notNullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['user_id', 'name'])
    })
  },
}

export const cloudsMigrations: PartMigrations = {
  part: 'clouds',
  tables,
  needs: ['identity'],
  migrations: [credentials],
}
