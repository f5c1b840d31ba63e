import type { Knex } from 'knex'
import type { Dialect } from '../../migrations/columns.ts'
import { asciiText, createTable, fixedBytes, instant, longBytes } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

const twoFactors = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'two_factors', (table) => {
    table.bigInteger('user_id').notNullable().unsigned().primary().references('users.id').onDelete('CASCADE')
    longBytes(table, dialect, 'sealed_seed').notNullable()
    // What the seal is bound to: another one for each seed.
    asciiText(table, dialect, 'ref', 32).notNullable()
    // The last time step whose code was used: no code of it, or of an older one, is taken again.
    table.bigInteger('last_step').notNullable().defaultTo(0)
    instant(table, 'offered_at').notNullable()
    instant(table, 'enrolled_at').nullable()
  })

const recoveryCodes = (knex: Knex, dialect: Dialect): Promise<void> =>
  createTable(knex, dialect, 'recovery_codes', (table) => {
    table.bigInteger('user_id').notNullable().unsigned().references('users.id').onDelete('CASCADE')
    fixedBytes(table, dialect, 'code_hash', 32).notNullable()
    instant(table, 'created_at').notNullable()
    instant(table, 'used_at').nullable()
    table.primary(['user_id', 'code_hash'])
  })

export const migration: Migration = {
  id: '0007-identity-second-factors',
  summary: 'second factors and recovery codes',
  async up(knex, dialect) {
    await twoFactors(knex, dialect)
    await recoveryCodes(knex, dialect)
  },
}
