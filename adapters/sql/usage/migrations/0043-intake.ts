import { asciiText, createTable } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0043-usage-intake',
  summary: 'usage: how many events of a cluster arrived on each day',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'usage_intake', (table) => {
      table.bigInteger('owner_id').notNullable().unsigned()
      asciiText(table, dialect, 'cluster_uid', 36).notNullable()
      // Days since the epoch.
      table.integer('day').notNullable()
      table.bigInteger('accepted').notNullable()
      table.bigInteger('repeated').notNullable()
      table.bigInteger('refused').notNullable()
      table.bigInteger('late').notNullable()
      table.primary(['owner_id', 'day', 'cluster_uid'])
      table.index(['day'])
    })
  },
}
