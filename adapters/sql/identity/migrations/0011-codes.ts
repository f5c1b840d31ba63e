import type { Knex } from 'knex'
import type { Dialect } from '../../migrations/columns.ts'
import { asciiText, createTable, fixedBytes, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

const codes = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'identity_codes', (table) => {
    rowId(table, dialect)
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    asciiText(table, dialect, 'kind', 24).notNullable()
    // Where it was sent; the code counts only while the user has this address.
    table.string('lower_email', 254).notNullable()
    fixedBytes(table, dialect, 'code_hash', 32).notNullable().unique()
    instant(table, 'created_at').notNullable()
    instant(table, 'expires_at').notNullable()
    // Used, or replaced by a newer one. The row stays for a day: it counts what was sent to the address.
    instant(table, 'closed_at').nullable()
    table.index(['user_id', 'kind'])
    table.index(['lower_email', 'created_at'])
    table.index(['created_at'])
  })

export const migration: Migration = {
  id: '0011-identity-codes',
  summary: 'one-time link codes, since when addresses are verified, and which expiring tokens were warned of',
  async up(knex, dialect) {
    await codes(knex, dialect)
    await knex.schema.alterTable('emails', (table) => {
      instant(table, 'verified_at').nullable()
    })
    await knex('emails')
      .where('verified', 1)
      .update({ verified_at: knex.ref('created_at') })
    await knex.schema.alterTable('access_tokens', (table) => {
      // For how many days before the end the last warning was.
      table.integer('warned_days').nullable()
      table.index(['expires_at'])
    })
  },
}
