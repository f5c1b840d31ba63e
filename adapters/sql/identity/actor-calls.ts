import { left, right } from 'fp-ts/lib/Either.js'
import type { Actor, ActorCalls, Principal } from '../../../core/kernel/principal.ts'
import { ActorGone } from '../../../core/kernel/principal.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { TokenId, UserId } from '../../../core/kernel/ids.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, nullable } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { stateOf, stateRow } from './rows.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { accessTokens, users } from '../tables/identity.ts'

const t = aliased(accessTokens, 't')
const actorRow = {
  ...stateRow,
  tokenId: nullable(t.id),
  tokenCreatedAt: nullable(t.createdAt),
  tokenExpiresAt: t.expiresAt,
}
type ActorRow = Row<typeof actorRow>

/**
 * ActorCalls over accounts and access tokens: one query, or two if a site admin impersonated a user. The account, and
 * the impersonator's, must be enabled. The impersonator must still be a site admin. A token that made the call must
 * exist and must not be expired. Passwords and sessions are not checked again: work that they requested continues after
 * they end.
 */
export const makeSqlActorCalls = (db: SqlDatabase, clock: Clock): ActorCalls => {
  const accountWithToken = db.prepare({ userId: users.id, tokenId: accessTokens.id }, actorRow, (k, p) =>
    k('users as u')
      .join('accounts as a', 'a.id', 'u.id')
      .leftJoin('access_tokens as t', (on) => on.on('t.user_id', 'u.id').andOn('t.id', k.raw('?', [p.tokenId])))
      .where('u.id', p.userId),
  )
  const find = (userId: UserId, tokenId: TokenId | undefined) =>
    db.first(accountWithToken, { userId, tokenId: tokenId ?? noToken })

  const isInForce = (row: ActorRow | undefined, actor: Actor): boolean => {
    if (row === undefined || !stateOf(row).isEnabled) return false
    if (actor.tokenId === undefined) return true
    const { tokenId, tokenExpiresAt } = row
    return tokenId !== undefined && (tokenExpiresAt === undefined || tokenExpiresAt > clock.now())
  }

  return {
    async callOf(actor, about, signal) {
      // The token belongs to its owner: under impersonation that is the site admin.
      const owner = await find(actor.impersonator?.userId ?? actor.userId, actor.tokenId)
      if (!isInForce(owner, actor)) return left(gone(actor))
      const row = actor.impersonator === undefined ? owner : await find(actor.userId, undefined)
      const mayImpersonate = actor.impersonator === undefined || (owner !== undefined && stateOf(owner).isSiteAdmin)
      if (row === undefined || !stateOf(row).isEnabled || !mayImpersonate) return left(gone(actor))
      return right({ ...about, signal, principal: principalOf(actor, row, owner ?? row) })
    },
  }
}

/** An id that no token has. */
const noToken = 0 as TokenId

const gone = ({ login, tokenId }: Actor) =>
  ActorGone(
    `${login} may not do this any more: the ` +
      `account${tokenId === undefined ? '' : ', or the access token that asked,'} was disabled, removed or ` +
      'has run out.',
  )

const principalOf = (actor: Actor, row: ActorRow, proof: ActorRow): Principal => {
  const { userId, login, isSiteAdmin } = stateOf(row)
  return {
    userId,
    login,
    isSiteAdmin,
    method: actor.method,
    scopes: actor.scopes,
    ...(actor.tokenId === undefined
      ? {}
      : definedFields({
          tokenId: actor.tokenId,
          tokenCreatedAt: proof.tokenCreatedAt,
          tokenExpiresAt: proof.tokenExpiresAt,
        })),
    ...definedFields({ onlyOrgId: actor.onlyOrgId, impersonator: actor.impersonator }),
  }
}
