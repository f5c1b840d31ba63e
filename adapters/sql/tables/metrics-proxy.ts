import type { AccountId, TokenId } from '../../../core/kernel/ids.ts'
import type { Registration } from '../../../core/metrics-proxy/ports.ts'
import { id, instant, json, long, nullable, rowId, sealed, table, text, withDefault } from '../kit/columns.ts'

export const metricsRegistrations = table('metrics_registrations', {
  id: rowId(),
  ref: text(36),
  backend: text(96),
  ownerId: id<AccountId>(),
  tenantId: id<AccountId>(),
  clusterUid: text(64),
  sealedContents: sealed(),
  dashboards: json<Registration['dashboards']>(),
  dashATokenId: nullable(id<TokenId>()),
  dashBTokenId: nullable(id<TokenId>()),
  leasedUntil: nullable(instant()),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    metricsProxy: typeof import('./metrics-proxy.ts')
  }
}
