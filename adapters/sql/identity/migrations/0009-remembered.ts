import type { Knex } from 'knex'
import type { Dialect } from '../../migrations/columns.ts'
import { asciiText, createTable, fixedBytes, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

const rememberedLogins = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'remembered_logins', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    fixedBytes(table, dialect, 'series_hash', 32).notNullable().unique()
    fixedBytes(table, dialect, 'secret_hash', 32).notNullable()
    // The previous secret, which distinguishes a concurrent request of another tab from a stolen cookie.
    fixedBytes(table, dialect, 'previous_hash', 32).nullable()
    instant(table, 'rotated_at').nullable()
    asciiText(table, dialect, 'source_ip', 45).notNullable()
    table.string('user_agent', 255).notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'last_used_at').notNullable()
    instant(table, 'expires_at').notNullable()
    table.index(['user_id', 'id'])
  })

/** Which remembered login a session was opened by or with: it goes with it. */
const sessionsOfLogins = async (knex: Knex, dialect: Dialect): Promise<void> => {
  if (dialect === 'sqlite') {
    // knex would copy the whole table for a foreign key; SQLite itself takes it with the column.
    await knex.raw(
      'alter table sessions add column remembered_id integer null references remembered_logins(id) on delete cascade',
    )
    await knex.schema.alterTable('sessions', (table) => void table.index(['remembered_id']))
    return
  }
  await knex.schema.alterTable('sessions', (table) => {
    table.bigInteger('remembered_id').nullable().unsigned().references('remembered_logins.id').onDelete('CASCADE')
  })
}

export const migration: Migration = {
  id: '0009-identity-remembered',
  summary: 'remembered logins, and the sessions that they open',
  async up(knex, dialect) {
    await rememberedLogins(knex, dialect)
    await sessionsOfLogins(knex, dialect)
  },
}
