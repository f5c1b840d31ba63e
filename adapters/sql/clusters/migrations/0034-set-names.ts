import { asciiText } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0034-clusters-set-names',
  summary: 'the cluster set in which a hub has a cluster',
  async up(knex, dialect) {
    await knex.schema.alterTable('clusters', (table) => {
      asciiText(table, dialect, 'cluster_set_name', 63).notNullable().defaultTo('')
    })
  },
}
