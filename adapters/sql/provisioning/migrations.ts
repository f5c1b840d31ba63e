import type { Migration, PartMigrations } from '../kit/migration.ts'
import { createTable, instant } from '../kit/schema-columns.ts'
import * as tables from '../tables/provisioning.ts'

const directory: Migration = {
  id: '0121-provisioning-directory',
  summary: 'users and groups that directories of organizations manage',
  phase: 'expand',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'provisioned_users', (table) => {
      table.bigInteger('user_id').notNullable().unsigned().primary().references('users.id').onDelete('CASCADE')
      table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
      table.string('user_name', 254).notNullable()
      table.string('lower_user_name', 254).notNullable()
      table.string('external_id', 255).nullable()
      // The beginning of the name: filters compare the whole.
      table.string('lower_display_name', 100).notNullable()
      table.text('attributes').notNullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['org_id', 'lower_user_name'])
      table.index(['org_id', 'user_id'])
      table.index(['org_id', 'external_id'])
      table.index(['org_id', 'lower_display_name'])
    })
    await createTable(knex, dialect, 'provisioned_emails', (table) => {
      table.bigInteger('user_id').notNullable().unsigned().references('provisioned_users.user_id').onDelete('CASCADE')
      table.bigInteger('org_id').notNullable().unsigned()
      table.string('lower_email', 254).notNullable()
      table.primary(['user_id', 'lower_email'])
      table.index(['org_id', 'lower_email'])
    })
    await createTable(knex, dialect, 'provisioned_groups', (table) => {
      table.bigInteger('team_id').notNullable().unsigned().primary().references('teams.id').onDelete('CASCADE')
      table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
      table.string('display_name', 255).notNullable()
      table.string('lower_display_name', 255).notNullable()
      table.string('external_id', 255).nullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['org_id', 'lower_display_name'])
      table.index(['org_id', 'team_id'])
      table.index(['org_id', 'external_id'])
    })
  },
}

export const provisioningMigrations: PartMigrations = {
  part: 'provisioning',
  tables,
  needs: ['identity', 'organizations'],
  migrations: [directory],
}
