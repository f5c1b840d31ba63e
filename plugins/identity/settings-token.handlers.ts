import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TokenId } from '../../core/kernel/brand.ts'
import { mapPage } from '../../core/kernel/page.ts'
import { makeCreateToken, TokenExpiryInvalid } from '../../core/identity/create-token.ts'
import { makeDeleteToken, makeDeleteTokens } from '../../core/identity/delete-tokens.ts'
import { makeRotateToken } from '../../core/identity/rotate-token.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
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
  return [
    handle(listSettingsTokens, async ({ call, page }) =>
      right(mapPage(await stores.tokens.list(call.principal.userId, page), (token) => settingsTokenWire(token, clock.now()))),
    ),
    handle(createSettingsToken, async ({ call, body }) => {
      const seconds = body.expTime ?? 0
      if (seconds < 0 || seconds > maxUnixSeconds) return left(TokenExpiryInvalid('expTime is no time in Unix seconds.'))
      const expiresAt = seconds === 0 ? undefined : new Date(seconds * 1000)
      const created = await create(call, call.principal, { name: body.name, scopes: body.scopes, expiresAt, org: body.org })
      return isLeft(created) ? created : right(settingsTokenWire(created.right.record, clock.now(), created.right.value.reveal()))
    }),
    handle(rotateSettingsToken, async ({ call, params }) => {
      const rotated = await rotate(call, params.id as TokenId)
      return isLeft(rotated) ? rotated : right(settingsTokenWire(rotated.right.record, clock.now(), rotated.right.value.reveal()))
    }),
    handle(deleteSettingsToken, ({ call, params }) => removeOne(call, params.id as TokenId)),
    handle(deleteSettingsTokens, async ({ call, body }) => {
      const removed = await remove(call, body.tokenIDs as readonly TokenId[])
      return isLeft(removed) ? removed : right({ message: `Deleted ${removed.right} access token${removed.right === 1 ? '' : 's'}.` })
    }),
  ]
}
