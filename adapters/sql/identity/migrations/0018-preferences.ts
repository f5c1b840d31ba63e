import { createTable } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0018-identity-preferences',
  summary:
    'how many rows a page of each user interface shows to a user; ended remembered logins are found by their end',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'page_sizes', (table) => {
      table.bigInteger('user_id').notNullable().unsigned().primary().references('users.id').onDelete('CASCADE')
      table.bigInteger('product_ui').notNullable()
      table.bigInteger('console_ui').notNullable()
      table.bigInteger('platform_ui').notNullable()
    })
    await knex.schema.alterTable('remembered_logins', (table) => void table.index(['expires_at']))
  },
}
