import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../core/kernel/failure.ts'
import { parseInstant } from '../../core/kernel/clock.ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { makeCreateToken, TokenExpiryInvalid } from '../../core/identity/create-token.ts'
import { makeDeleteNamedToken } from '../../core/identity/delete-tokens.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { createToken, deleteToken, listTokens, NotYourTokens } from './token.routes.ts'
import { createdWire, tokenWire } from './token-wire.ts'

const refusal = (call: SignedInCall<never>, username: string): Failure<'NotYourTokens'> | undefined =>
  username.toLowerCase() === call.principal.login.toLowerCase()
    ? undefined
    : NotYourTokens('Only your own access tokens can be listed, made and deleted here.')

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
      if (body.expires_at !== undefined && expiresAt === undefined) return left(TokenExpiryInvalid('expires_at is no RFC 3339 date-time.'))
      return create(call, call.principal, { name: body.name, scopes: body.scopes, expiresAt, org: body.org })
    }),
    handle(deleteToken, async ({ call, params }) => {
      const refused = refusal(call, params.username)
      return refused === undefined ? remove(call, params.id) : left(refused)
    }),
  ]
}
