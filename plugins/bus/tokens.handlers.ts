import { right } from 'fp-ts/lib/Either.js'
import type { BusUserStore } from '../../core/bus/ports.ts'
import type { RevokeCredentials } from '../../core/bus/revoke-credentials.ts'
import { accountOf } from '../../core/bus/rights.ts'
import type { BusUser, BusUserId } from '../../core/bus/types.ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { listBusTokens, listOrganizationBusTokens, revokeBusToken, revokeOrganizationBusToken } from './tokens.routes.ts'

const toWire = (owner: 'user' | 'organization') => ({ id, ownerId, purpose, publicKey, revokedAt }: BusUser) => ({
  id,
  uid: ownerId,
  accountType: accountOf(purpose) === 'platform' ? 'platform' : owner,
  busPubKey: publicKey,
  clusterID: '',
  productName: purpose,
  revoked: revokedAt !== undefined,
})

export const tokenRoutes = (users: BusUserStore, revoke: RevokeCredentials): readonly BoundRoute[] => [
  handle(listBusTokens, async ({ call, page }) => right(mapPage(await users.list(call.principal.userId, page), toWire('user')))),
  handle(revokeBusToken, ({ call, params }) => revoke(call, call.principal.userId, params.id as BusUserId)),
  handle(listOrganizationBusTokens, async ({ grant, page }) => right(mapPage(await users.list(grant.ownerId, page), toWire('organization')))),
  handle(revokeOrganizationBusToken, ({ call, grant, params }) => revoke(call, grant.ownerId, params.id as BusUserId)),
]
