import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { CreatedToken } from '../../../core/identity/tokens/access-tokens.ts'
import {
  makeCreateToken,
  makeDeleteNamedToken,
  makeDeleteToken,
  makeDeleteTokens,
  makeRotateToken,
  TokenExpiryInvalid,
} from '../../../core/identity/tokens/access-tokens.ts'
import { makeIssueCustomToken } from '../../../core/identity/tokens/delegated-tokens.ts'
import { parseInstant } from '../../../core/kernel/clock.ts'
import type { Failure } from '../../../core/kernel/failure.ts'
import type { TokenId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { IdentityGiven } from '../needs.ts'
import { createdWire, settingsTokenWire, tokenWire } from './token-wire.ts'
import {
  createSettingsToken,
  createToken,
  deleteSettingsToken,
  deleteSettingsTokens,
  deleteToken,
  getExtIdpToken,
  listSettingsTokens,
  listTokens,
  NotYourTokens,
  rotateSettingsToken,
} from './tokens.routes.ts'

const refusal = (call: SignedInCall<never>, username: string): Failure<'NotYourTokens'> | undefined =>
  username.toLowerCase() === call.principal.login.toLowerCase()
    ? undefined
    : NotYourTokens('Only your own access tokens can be listed, created and deleted here.')

export const tokenRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const create = makeCreateToken(given)
  const remove = makeDeleteNamedToken(given)
  return [
    handle(listTokens, async ({ call, params, page }) => {
      const refused = refusal(call, params.username)
      if (refused !== undefined) return left(refused)
      return right(mapPage(await given.stores.tokens.list(call.principal.userId, page), (token) => tokenWire(token)))
    }),
    handleChange(createToken, createdWire, async ({ call, params, body }) => {
      const refused = refusal(call, params.username)
      if (refused !== undefined) return left(refused)
      const expiresAt = body.expires_at === undefined ? undefined : parseInstant(body.expires_at)
      if (body.expires_at !== undefined && expiresAt === undefined) return left(TokenExpiryInvalid('expires_at: must be an RFC 3339 date-time.'))
      return create(call, call.principal, { name: body.name, scopes: body.scopes, expiresAt, org: body.org })
    }),
    handle(deleteToken, async ({ call, params }) => {
      const refused = refusal(call, params.username)
      return refused === undefined ? remove(call, params.id) : left(refused)
    }),
  ]
}

/** The last instant that a Date can represent, in Unix seconds. */
const maxUnixSeconds = 8_640_000_000_000

export const settingsTokenRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const { stores, clock } = given
  const create = makeCreateToken(given)
  const rotate = makeRotateToken(given)
  const removeOne = makeDeleteToken(given)
  const remove = makeDeleteTokens(given)
  const createdTokenWire = ({ record, value }: CreatedToken) => settingsTokenWire(record, clock.now(), value.reveal())
  return [
    handle(listSettingsTokens, async ({ call, page }) =>
      right(mapPage(await stores.tokens.list(call.principal.userId, page), (token) => settingsTokenWire(token, clock.now()))),
    ),
    handleChange(createSettingsToken, createdTokenWire, async ({ call, body }) => {
      const seconds = body.expTime ?? 0
      if (seconds < 0 || seconds > maxUnixSeconds) return left(TokenExpiryInvalid('expTime: must be a time in Unix seconds.'))
      const expiresAt = seconds === 0 ? undefined : new Date(seconds * 1000)
      return create(call, call.principal, { name: body.name, scopes: body.scopes, expiresAt, org: body.org })
    }),
    handleChange(rotateSettingsToken, createdTokenWire, ({ call, params }) => rotate(call, params.id as TokenId)),
    handle(deleteSettingsToken, ({ call, params }) => removeOne(call, params.id as TokenId)),
    handleChange(
      deleteSettingsTokens,
      (removed: number) => ({ message: `Deleted ${removed} access token${removed === 1 ? '' : 's'}.` }),
      ({ call, body }) => remove(call, body.tokenIDs as readonly TokenId[]),
    ),
  ]
}

export const customTokenRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const issue = makeIssueCustomToken({ ...given, issuer: given.customTokens })
  return [
    handle(getExtIdpToken, async ({ call }) => {
      const issued = await issue(call)
      return isLeft(issued) ? issued : right({ customToken: issued.right.reveal() })
    }),
  ]
}
