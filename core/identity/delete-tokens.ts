import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TokenId } from '../kernel/brand.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { IdentityChanges } from './ports.ts'

export const AccessTokenMissing = defineFailure('AccessTokenMissing', 'NotFound')

interface Deps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

/** Removes those of the ids that are tokens of the caller; answers how many. The next request with one of them is 401. */
export const makeDeleteTokens =
  (deps: Deps) =>
  async (call: SignedInCall, ids: readonly TokenId[]): Outcome<never, number> =>
    deps.unitOfWork.run<never, number>(call, async (stores) => {
      const { userId } = call.principal
      let removed = 0
      for (const id of new Set(ids)) {
        const name = await stores.tokens.remove(userId, id)
        if (name === undefined) continue
        removed += 1
        await stores.audit.record({ action: 'token.deleted', objectType: 'token', objectId: id, objectName: name, tenantId: userId })
      }
      return right(removed)
    })

/** Removes one token of the caller. */
export const makeDeleteToken = (deps: Deps) => {
  const deleteTokens = makeDeleteTokens(deps)
  return async (call: SignedInCall, id: TokenId): Outcome<Failure<'AccessTokenMissing'>, void> => {
    const removed = await deleteTokens(call, [id])
    if (isLeft(removed)) return removed
    return removed.right === 0 ? left(AccessTokenMissing('You have no such token.')) : right(undefined)
  }
}
