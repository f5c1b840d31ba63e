import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { IssueCredentials, IssuedCredentials, RevokeCredentials } from '../../core/bus/credentials.ts'
import type { BusUserStore } from '../../core/bus/ports.ts'
import { accountOf } from '../../core/bus/rights.ts'
import type { BusPurpose, BusUser, BusUserId } from '../../core/bus/types.ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import {
  getBusAdminCredentials,
  getBusCredentials,
  getBusResourceHistory,
  getBusUserCredentials,
  listBusTokens,
  listOrganizationBusTokens,
  revokeBusToken,
  revokeOrganizationBusToken,
} from './credentials.routes.ts'

const lifeSeconds = 24 * 3600

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

const credentialsToWire = ({ endpoints, file }: IssuedCredentials) => ({ endpoints, credentials: base64(file.reveal()) })

export const credentialRoutes = (issue: IssueCredentials): readonly BoundRoute[] => {
  const issueTo = (call: SignedInCall, purpose: BusPurpose) => {
    const { userId: ownerId, login, tokenExpiresAt: notAfter } = call.principal
    return issue(call, { ownerId, login, purpose, lifeSeconds, notAfter })
  }
  const platformWire = async (call: SignedInCall, purpose: BusPurpose) => {
    const issued = await issueTo(call, purpose)
    return isLeft(issued) ? issued : right({ ...credentialsToWire(issued.right), account: issued.right.account })
  }
  return [
    handle(getBusCredentials, async ({ call }) => {
      const issued = await issueTo(call, 'own')
      return isLeft(issued) ? issued : right(credentialsToWire(issued.right))
    }),
    handle(getBusAdminCredentials, ({ call }) => platformWire(call, 'admin')),
    handle(getBusUserCredentials, ({ call }) => platformWire(call, 'progress')),
    handle(getBusResourceHistory, ({ call }) => platformWire(call, 'history')),
  ]
}

const tokenToWire = (owner: 'user' | 'organization') => ({ id, ownerId, purpose, publicKey, revokedAt }: BusUser) => ({
  id,
  uid: ownerId,
  accountType: accountOf(purpose) === 'platform' ? 'platform' : owner,
  busPubKey: publicKey,
  clusterID: '',
  productName: purpose,
  revoked: revokedAt !== undefined,
})

export const tokenRoutes = (users: BusUserStore, revoke: RevokeCredentials): readonly BoundRoute[] => [
  handle(listBusTokens, async ({ call, page }) => right(mapPage(await users.list(call.principal.userId, page), tokenToWire('user')))),
  handle(revokeBusToken, ({ call, params }) => revoke(call, call.principal.userId, params.id as BusUserId)),
  handle(listOrganizationBusTokens, async ({ grant, page }) => right(mapPage(await users.list(grant.ownerId, page), tokenToWire('organization')))),
  handle(revokeOrganizationBusToken, ({ call, grant, params }) => revoke(call, grant.ownerId, params.id as BusUserId)),
]
