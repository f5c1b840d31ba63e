import { asciiText, createTable, instant, rowId } from '../../migrations/columns.ts'
import type { Migration } from '../../migrations/migration.ts'

export const migration: Migration = {
  id: '0030-contracts-documents',
  summary: 'documents in the store to which no contract refers; the order of the clusters of a contract',
  async up(knex, dialect) {
    // A document has a row here before it is stored, and again from when its contract is without it until it is removed
    // from the store.
    await createTable(knex, dialect, 'contract_document_removals', (table) => {
      rowId(table, dialect)
      asciiText(table, dialect, 'ref', 64).notNullable().unique()
      instant(table, 'due_at').notNullable().index()
    })
    await knex.schema.alterTable('contract_clusters', (table) => {
      // The order of the clusters of a contract.
      table.index(['contract_id', 'display_name', 'id'])
    })
  },
}
