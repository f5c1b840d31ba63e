import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/authz.ts'

const roles: Migration = {
  id: '0003-authz-roles',
  summary: 'custom roles, their permissions, the teams they are attached to, direct grants on objects',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'roles', (table) => {
      rowId(table, dialect)
      table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
      table.string('name', 255).notNullable()
      table.string('lower_name', 255).notNullable()
      table.string('description', 1000).notNullable().defaultTo('')
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['org_id', 'lower_name'])
    })
    await createTable(knex, dialect, 'role_permissions', (table) => {
      table.bigInteger('role_id').notNullable().unsigned().references('roles.id').onDelete('CASCADE')
      asciiText(table, dialect, 'namespace', 64).notNullable()
      asciiText(table, dialect, 'action', 64).notNullable()
      table.primary(['role_id', 'namespace', 'action'])
    })
    await createTable(knex, dialect, 'team_roles', (table) => {
      table.bigInteger('team_id').notNullable().unsigned().references('teams.id').onDelete('CASCADE')
      table.bigInteger('role_id').notNullable().unsigned().references('roles.id').onDelete('CASCADE')
      table.bigInteger('org_id').notNullable().unsigned()
      table.primary(['team_id', 'role_id'])
      table.index(['role_id', 'team_id'])
      table.index(['org_id'])
    })
    await createTable(knex, dialect, 'object_grants', (table) => {
      asciiText(table, dialect, 'object_type', 32).notNullable()
      table.bigInteger('object_id').notNullable().unsigned()
      asciiText(table, dialect, 'relation', 64).notNullable()
      // user or team
      asciiText(table, dialect, 'subject_type', 8).notNullable()
      table.bigInteger('subject_id').notNullable().unsigned()
      table.bigInteger('org_id').notNullable().unsigned()
      instant(table, 'created_at').notNullable()
      table.primary(['object_type', 'object_id', 'subject_type', 'subject_id', 'relation'])
      table.index(['org_id'])
      table.index(['subject_type', 'subject_id'])
    })
  },
}

export const authzMigrations: PartMigrations = {
  part: 'authz',
  tables,
  needs: ['organizations'],
  migrations: [roles],
}
