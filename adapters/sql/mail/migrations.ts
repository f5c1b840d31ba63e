import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/mail.ts'

const outbox: Migration = {
  id: '0010-mail-outbox',
  summary: 'mail that is still to be sent, sealed',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'mail_outbox', (table) => {
      rowId(table, dialect)
      // What the sealed mail is bound to, and its Message-ID at each attempt.
      asciiText(table, dialect, 'ref', 36).notNullable().unique()
      // Mail to an account goes with it: a link in it leads nowhere then.
      table.bigInteger('account_id').nullable().unsigned().references('accounts.id').onDelete('CASCADE')
      longBytes(table, dialect, 'sealed').notNullable()
      table.integer('attempts').notNullable().defaultTo(0)
      // When it is due; while an attempt runs, when that counts as dead.
      instant(table, 'not_before').notNullable().index()
      instant(table, 'created_at').notNullable()
      asciiText(table, dialect, 'last_error', 64).notNullable().defaultTo('')
    })
  },
}

export const mailMigrations: PartMigrations = {
  part: 'mail',
  tables,
  needs: ['identity'],
  migrations: [outbox],
}
