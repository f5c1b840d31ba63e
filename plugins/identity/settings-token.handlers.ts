import { left, right } from 'fp-ts/lib/Either.js'
import type { TokenId } from '../../core/kernel/ids.ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { CreatedToken } from '../../core/identity/create-token.ts'
import { makeCreateToken, TokenExpiryInvalid } from '../../core/identity/create-token.ts'
import { makeDeleteToken, makeDeleteTokens } from '../../core/identity/delete-tokens.ts'
import { makeRotateToken } from '../../core/identity/rotate-token.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { createSettingsToken, deleteSettingsToken, deleteSettingsTokens, listSettingsTokens, rotateSettingsToken } from './settings-token.routes.ts'
import { settingsTokenWire } from './token-wire.ts'

/** The last instant that a Date can hold, in seconds. */
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
      if (seconds < 0 || seconds > maxUnixSeconds) return left(TokenExpiryInvalid('expTime is no time in Unix seconds.'))
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
