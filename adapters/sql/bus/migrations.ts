import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/bus.ts'

const accounts: Migration = {
  id: '0015-bus-accounts',
  summary: 'keys of the message bus: its operator, its accounts, and the users that credentials were issued for',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'bus_identities', (table) => {
      rowId(table, dialect)
      // operator, system, platform or account
      asciiText(table, dialect, 'kind', 16).notNullable()
      // The user or organization that an account is of, 0 for the others. No foreign key: the account of a deleted
      // owner must still be closed on the server.
      table.bigInteger('owner_id').notNullable().unsigned()
      asciiText(table, dialect, 'public_key', 64).notNullable().unique()
      asciiText(table, dialect, 'ref', 64).notNullable()
      longBytes(table, dialect, 'sealed_seed').notNullable()
      // The claims that the server was given last; at first those that it starts with.
      table.text('claims').notNullable()
      // Grows with each change of what the claims must say; equal to the other when the server has them.
      table.bigInteger('revision').notNullable()
      table.bigInteger('pushed_revision').notNullable()
      instant(table, 'created_at').notNullable()
      instant(table, 'closed_at').nullable()
      table.unique(['kind', 'owner_id'])
    })
    await createTable(knex, dialect, 'bus_users', (table) => {
      rowId(table, dialect)
      table.bigInteger('identity_id').notNullable().unsigned().references('bus_identities.id')
      // Whose credentials they are: also those of the platform's account are of the person who asked.
      table.bigInteger('owner_id').notNullable().unsigned()
      asciiText(table, dialect, 'purpose', 32).notNullable()
      asciiText(table, dialect, 'public_key', 64).notNullable().unique()
      // Differs from the owner's present mark once the password, or the right of a site admin, has changed.
      asciiText(table, dialect, 'owner_mark', 64).notNullable()
      instant(table, 'issued_at').notNullable()
      instant(table, 'expires_at').notNullable().index()
      instant(table, 'revoked_at').nullable()
      table.index(['owner_id', 'id'])
      table.index(['identity_id', 'expires_at'])
    })
  },
}

export const busMigrations: PartMigrations = {
  part: 'bus',
  tables,
  needs: [],
  migrations: [accounts],
}
