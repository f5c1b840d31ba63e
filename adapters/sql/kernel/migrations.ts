import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, fixedBytes, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/kernel.ts'

const bookkeeping: Migration = {
  id: '0005-kernel-bookkeeping',
  summary: 'idempotency records and named leases',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'idempotency_records', (table) => {
      rowId(table, dialect)
      // SHA-256 over principal, operation and key, each with its length.
      fixedBytes(table, dialect, 'key_hash', 32).notNullable().unique()
      fixedBytes(table, dialect, 'request_hash', 32).notNullable()
      // started, applied (the change is committed, its answer not yet stored) or answered
      asciiText(table, dialect, 'state', 16).notNullable()
      table.integer('status').nullable()
      table.text('headers').nullable()
      longBytes(table, dialect, 'body').nullable()
      instant(table, 'created_at').notNullable().index()
    })
    await createTable(knex, dialect, 'leases', (table) => {
      asciiText(table, dialect, 'name', 64).notNullable().primary()
      asciiText(table, dialect, 'holder', 64).notNullable()
      table.bigInteger('fence').notNullable()
      instant(table, 'until').notNullable()
    })
  },
}

const indexes: Migration = {
  id: '0019-kernel-indexes',
  summary:
    'indexes for what was found or removed by reading whole tables; room for the claims of a bus account ' +
    'with many revocations',
  async up(knex, dialect) {
    // The tokens that are confined to an organization, which go with it.
    await knex.schema.alterTable('access_tokens', (table) => void table.index(['only_org_id']))
    // The site admins are locked together: without it MariaDB would wait for the row of every user.
    await knex.schema.alterTable('users', (table) => void table.index(['is_admin']))
    // SQLite makes no index for a foreign key, and looks for rows that refer to each one it removes.
    await knex.schema.alterTable('org_invitations', (table) => void table.index(['inviter_id']))
    await knex.schema.alterTable('org_invitation_teams', (table) => void table.index(['team_id']))
    await knex.schema.alterTable('mail_outbox', (table) => void table.index(['account_id']))
    if (dialect === 'mysql') {
      await knex.schema.alterTable(
        'bus_identities',
        (table) => void table.text('claims', 'mediumtext').notNullable().alter(),
      )
    }
  },
}

const instances: Migration = {
  id: '0023-kernel-instances',
  summary: 'the processes that serve this database; which of them began an idempotency record',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'instances', (table) => {
      asciiText(table, dialect, 'id', 36).notNullable().primary()
      // The last sign of life, by the database's clock.
      instant(table, 'beat_at').notNullable()
    })
    // No foreign key: the record outlives the process.
    await knex.schema.alterTable(
      'idempotency_records',
      (table) => void asciiText(table, dialect, 'instance_id', 36).nullable(),
    )
  },
}

const instanceKeys: Migration = {
  id: '0070-kernel-instance-keys',
  summary: 'which keys of the key ring each process has',
  async up(knex, dialect) {
    // Null if the process seals nothing.
    await knex.schema.alterTable('instances', (table) => void asciiText(table, dialect, 'sealing_key', 64).nullable())
    await knex.schema.alterTable('instances', (table) => void asciiText(table, dialect, 'newest_key', 64).nullable())
  },
}

const instanceLevels: Migration = {
  id: '0095-kernel-instance-levels',
  summary: 'the release of each process, and the newest migration that it knows',
  phase: 'expand',
  async up(knex, dialect) {
    // Null if the process is of a release that does not tell them.
    await knex.schema.alterTable('instances', (table) => void asciiText(table, dialect, 'version', 32).nullable())
    await knex.schema.alterTable('instances', (table) => void asciiText(table, dialect, 'known_schema', 64).nullable())
  },
}

/** The number of shards at this version. A missing row is added by the first change. */
const shards = 66

const accessRevisions: Migration = {
  id: '0096-kernel-access-revisions',
  summary: 'revisions of what decides access',
  phase: 'expand',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'access_revisions', (table) => {
      table.integer('shard').notNullable().primary()
      table.bigInteger('revision').notNullable()
    })
    // Two first changes would otherwise wait for each other's new row.
    await knex('access_revisions').insert(Array.from({ length: shards }, (_, shard) => ({ shard, revision: 1 })))
  },
}

/**
 * The newest migration of v2026.11.25, the release before this one, whose instances may run beside this version. A
 * release sets it to the newest migration of its predecessor.
 */
export const previousSchema = '0070-kernel-instance-keys'

export const kernelMigrations: PartMigrations = {
  part: 'kernel',
  tables,
  needs: ['bus', 'identity', 'mail', 'organizations'],
  migrations: [bookkeeping, indexes, instances, instanceKeys, instanceLevels, accessRevisions],
}
