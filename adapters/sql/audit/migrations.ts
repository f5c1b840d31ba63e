import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, fixedBytes, instant, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/audit.ts'

const events: Migration = {
  id: '0004-audit-events',
  summary: 'the audit log, chained by hash for each tenant',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'audit_events', (table) => {
      rowId(table, dialect)
      instant(table, 'at').notNullable()
      // 0 for site-wide actions; no foreign key, the log outlives its subjects.
      table.bigInteger('tenant_id').notNullable().unsigned()
      table.bigInteger('actor_id').nullable().unsigned()
      asciiText(table, dialect, 'actor_name', 40).notNullable().defaultTo('')
      table.bigInteger('impersonator_id').nullable().unsigned()
      asciiText(table, dialect, 'impersonator_name', 40).notNullable().defaultTo('')
      asciiText(table, dialect, 'method', 16).notNullable()
      table.bigInteger('token_id').nullable().unsigned()
      asciiText(table, dialect, 'source_ip', 45).notNullable()
      asciiText(table, dialect, 'request_id', 64).notNullable()
      asciiText(table, dialect, 'operation', 64).notNullable()
      asciiText(table, dialect, 'action', 64).notNullable()
      // done or denied
      asciiText(table, dialect, 'result', 16).notNullable()
      asciiText(table, dialect, 'object_type', 32).notNullable()
      table.bigInteger('object_id').nullable()
      table.string('object_name', 255).notNullable().defaultTo('')
      table.text('changes').notNullable()
      fixedBytes(table, dialect, 'previous_hash', 32).notNullable()
      fixedBytes(table, dialect, 'hash', 32).notNullable()
      table.index(['tenant_id', 'id'])
      table.index(['tenant_id', 'action', 'id'])
      table.index(['actor_id', 'id'])
    })
    // The end of each tenant's chain. Appending locks this one row, so tenants do not wait for one another.
    await createTable(knex, dialect, 'audit_heads', (table) => {
      table.bigInteger('tenant_id').notNullable().unsigned().primary()
      fixedBytes(table, dialect, 'hash', 32).notNullable()
    })
  },
}

const retention: Migration = {
  id: '0017-audit-retention',
  summary: 'where an audit chain goes on after its oldest rows were retired, and an index for finding those',
  async up(knex, dialect) {
    await knex.schema.alterTable('audit_heads', (table) => {
      fixedBytes(table, dialect, 'base_hash', 32).nullable()
      fixedBytes(table, dialect, 'base_seal', 32).nullable()
    })
    await knex.schema.alterTable('audit_events', (table) => {
      table.index(['at'])
    })
    // A robot's login is longer than a person's. Up to 63 characters (255 bytes) the server changes no row; beyond, it
    // copies the whole log, and every change waits. SQLite knows no width.
    if (dialect === 'mysql') {
      await knex.schema.alterTable('audit_events', (table) => {
        table.string('actor_name', 63).notNullable().defaultTo('').alter()
        table.string('impersonator_name', 63).notNullable().defaultTo('').alter()
      })
    }
  },
}

const filters: Migration = {
  id: '0105-audit-filters',
  phase: 'expand',
  summary: 'indexes for the filters of the audit log by actor and by action',
  async up(knex, dialect) {
    // Computed when it is read; only its indexes are stored. Releases before this one do not write it.
    const actorKey = 'varchar(63) generated always as (lower(actor_name)) virtual'
    await knex.schema.alterTable('audit_events', (table) => {
      table.specificType('actor_key', dialect === 'mysql' ? actorKey : actorKey.replace('varchar(63)', 'text'))
    })
    await knex.schema.alterTable('audit_events', (table) => {
      table.index(['tenant_id', 'actor_key', 'id'])
      table.index(['actor_key', 'id'])
      table.index(['action', 'id'])
    })
  },
}

export const auditMigrations: PartMigrations = {
  part: 'audit',
  tables,
  needs: [],
  migrations: [events, retention, filters],
}
