import { asciiText, createTable, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0002-organizations-teams',
  summary: 'organizations, their members, teams and team members',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'organizations', (table) => {
      table.bigInteger('id').notNullable().unsigned().primary().references('accounts.id').onDelete('CASCADE')
      table.string('full_name', 100).notNullable().defaultTo('')
      table.string('email', 254).notNullable().defaultTo('')
      table.string('description', 255).notNullable().defaultTo('')
      table.string('website', 255).notNullable().defaultTo('')
      table.string('location', 50).notNullable().defaultTo('')
      asciiText(table, dialect, 'visibility', 16).notNullable().defaultTo('public')
      table.integer('org_type').notNullable().defaultTo(0)
      table.string('fleet_endpoint', 255).notNullable().defaultTo('')
      instant(table, 'created_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
    })
    await createTable(knex, dialect, 'org_members', (table) => {
      table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
      table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
      table.boolean('is_public').notNullable().defaultTo(false)
      instant(table, 'created_at').notNullable()
      table.primary(['org_id', 'user_id'])
      table.index(['user_id', 'org_id'])
    })
    await createTable(knex, dialect, 'teams', (table) => {
      rowId(table, dialect)
      table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
      table.string('name', 255).notNullable()
      table.string('lower_name', 255).notNullable()
      table.string('description', 255).notNullable().defaultTo('')
      // none, read, write, admin, owner or custom
      asciiText(table, dialect, 'permission', 16).notNullable()
      asciiText(table, dialect, 'type', 32).notNullable().defaultTo('')
      instant(table, 'created_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['org_id', 'lower_name'])
    })
    await createTable(knex, dialect, 'team_members', (table) => {
      table.bigInteger('team_id').notNullable().unsigned().references('teams.id').onDelete('CASCADE')
      table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
      // The team's organization again: one index answers 'the teams of this user in this organization'.
      table.bigInteger('org_id').notNullable().unsigned()
      instant(table, 'created_at').notNullable()
      table.primary(['team_id', 'user_id'])
      table.index(['user_id', 'org_id', 'team_id'])
    })
  },
}
