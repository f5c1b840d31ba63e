import { makeSqlDatabaseInventory } from '../../../adapters/sql/usage/database-inventory.ts'
import { makeSqlUsageReportStore } from '../../../adapters/sql/usage/report-store.ts'
import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import { UsageReportStoreToken } from '../../../core/usage/reports/ports.ts'
import { DatabaseInventoryToken, UsageViewStoreToken } from '../../../core/usage/views/ports.ts'
import type { Provide } from '../../boot.ts'

/**
 * Provides the views and reports of usage, and the reports on namespaces. Views and reports of months are written where
 * months are closed.
 */
export const provideUsageViews: Provide = (container, { database }) => {
  const views = makeSqlUsageViewStore(database)
  const reports = makeSqlUsageReportStore(database)
  const inventory = makeSqlDatabaseInventory(database)
  container.provide(UsageViewStoreToken, () => views(database))
  container.provide(UsageReportStoreToken, () => reports(database))
  container.provide(DatabaseInventoryToken, () => inventory(database))
}
