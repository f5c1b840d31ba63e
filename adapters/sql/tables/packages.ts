import type { StorageDriver } from '../../../core/packages/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { flag, id, instant, long, nullable, rowId, sealed, table, text, withDefault } from '../kit/columns.ts'
import type { ChartRepositoryId } from '../../../core/packages/repositories/types.ts'

export const packageDrivers = table('package_drivers', {
  id: rowId(),
  accountId: id<AccountId>(),
  clusterUid: text(64),
  driver: text<StorageDriver>(16),
  createdAt: instant(),
  updatedAt: instant(),
})

export const chartRepositories = table('chart_repositories', {
  id: rowId<ChartRepositoryId>(),
  accountId: id<AccountId>(),
  name: text(63),
  url: text(512),
  plainHttp: withDefault(flag()),
  description: withDefault(text(1000)),
  username: withDefault(text(255)),
  holds: withDefault(text(64)),
  ref: text(36),
  sealedCredentials: nullable(sealed()),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    packages: typeof import('./packages.ts')
  }
}
