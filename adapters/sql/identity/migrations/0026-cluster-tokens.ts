import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0026-identity-cluster-tokens',
  summary: 'access tokens that are confined to one cluster',
  async up(knex) {
    await knex.schema.alterTable('access_tokens', (table) => {
      table.bigInteger('only_cluster_id').nullable().unsigned()
      table.index(['only_cluster_id', 'user_id'])
    })
  },
}
