import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0025-identity-interface',
  summary: 'what users chose for their user interfaces',
  async up(knex) {
    // Beside the user, so that reading the settings needs no second query.
    await knex.schema.alterTable('users', (table) => {
      table.string('theme', 64).notNullable().defaultTo('')
      table.string('diff_view_style', 64).notNullable().defaultTo('')
      table.boolean('hide_activity').notNullable().defaultTo(false)
    })
  },
}
