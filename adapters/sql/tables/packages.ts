import type { StorageDriver } from '../../../core/packages/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { id, instant, rowId, table, text } from '../kit/columns.ts'

export const packageDrivers = table('package_drivers', {
  id: rowId(),
  accountId: id<AccountId>(),
  clusterUid: text(64),
  driver: text<StorageDriver>(16),
  createdAt: instant(),
  updatedAt: instant(),
})
