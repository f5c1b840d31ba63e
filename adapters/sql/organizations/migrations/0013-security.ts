import type { Knex } from 'knex'
import type { Dialect } from '../../migrations/columns.ts'
import { asciiText, createTable, fixedBytes, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

const invitations = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'org_invitations', (table) => {
    rowId(table, dialect)
    table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
    table.string('email', 254).notNullable()
    table.string('lower_email', 254).notNullable()
    // member, admin or owner
    asciiText(table, dialect, 'role', 16).notNullable()
    // Without the inviter it cannot be checked whether the inviter still has the rights.
    table.bigInteger('inviter_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    fixedBytes(table, dialect, 'token_hash', 32).notNullable().unique()
    instant(table, 'created_at').notNullable()
    instant(table, 'expires_at').notNullable().index()
    table.unique(['org_id', 'lower_email'])
  })
  await createTable(knex, dialect, 'org_invitation_teams', (table) => {
    table.bigInteger('invitation_id').notNullable().unsigned().references('org_invitations.id').onDelete('CASCADE')
    table.bigInteger('team_id').notNullable().unsigned().references('teams.id').onDelete('CASCADE')
    table.primary(['invitation_id', 'team_id'])
  })
}

const policies = async (knex: Knex): Promise<void> => {
  await knex.schema.alterTable('organizations', (table) => {
    // From then on members need a second factor; null: they need none.
    instant(table, 'two_factor_from').nullable().index()
    table.integer('two_factor_grace_days').notNullable().defaultTo(0)
    // 0: tokens may live for ever.
    table.integer('max_token_life_days').notNullable().defaultTo(0)
    table.bigInteger('policy_version').notNullable().defaultTo(1)
  })
  await knex.schema.alterTable('org_members', (table) => {
    // Notifications about the required second factor that the member received: 0 none, 1 the first, 2 the reminder.
    table.integer('two_factor_notice').notNullable().defaultTo(0)
  })
}

const robots = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'robot_accounts', (table) => {
    table.bigInteger('id').notNullable().unsigned().primary().references('users.id').onDelete('CASCADE')
    table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
    asciiText(table, dialect, 'name', 22).notNullable()
    table.string('description', 255).notNullable().defaultTo('')
    table.bigInteger('version').notNullable().defaultTo(1)
    table.unique(['org_id', 'name'])
  })
  await knex.schema.alterTable('users', (table) => {
    // Set for an account that is no person: it belongs to this organization.
    table.bigInteger('robot_org_id').nullable().unsigned()
  })
  // The login of a robot is the organization's name, a plus sign and 22 characters. SQLite keeps no lengths.
  if (dialect === 'mysql') {
    await knex.schema.alterTable('accounts', (table) => {
      table.string('name', 63).notNullable().alter()
      table.string('lower_name', 63).notNullable().alter()
    })
  }
}

export const migration: Migration = {
  id: '0013-organizations-security',
  summary: 'invitations, what organizations demand of members and tokens, robot accounts',
  async up(knex, dialect) {
    await invitations(knex, dialect)
    await policies(knex)
    await robots(knex, dialect)
  },
}
