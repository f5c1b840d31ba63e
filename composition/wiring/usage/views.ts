import { makeSqlDatabaseInventory } from '../../../adapters/sql/usage/database-inventory.ts'
import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import { DatabaseInventoryToken } from '../../../core/usage/views/namespace-ports.ts'
import { UsageViewStoreToken } from '../../../core/usage/views/ports.ts'
import type { Provide } from '../../boot.ts'

/** Provides the views of usage, and the reports on namespaces. */
export const provideUsageViews: Provide = (container, { database }) => {
  const views = makeSqlUsageViewStore(database)
  const inventory = makeSqlDatabaseInventory(database)
  container.provide(UsageViewStoreToken, () => views(database))
  container.provide(DatabaseInventoryToken, () => inventory(database))
}
