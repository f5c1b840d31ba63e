import { asciiText, createTable, instant } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0012-identity-site',
  summary: 'rules of the site for new accounts, branding, deactivated and unconfirmed accounts',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'site_settings', (table) => {
      asciiText(table, dialect, 'name', 64).notNullable().primary()
      table.string('value', 255).notNullable()
    })
    await createTable(knex, dialect, 'allowed_domains', (table) => {
      asciiText(table, dialect, 'domain', 253).notNullable().primary()
    })
    // One row, whose id is 1.
    await createTable(knex, dialect, 'branding', (table) => {
      table.integer('id').notNullable().primary()
      // Pictures as data URLs; empty when there is none.
      table.text('logo', 'mediumtext').notNullable()
      table.text('favicon', 'mediumtext').notNullable()
      asciiText(table, dialect, 'primary_color', 7).notNullable()
      table.boolean('show_app_tag').notNullable()
      table.string('app_name', 64).notNullable()
    })
    await knex.schema.alterTable('users', (table) => {
      instant(table, 'deactivated_at').nullable().index()
      table.bigInteger('deactivated_by').nullable().unsigned()
      instant(table, 'unconfirmed_since').nullable().index()
    })
  },
}
