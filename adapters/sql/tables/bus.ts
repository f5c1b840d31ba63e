import type { BusIdentityId, BusUserId } from '../../../core/bus/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { id, instant, largeText, long, nullable, rowId, sealed, table, text } from '../kit/columns.ts'

export const busIdentities = table('bus_identities', {
  id: rowId<BusIdentityId>(),
  kind: text(16),
  ownerId: id<AccountId>(),
  publicKey: text(64),
  ref: text(64),
  sealedSeed: sealed(),
  claims: largeText(),
  revision: long(),
  pushedRevision: long(),
  createdAt: instant(),
  closedAt: nullable(instant()),
})

export const busUsers = table('bus_users', {
  id: rowId<BusUserId>(),
  identityId: id<BusIdentityId>(),
  ownerId: id<AccountId>(),
  purpose: text(32),
  publicKey: text(64),
  ownerMark: text(64),
  issuedAt: instant(),
  expiresAt: instant(),
  revokedAt: nullable(instant()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    bus: typeof import('./bus.ts')
  }
}
