import type { CloudCredentialId } from '../../../core/clouds/types.ts'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import { id, instant, long, rowId, sealed, table, text, withDefault } from '../kit/columns.ts'

export const cloudCredentials = table('cloud_credentials', {
  id: rowId<CloudCredentialId>(),
  userId: id<UserId>(),
  name: text(253),
  type: text(32),
  ownerId: id<AccountId>(),
  fleetEndpoint: withDefault(text(512)),
  ref: text(36),
  sealedSpec: sealed(),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    clouds: typeof import('./clouds.ts')
  }
}
