import type { Migration, PartMigrations } from '../kit/migration.ts'
import type { Dialect } from '../kit/schema-columns.ts'
import { asciiText, createTable, fixedBytes, instant, rowId } from '../kit/schema-columns.ts'
import type { Knex } from 'knex'
import * as tables from '../tables/organizations.ts'

const teams: Migration = {
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

const security: Migration = {
  id: '0013-organizations-security',
  summary: 'invitations, what organizations demand of members and tokens, robot accounts',
  async up(knex, dialect) {
    await invitations(knex, dialect)
    await policies(knex)
    await robots(knex, dialect)
  },
}

const membershipSources: Migration = {
  id: '0110-organizations-membership-sources',
  summary: 'which identity provider gave a membership of a team',
  phase: 'expand',
  async up(knex, dialect) {
    await knex.schema.alterTable('team_members', (table) => {
      // Null for a membership that was made by hand.
      asciiText(table, dialect, 'source', 48).nullable()
    })
  },
}

const provisionedMembers: Migration = {
  id: '0120-organizations-provisioned-members',
  summary: 'which memberships the directory of the organization manages',
  phase: 'expand',
  async up(knex) {
    await knex.schema.alterTable('org_members', (table) => {
      table.boolean('is_provisioned').notNullable().defaultTo(false)
    })
  },
}

const passkeyPolicy: Migration = {
  id: '0103-organizations-passkey-policy',
  summary: 'whether an organization requires sign-ins with passkeys',
  phase: 'expand',
  async up(knex) {
    await knex.schema.alterTable('organizations', (table) => {
      table.boolean('requires_passkey').notNullable().defaultTo(false)
    })
  },
}

export const organizationsMigrations: PartMigrations = {
  part: 'organizations',
  tables,
  needs: ['identity'],
  migrations: [teams, security, passkeyPolicy, membershipSources, provisionedMembers],
}
