import { right } from 'fp-ts/lib/Either.js'
import { BusPort } from '../../core/bus/bus.ts'
import type { IssuedCredentials } from '../../core/bus/credentials.ts'
import { makeRevokeCredentials } from '../../core/bus/credentials.ts'
import { BusServerPort, BusUnitOfWorkPort, BusUserStorePort } from '../../core/bus/ports.ts'
import { accountOf } from '../../core/bus/rights.ts'
import type { BusPurpose, BusUser } from '../../core/bus/types.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
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

const credentialsToWire = ({ endpoints, file }: IssuedCredentials) => ({
  endpoints,
  credentials: base64(file.reveal()),
})
const platformToWire = (issued: IssuedCredentials) => ({ ...credentialsToWire(issued), account: issued.account })

const inputFor =
  (purpose: BusPurpose) =>
  ({ call }: { readonly call: SignedInCall }) => {
    const { userId: ownerId, login, tokenExpiresAt: notAfter } = call.principal
    return { ownerId, login, purpose, lifeSeconds, notAfter }
  }

const tokenToWire =
  (owner: 'user' | 'organization') =>
  ({ id, ownerId, purpose, publicKey, revokedAt }: BusUser) => ({
    id,
    uid: ownerId,
    accountType: accountOf(purpose) === 'platform' ? 'platform' : owner,
    busPubKey: publicKey,
    clusterID: '',
    productName: purpose,
    revoked: revokedAt !== undefined,
  })

/** The routes that issue, list and revoke credentials for the bus. */
export const credentialGroup = defineGroup({
  needs: {
    bus: BusPort,
    clock: ClockPort,
    server: BusServerPort,
    unitOfWork: BusUnitOfWorkPort,
    users: BusUserStorePort,
  },
  routes: (given) => {
    const { issue, push } = given.bus
    const revoke = makeRevokeCredentials({ ...given, push })
    return [
      handle(getBusCredentials, issue, { input: inputFor('own'), reply: credentialsToWire }),
      handle(getBusAdminCredentials, issue, { input: inputFor('admin'), reply: platformToWire }),
      handle(getBusUserCredentials, issue, { input: inputFor('progress'), reply: platformToWire }),
      handle(getBusResourceHistory, issue, { input: inputFor('history'), reply: platformToWire }),
      handle(listBusTokens, async (call, { page }) => right(await given.users.list(call.principal.userId, page)), {
        reply: tokenToWire('user'),
      }),
      handle(revokeBusToken, revoke, {
        input: ({ call, params }) => ({ ownerId: call.principal.userId, id: params.id }),
      }),
      handle(
        listOrganizationBusTokens,
        async (_call, { grant, page }) => right(await given.users.list(grant.ownerId, page)),
        {
          reply: tokenToWire('organization'),
        },
      ),
      handle(revokeOrganizationBusToken, revoke, {
        input: ({ grant, params }) => ({ ownerId: grant.ownerId, id: params.id }),
      }),
    ]
  },
})
