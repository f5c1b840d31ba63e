import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import { UsageViewStoreToken } from '../../../core/usage/views/ports.ts'
import type { Provide } from '../../boot.ts'

/** Provides the views of usage. */
export const provideUsageViews: Provide = (container, { database }) => {
  const views = makeSqlUsageViewStore(database)
  container.provide(UsageViewStoreToken, () => views(database))
}
