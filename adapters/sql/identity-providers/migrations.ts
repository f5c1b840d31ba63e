import type { Knex } from 'knex'
import type { Migration, PartMigrations } from '../kit/migration.ts'
import type { Dialect } from '../kit/schema-columns.ts'
import { asciiText, createTable, fixedBytes, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/identity-providers.ts'

const providers = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'identity_providers', (table) => {
    rowId(table, dialect)
    table.bigInteger('org_id').nullable().unsigned().references('organizations.id').onDelete('CASCADE')
    // The organization again, or 0 for the site: a null would be different from every other one in the unique key.
    table.bigInteger('owner_key').notNullable().unsigned()
    asciiText(table, dialect, 'name', 40).notNullable()
    table.string('display_name', 100).notNullable()
    table.boolean('is_active').notNullable()
    table.string('issuer', 512).notNullable()
    table.string('client_id', 255).notNullable()
    asciiText(table, dialect, 'ref', 36).notNullable()
    longBytes(table, dialect, 'sealed_secret').nullable()
    table.text('options').notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'updated_at').notNullable()
    instant(table, 'discovered_at').nullable()
    table.string('last_problem', 255).notNullable().defaultTo('')
    table.bigInteger('version').notNullable().defaultTo(1)
    table.unique(['owner_key', 'name'])
  })

const accounts = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'external_accounts', (table) => {
    rowId(table, dialect)
    table.bigInteger('provider_id').notNullable().unsigned().references('identity_providers.id').onDelete('CASCADE')
    // SHA-256 of issuer and subject, which together are too long for a key.
    fixedBytes(table, dialect, 'subject_hash', 32).notNullable()
    table.string('issuer', 512).notNullable()
    table.string('subject', 255).notNullable()
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    table.boolean('is_created').notNullable()
    table.string('email', 254).notNullable().defaultTo('')
    instant(table, 'created_at').notNullable()
    instant(table, 'signed_in_at').notNullable()
    asciiText(table, dialect, 'ref', 36).notNullable()
    longBytes(table, dialect, 'sealed_refresh_token').nullable()
    instant(table, 'next_check_at').nullable().index()
    instant(table, 'ended_at').nullable()
    table.unique(['provider_id', 'subject_hash'])
    table.unique(['user_id', 'provider_id'])
  })
  await createTable(knex, dialect, 'external_sessions', (table) => {
    table.bigInteger('session_id').notNullable().unsigned().primary().references('sessions.id').onDelete('CASCADE')
    table.bigInteger('account_id').notNullable().unsigned().references('external_accounts.id').onDelete('CASCADE')
    table.string('sid', 255).notNullable().defaultTo('')
    asciiText(table, dialect, 'ref', 36).notNullable()
    longBytes(table, dialect, 'sealed_id_token').notNullable()
    table.index(['account_id'])
    table.index(['sid'])
  })
}

const attempts = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'sign_in_attempts', (table) => {
    rowId(table, dialect)
    fixedBytes(table, dialect, 'state_hash', 32).notNullable().unique()
    fixedBytes(table, dialect, 'browser_hash', 32).notNullable()
    table.bigInteger('provider_id').notNullable().unsigned().references('identity_providers.id').onDelete('CASCADE')
    // begun, code or used
    asciiText(table, dialect, 'stage', 8).notNullable()
    table.bigInteger('user_id').nullable().unsigned().references('users.id').onDelete('CASCADE')
    table.boolean('is_link').notNullable()
    asciiText(table, dialect, 'ref', 36).notNullable()
    longBytes(table, dialect, 'sealed').notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'expires_at').notNullable().index()
    table.index(['browser_hash'])
  })
  await createTable(knex, dialect, 'used_logout_tokens', (table) => {
    fixedBytes(table, dialect, 'token_hash', 32).notNullable().primary()
    instant(table, 'expires_at').notNullable().index()
  })
}

const domains = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'organization_domains', (table) => {
    rowId(table, dialect)
    table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
    asciiText(table, dialect, 'domain', 253).notNullable()
    // The domain again while it is verified: it belongs to one organization at a time.
    asciiText(table, dialect, 'verified_domain', 253).nullable().unique()
    asciiText(table, dialect, 'token', 64).notNullable()
    instant(table, 'verified_at').nullable()
    instant(table, 'checked_at').nullable().index()
    instant(table, 'failing_since').nullable()
    instant(table, 'created_at').notNullable()
    table.unique(['org_id', 'domain'])
  })
  await createTable(knex, dialect, 'local_sign_in_offs', (table) => {
    // The organization, or 0 for the site.
    table.bigInteger('owner_key').notNullable().unsigned().primary()
    table.bigInteger('org_id').nullable().unsigned().references('organizations.id').onDelete('CASCADE')
    instant(table, 'since').notNullable()
  })
}

const external: Migration = {
  id: '0111-identity-providers-sign-in',
  summary: 'identity providers, their people, sign-ins under way, and domains of organizations',
  phase: 'expand',
  async up(knex, dialect) {
    await providers(knex, dialect)
    await accounts(knex, dialect)
    await attempts(knex, dialect)
    await domains(knex, dialect)
  },
}

const directories: Migration = {
  id: '0112-identity-providers-directories',
  summary: 'directories as identity providers, and the comparison of their people',
  phase: 'expand',
  async up(knex, dialect) {
    await knex.schema.alterTable('identity_providers', (table) => {
      // oidc or ldap
      asciiText(table, dialect, 'kind', 8).notNullable().defaultTo('oidc')
      table.text('directory').nullable()
      instant(table, 'compared_at').nullable()
      table.bigInteger('withheld_ends').notNullable().defaultTo(0)
      table.bigInteger('confirmed_ends').notNullable().defaultTo(0)
      instant(table, 'next_check_at').nullable().index()
    })
    await knex.schema.alterTable('external_accounts', (table) => {
      table.index(['provider_id', 'id'])
    })
  },
}

export const identityProvidersMigrations: PartMigrations = {
  part: 'identity-providers',
  tables,
  needs: ['identity', 'organizations'],
  migrations: [external, directories],
}
