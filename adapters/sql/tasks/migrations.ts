import type { Migration, PartMigrations } from '../kit/migration.ts'
import type { Dialect } from '../kit/schema-columns.ts'
import { asciiText, createTable, fixedBytes, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import type { Knex } from 'knex'
import * as tables from '../tables/tasks.ts'

const tasks = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'tasks', (table) => {
    rowId(table, dialect)
    asciiText(table, dialect, 'ref', 36).notNullable().unique()
    asciiText(table, dialect, 'response_id', 36).notNullable()
    asciiText(table, dialect, 'subject', 128).notNullable()
    asciiText(table, dialect, 'kind', 64).notNullable()
    table.string('title', 255).notNullable()
    table.bigInteger('tenant_id').notNullable().unsigned().references('accounts.id').onDelete('CASCADE')
    // No foreign key: tasks in an organization stay after the account of the user is deleted.
    table.bigInteger('actor_id').notNullable().unsigned()
    asciiText(table, dialect, 'actor_login', 63).notNullable()
    // How the actor was proven and in which request, JSON. No credential.
    table.text('actor').notNullable()
    table.text('about').notNullable()
    // Of `about`, for filters; empty when it is about none.
    table.string('cluster', 255).notNullable().defaultTo('')
    asciiText(table, dialect, 'state', 16).notNullable()
    table.integer('is_cancel_requested').notNullable().defaultTo(0)
    table.bigInteger('fence').notNullable().defaultTo(0)
    asciiText(table, dialect, 'holder', 64).nullable()
    instant(table, 'lease_until').nullable()
    // Null once the task has ended, so that the next one may have it.
    asciiText(table, dialect, 'lock_key', 255).nullable().unique()
    // Null after the end of the task, when it is no longer needed.
    longBytes(table, dialect, 'sealed_input').nullable()
    fixedBytes(table, dialect, 'digest', 32).notNullable()
    table.text('message').notNullable()
    table.text('error').nullable()
    table.text('result', 'mediumtext').nullable()
    table.integer('last_seq').notNullable().defaultTo(0)
    instant(table, 'created_at').notNullable()
    instant(table, 'started_at').nullable()
    instant(table, 'ended_at').nullable().index()
    table.index(['state', 'lease_until'])
    table.index(['tenant_id', 'state', 'id'])
    table.index(['tenant_id', 'ended_at'])
    table.index(['actor_id', 'response_id'])
    table.index(['actor_id', 'id'])
    table.index(['holder'])
  })

const events = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'task_events', (table) => {
    table.bigInteger('task_id').notNullable().unsigned().references('tasks.id').onDelete('CASCADE')
    table.integer('seq').notNullable()
    instant(table, 'at').notNullable()
    // The task's ref, or that of a step below it.
    asciiText(table, dialect, 'event_id', 64).notNullable()
    asciiText(table, dialect, 'status', 16).notNullable()
    table.string('step', 255).nullable()
    table.text('msg').notNullable()
    asciiText(table, dialect, 'level', 16).nullable()
    table.text('error').nullable()
    table.text('data').nullable()
    table.integer('is_notable').notNullable()
    table.primary(['task_id', 'seq'])
  })

const outbox = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'task_outbox', (table) => {
    rowId(table, dialect)
    table.bigInteger('task_id').notNullable().unsigned().references('tasks.id').onDelete('CASCADE')
    table.integer('seq').notNullable()
    // The process that publishes it, and until when no other process does.
    asciiText(table, dialect, 'holder', 64).notNullable()
    instant(table, 'held_until').notNullable().index()
    table.index(['holder', 'id'])
    table.index(['task_id'])
  })

const taskTables: Migration = {
  id: '0020-tasks',
  summary: 'work that outlives its request: tasks, their progress, and what of it the bus has not taken yet',
  async up(knex, dialect) {
    await tasks(knex, dialect)
    await events(knex, dialect)
    await outbox(knex, dialect)
  },
}

const responseIds: Migration = {
  id: '0027-tasks-response-ids',
  summary: 'room for a response-id of 64 characters',
  async up(knex, dialect) {
    // SQLite knows no width.
    if (dialect !== 'mysql') return
    await knex.schema.alterTable('tasks', (table) => void table.string('response_id', 64).notNullable().alter())
  },
}

export const tasksMigrations: PartMigrations = {
  part: 'tasks',
  tables,
  needs: ['identity'],
  migrations: [taskTables, responseIds],
}
