import type { Knex } from 'knex'
import type { Migration, PartMigrations } from '../kit/migration.ts'
import type { Dialect } from '../kit/schema-columns.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/webhooks.ts'

const receivers = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'webhooks', (table) => {
    rowId(table, dialect)
    // Null for a webhook of the site.
    table.bigInteger('org_id').nullable().unsigned().references('organizations.id').onDelete('CASCADE')
    // The organization, or 0 for the site.
    table.bigInteger('owner_key').notNullable().unsigned()
    table.string('name', 100).notNullable()
    table.string('url', 2000).notNullable()
    table.text('events').notNullable()
    asciiText(table, dialect, 'format', 16).notNullable()
    table.boolean('is_enabled').notNullable()
    table.string('disabled_reason', 255).notNullable().defaultTo('')
    asciiText(table, dialect, 'ref', 36).notNullable()
    longBytes(table, dialect, 'sealed_secrets').notNullable()
    instant(table, 'former_until').nullable()
    table.integer('failures').notNullable().defaultTo(0)
    instant(table, 'failing_since').nullable()
    instant(table, 'paused_until').nullable()
    instant(table, 'served_at').notNullable().defaultTo(0)
    instant(table, 'created_at').notNullable()
    instant(table, 'updated_at').notNullable()
    table.bigInteger('version').notNullable().defaultTo(1)
    table.index(['owner_key', 'id'])
    table.index(['org_id'])
  })

const deliveries = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'webhook_deliveries', (table) => {
    rowId(table, dialect)
    table.bigInteger('webhook_id').notNullable().unsigned().references('webhooks.id').onDelete('CASCADE')
    asciiText(table, dialect, 'event_id', 64).notNullable()
    asciiText(table, dialect, 'event_type', 64).notNullable()
    table.text('body', 'mediumtext').notNullable()
    // pending, delivered or failed
    asciiText(table, dialect, 'state', 16).notNullable().defaultTo('pending')
    table.integer('attempts').notNullable().defaultTo(0)
    // Null when no attempt follows.
    instant(table, 'due_at').nullable()
    instant(table, 'created_at').notNullable().index()
    instant(table, 'attempted_at').nullable()
    table.integer('status').nullable()
    table.string('answer', 2000).notNullable().defaultTo('')
    table.string('problem', 500).notNullable().defaultTo('')
    table.integer('duration_ms').notNullable().defaultTo(0)
    table.unique(['webhook_id', 'event_id'])
    table.index(['webhook_id', 'due_at'])
    table.index(['webhook_id', 'id'])
    table.index(['due_at'])
  })

const webhooks: Migration = {
  id: '0175-webhooks',
  summary: 'webhooks, their deliveries, and how far the audit log was read for them',
  phase: 'expand',
  async up(knex, dialect) {
    await receivers(knex, dialect)
    await deliveries(knex, dialect)
    await createTable(knex, dialect, 'webhook_cursors', (table) => {
      table.bigInteger('id').notNullable().unsigned().primary()
      table.bigInteger('after_id').notNullable().unsigned()
    })
  },
}

export const webhooksMigrations: PartMigrations = {
  part: 'webhooks',
  tables,
  needs: ['organizations'],
  migrations: [webhooks],
}
