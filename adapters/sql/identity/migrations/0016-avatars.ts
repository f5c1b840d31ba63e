import { asciiText, createTable, instant, longBytes } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0016-identity-avatars',
  summary: 'pictures of users and organizations',
  async up(knex, dialect) {
    await knex.schema.alterTable('accounts', (table) => {
      // The digest of the picture, so that reading an account gives the address of the picture without another query.
      asciiText(table, dialect, 'avatar_digest', 43).nullable()
    })
    await createTable(knex, dialect, 'avatars', (table) => {
      table.bigInteger('account_id').notNullable().unsigned().primary().references('accounts.id').onDelete('CASCADE')
      // SHA-256 of the bytes, base64url; two accounts may have the same picture.
      asciiText(table, dialect, 'digest', 43).notNullable().index()
      longBytes(table, dialect, 'bytes').notNullable()
      instant(table, 'created_at').notNullable()
    })
  },
}
