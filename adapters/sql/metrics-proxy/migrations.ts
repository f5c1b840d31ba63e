import type { Migration, PartMigrations } from '../kit/migration.ts'
import { asciiText, createTable, instant, longBytes, rowId } from '../kit/schema-columns.ts'
import * as tables from '../tables/metrics-proxy.ts'

const registrations: Migration = {
  id: '0085-metrics-proxy-registrations',
  phase: 'expand',
  summary: 'metrics proxy: what is registered at dashboard systems, sealed',
  async up(knex, dialect) {
    await createTable(knex, dialect, 'metrics_registrations', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'ref', 36).notNullable()
      asciiText(table, dialect, 'backend', 96).notNullable()
      // No foreign keys: a registration outlives its cluster and its account, until it is removed from the dashboards.
      table.bigInteger('owner_id').notNullable().unsigned()
      table.bigInteger('tenant_id').notNullable().unsigned()
      asciiText(table, dialect, 'cluster_uid', 64).notNullable()
      longBytes(table, dialect, 'sealed_contents').notNullable()
      table.text('dashboards').notNullable()
      table.bigInteger('dash_a_token_id').unsigned()
      table.bigInteger('dash_b_token_id').unsigned()
      instant(table, 'leased_until')
      instant(table, 'created_at').notNullable()
      instant(table, 'updated_at').notNullable()
      table.bigInteger('version').notNullable().defaultTo(1)
      table.unique(['backend'])
      table.index(['tenant_id'])
    })
  },
}

export const metricsProxyMigrations: PartMigrations = {
  part: 'metrics-proxy',
  tables,
  needs: [],
  migrations: [registrations],
}
