import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Actor, ActorCalls, Principal } from '../../../core/kernel/principal.ts'
import { ActorGone } from '../../../core/kernel/principal.ts'
import type { Clock } from '../../../core/kernel/clock.ts'
import type { Num, Params, SqlDatabase } from '../kit/statement.ts'
import type { StateRow } from './rows.ts'
import { optionalInstant, stateColumns, stateOf } from './rows.ts'
import { definedFields } from '../../../core/kernel/json.ts'

interface ActorRow extends StateRow {
  readonly token_id: Num | null
  readonly token_created_at: Num | null
  readonly token_expires_at: Num | null
}

/**
 * ActorCalls over accounts and access tokens: one query, or two if a site admin impersonated a user. The account, and
 * the impersonator's, must be enabled. The impersonator must still be a site admin. A token that made the call must
 * exist and must not be expired. Passwords and sessions are not checked again: work that they requested continues after
 * they end.
 */
export const makeSqlActorCalls = (db: SqlDatabase, clock: Clock): ActorCalls => {
  const accountWithToken = db.prepare((k, p: Params<'userId' | 'tokenId'>) =>
    k('users as u')
      .join('accounts as a', 'a.id', 'u.id')
      .leftJoin('access_tokens as t', (on) =>
        on.on('t.user_id', 'u.id').andOn('t.id', k.raw('?', [p('tokenId') as Knex.RawBinding])),
      )
      .where('u.id', p('userId'))
      .select(
        ...stateColumns,
        't.id as token_id',
        't.created_at as token_created_at',
        't.expires_at as token_expires_at',
      ),
  )
  const find = (userId: number, tokenId: number | undefined) =>
    db.first<ActorRow>(accountWithToken, { userId, tokenId: tokenId ?? 0 })

  const isInForce = (row: ActorRow | undefined, actor: Actor): boolean => {
    if (row === undefined || !stateOf(row).isEnabled) return false
    if (actor.tokenId === undefined) return true
    const expiresAt = optionalInstant(row.token_expires_at)
    return row.token_id !== null && (expiresAt === undefined || expiresAt.getTime() > clock.now().getTime())
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

const gone = ({ login, tokenId }: Actor) =>
  ActorGone(
    `${login} may not do this any more: the ` +
      `account${tokenId === undefined ? '' : ', or the access token that asked,'} was disabled, removed or ` +
      'has run out.',
  )

const principalOf = (actor: Actor, row: ActorRow, proof: ActorRow): Principal => {
  const { userId, login, isSiteAdmin } = stateOf(row)
  const createdAt = optionalInstant(proof.token_created_at)
  const expiresAt = optionalInstant(proof.token_expires_at)
  return {
    userId,
    login,
    isSiteAdmin,
    method: actor.method,
    scopes: actor.scopes,
    ...(actor.tokenId === undefined
      ? {}
      : definedFields({ tokenId: actor.tokenId, tokenCreatedAt: createdAt, tokenExpiresAt: expiresAt })),
    ...definedFields({ onlyOrgId: actor.onlyOrgId, impersonator: actor.impersonator }),
  }
}
