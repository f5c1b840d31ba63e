import type { Knex } from 'knex'
import type { Migration, PartMigrations } from '../kit/migration.ts'
import type { Dialect } from '../kit/schema-columns.ts'
import { asciiText, createTable, fixedBytes, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/authorization-server.ts'

const applications = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'oauth_applications', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').nullable().unsigned().references('users.id').onDelete('CASCADE')
    table.bigInteger('org_id').nullable().unsigned().references('organizations.id').onDelete('CASCADE')
    // The user or the organization again, or 0 for the site.
    table.bigInteger('owner_key').notNullable().unsigned()
    table.string('name', 100).notNullable()
    asciiText(table, dialect, 'client_id', 64).notNullable().unique()
    table.boolean('is_public').notNullable()
    table.boolean('is_trusted').notNullable().defaultTo(false)
    table.text('addresses', 'mediumtext').notNullable()
    fixedBytes(table, dialect, 'secret_hash', 32).nullable()
    fixedBytes(table, dialect, 'former_secret_hash', 32).nullable()
    instant(table, 'former_secret_until').nullable()
    table.bigInteger('robot_id').nullable().unsigned().references('users.id').onDelete('SET NULL')
    longBytes(table, dialect, 'logo').nullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'updated_at').notNullable()
    table.bigInteger('version').notNullable().defaultTo(1)
    table.index(['owner_key', 'id'])
    table.index(['user_id'])
    table.index(['org_id'])
    table.index(['robot_id'])
  })

const consents = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'oauth_consents', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    table.bigInteger('application_id').notNullable().unsigned().references('oauth_applications.id').onDelete('CASCADE')
    asciiText(table, dialect, 'scopes', 1024).notNullable()
    table.integer('counter').notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'updated_at').notNullable()
    table.unique(['user_id', 'application_id'])
    table.index(['application_id'])
  })

const records = async (knex: Knex, dialect: Dialect): Promise<void> => {
  await createTable(knex, dialect, 'oauth_records', (table) => {
    rowId(table, dialect)
    fixedBytes(table, dialect, 'id_hash', 32).notNullable().unique()
    asciiText(table, dialect, 'kind', 40).notNullable()
    fixedBytes(table, dialect, 'grant_hash', 32).nullable().index()
    fixedBytes(table, dialect, 'key_hash', 32).nullable().index()
    table.bigInteger('user_id').nullable().unsigned().references('users.id').onDelete('CASCADE')
    table.bigInteger('application_id').nullable().unsigned().references('oauth_applications.id').onDelete('CASCADE')
    table.bigInteger('session_id').nullable().unsigned().references('sessions.id').onDelete('CASCADE')
    table.bigInteger('token_id').nullable().unsigned()
    longBytes(table, dialect, 'sealed').notNullable()
    instant(table, 'consumed_at').nullable()
    instant(table, 'expires_at').notNullable().index()
    table.index(['application_id', 'user_id'])
    table.index(['user_id'])
    table.index(['session_id'])
  })
  await createTable(knex, dialect, 'oauth_keys', (table) => {
    table.bigInteger('generation').notNullable().unsigned().primary()
    instant(table, 'created_at').notNullable()
    longBytes(table, dialect, 'sealed').notNullable()
  })
}

const tokens = async (knex: Knex, dialect: Dialect): Promise<void> => {
  const references = { application_id: 'oauth_applications', session_id: 'sessions' }
  for (const [column, table] of Object.entries(references)) {
    // knex would copy the whole table for a foreign key; SQLite itself takes it with the column.
    if (dialect === 'sqlite') {
      await knex.raw(
        `alter table access_tokens add column ${column} integer null references ${table}(id) on delete cascade`,
      )
      await knex.schema.alterTable('access_tokens', (changed) => void changed.index([column]))
    } else
      await knex.schema.alterTable('access_tokens', (changed) => {
        changed.bigInteger(column).nullable().unsigned().references(`${table}.id`).onDelete('CASCADE')
      })
  }
}

const server: Migration = {
  id: '0130-authorization-server-applications',
  summary: 'applications, what people allow them, and the records and keys of the protocol',
  phase: 'expand',
  async up(knex, dialect) {
    await applications(knex, dialect)
    await consents(knex, dialect)
    await records(knex, dialect)
    await tokens(knex, dialect)
  },
}

const federated: Migration = {
  id: '0139-authorization-server-workloads',
  summary: 'which issuers robot accounts trust, and the tokens that were exchanged',
  phase: 'expand',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'federated_credentials', (table) => {
      rowId(table, dialect)
      table.bigInteger('org_id').notNullable().unsigned().references('organizations.id').onDelete('CASCADE')
      table.bigInteger('robot_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
      table.string('name', 100).notNullable()
      table.string('issuer', 2000).notNullable()
      asciiText(table, dialect, 'cluster_uid', 64).notNullable()
      table.string('audience', 500).notNullable()
      table.text('conditions', 'mediumtext').notNullable()
      asciiText(table, dialect, 'scopes', 1024).notNullable()
      table.integer('life_seconds').notNullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'last_used_at').nullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['robot_id', 'name'])
      table.index(['org_id'])
    })
    await createTable(knex, dialect, 'workload_uses', (table) => {
      rowId(table, dialect)
      fixedBytes(table, dialect, 'id_hash', 32).notNullable().unique()
      table.bigInteger('robot_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
      table.bigInteger('token_id').notNullable().unsigned()
      instant(table, 'expires_at').notNullable().index()
      table.index(['robot_id'])
    })
  },
}

const signIns: Migration = {
  id: '0165-authorization-server-sign-ins',
  summary: 'the sign-ins at applications that get a report when a session ends',
  phase: 'expand',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'oauth_sign_ins', (table) => {
      rowId(table, dialect)
      table
        .bigInteger('application_id')
        .notNullable()
        .unsigned()
        .references('oauth_applications.id')
        .onDelete('CASCADE')
      // Without a foreign key: the account may be gone when its sign-out is reported.
      table.bigInteger('user_id').notNullable().unsigned()
      // Null once the session has ended: then the report is due.
      table.bigInteger('session_id').nullable().unsigned().references('sessions.id').onDelete('SET NULL')
      asciiText(table, dialect, 'sid', 64).notNullable()
      table.integer('attempts').notNullable().defaultTo(0)
      instant(table, 'due_at').notNullable()
      table.unique(['application_id', 'sid'])
      table.index(['session_id', 'application_id', 'due_at'])
    })
  },
}

const refusals: Migration = {
  id: '0166-authorization-server-refusals',
  summary: 'when and why a federated credential last refused a token',
  phase: 'expand',
  async up(knex) {
    await knex.schema.alterTable('federated_credentials', (table) => {
      instant(table, 'last_refused_at').nullable()
      table.string('last_refusal', 500).nullable()
    })
  },
}

export const authorizationServerMigrations: PartMigrations = {
  part: 'authorization-server',
  tables,
  needs: ['identity', 'organizations'],
  migrations: [server, federated, signIns, refusals],
}
