import { asciiText } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0028-clusters-managed-names',
  summary: 'the name under which a hub manages a cluster',
  async up(knex, dialect) {
    await knex.schema.alterTable('clusters', (table) => {
      asciiText(table, dialect, 'managed_cluster_name', 63).notNullable().defaultTo('')
      table.index(['owner_id', 'hub_cluster_uid'])
    })
  },
}
