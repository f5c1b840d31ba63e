import type { Knex } from 'knex'
import { asciiText, createTable, fixedBytes, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

type Dialect = 'sqlite' | 'mysql'

const accounts = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'accounts', (table) => {
    rowId(table, dialect)
    asciiText(table, dialect, 'kind', 16).notNullable()
    asciiText(table, dialect, 'name', 40).notNullable()
    asciiText(table, dialect, 'lower_name', 40).notNullable().unique()
    instant(table, 'created_at').notNullable()
  })
  await createTable(knex, dialect, 'account_redirects', (table) => {
    asciiText(table, dialect, 'lower_name', 40).notNullable().primary()
    table.bigInteger('account_id').notNullable().unsigned().references('accounts.id').onDelete('CASCADE')
  })
}

const users = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'users', (table) => {
    table.bigInteger('id').notNullable().unsigned().primary().references('accounts.id').onDelete('CASCADE')
    table.string('full_name', 100).notNullable().defaultTo('')
    asciiText(table, dialect, 'password_hash', 255).notNullable()
    table.boolean('must_change_password').notNullable().defaultTo(false)
    table.boolean('is_admin').notNullable().defaultTo(false)
    table.boolean('is_active').notNullable().defaultTo(true)
    table.boolean('prohibit_login').notNullable().defaultTo(false)
    table.boolean('restricted').notNullable().defaultTo(false)
    table.boolean('allow_create_organization').notNullable().defaultTo(true)
    table.boolean('hide_email').notNullable().defaultTo(true)
    asciiText(table, dialect, 'visibility', 16).notNullable().defaultTo('public')
    asciiText(table, dialect, 'language', 16).notNullable().defaultTo('en-US')
    table.string('website', 255).notNullable().defaultTo('')
    table.string('location', 50).notNullable().defaultTo('')
    table.string('description', 255).notNullable().defaultTo('')
    // For prefix search without regard to case: the login and the full name, lower-cased by us.
    table.string('search_name', 160).notNullable().defaultTo('').index()
    instant(table, 'last_login_at').nullable()
    instant(table, 'created_at').notNullable()
    table.bigInteger('version').notNullable().defaultTo(1)
  })
  await createTable(knex, dialect, 'emails', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    table.string('email', 254).notNullable()
    table.string('lower_email', 254).notNullable().unique()
    table.boolean('verified').notNullable().defaultTo(false)
    table.boolean('is_primary').notNullable().defaultTo(false)
    instant(table, 'created_at').notNullable()
    table.index(['user_id', 'id'])
  })
  await createTable(knex, dialect, 'follows', (table) => {
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    table.bigInteger('target_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    instant(table, 'created_at').notNullable()
    table.primary(['user_id', 'target_id'])
    table.index(['target_id', 'user_id'])
  })
}

const credentials = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'access_tokens', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    table.string('name', 255).notNullable()
    fixedBytes(table, dialect, 'token_hash', 32).notNullable().unique()
    asciiText(table, dialect, 'last_eight', 8).notNullable()
    // Space-separated scope words as they were granted.
    asciiText(table, dialect, 'scopes', 512).notNullable()
    table.bigInteger('only_org_id').nullable().unsigned()
    table.bigInteger('created_by').nullable().unsigned()
    instant(table, 'created_at').notNullable()
    instant(table, 'expires_at').nullable()
    instant(table, 'last_used_at').nullable()
    table.unique(['user_id', 'name'])
  })
  await createTable(knex, dialect, 'sessions', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    fixedBytes(table, dialect, 'session_hash', 32).notNullable().unique()
    table.boolean('remember').notNullable().defaultTo(false)
    asciiText(table, dialect, 'source_ip', 45).notNullable()
    table.string('user_agent', 255).notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'last_seen_at').notNullable()
    instant(table, 'idle_expires_at').notNullable()
    instant(table, 'expires_at').notNullable().index()
    table.index(['user_id', 'id'])
  })
}

export const migration: Migration = {
  id: '0001-identity-accounts',
  summary: 'accounts, users, e-mail addresses, follow relations, access tokens, sessions',
  async up(knex, dialect) {
    await accounts(knex, dialect)
    await users(knex, dialect)
    await credentials(knex, dialect)
  },
}
