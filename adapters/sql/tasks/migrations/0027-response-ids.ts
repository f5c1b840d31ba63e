import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0027-tasks-response-ids',
  summary: 'room for a response-id of 64 characters',
  async up(knex, dialect) {
    // SQLite knows no width.
    if (dialect !== 'mysql') return
    await knex.schema.alterTable('tasks', (table) => void table.string('response_id', 64).notNullable().alter())
  },
}
