import { left, right } from 'fp-ts/lib/Either.js'
import type { TokenId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { IdentityChanges } from './ports.ts'

export const AccessTokenMissing = defineFailure('AccessTokenMissing', 'NotFound')

interface Deps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

/** Removes a token of the caller, and records it. False when the caller has no such token. */
const removeOwn = async (stores: IdentityChanges, { principal: { userId } }: SignedInCall<never>, id: TokenId): Promise<boolean> => {
  const name = await stores.tokens.remove(userId, id)
  if (name === undefined) return false
  await stores.audit.record({ action: 'token.deleted', objectType: 'token', objectId: id, objectName: name, tenantId: userId })
  return true
}

const tokenMissing = (): Failure<'AccessTokenMissing'> => AccessTokenMissing('You have no such token.')

/** Removes those of the ids that are tokens of the caller; answers how many. The next request with one of them is 401. */
export const makeDeleteTokens =
  (deps: Deps) =>
  async (call: SignedInCall<number>, ids: readonly TokenId[]): Outcome<never, number> =>
    deps.unitOfWork.run<never, number>(call, async (stores) => {
      let removed = 0
      for (const id of new Set(ids)) if (await removeOwn(stores, call, id)) removed += 1
      return right(removed)
    })

/** Removes one token of the caller. */
export const makeDeleteToken =
  (deps: Deps) =>
  async (call: SignedInCall, id: TokenId): Outcome<Failure<'AccessTokenMissing'>, void> =>
    deps.unitOfWork.run<Failure<'AccessTokenMissing'>, void>(call, async (stores) =>
      (await removeOwn(stores, call, id)) ? right(undefined) : left(tokenMissing()),
    )

/** An id as it stands in a path; one beyond 2^53-1 is no token's. */
const idForm = /^[1-9][0-9]{0,15}$/

/** Removes one token of the caller, named by its id or by its name. Digits are an id first. */
export const makeDeleteNamedToken =
  (deps: Deps) =>
  async (call: SignedInCall, idOrName: string): Outcome<Failure<'AccessTokenMissing'>, void> =>
    deps.unitOfWork.run<Failure<'AccessTokenMissing'>, void>(call, async (stores) => {
      if (idForm.test(idOrName) && (await removeOwn(stores, call, Number(idOrName) as TokenId))) return right(undefined)
      const named = await stores.tokens.idOfName(call.principal.userId, idOrName)
      return named !== undefined && (await removeOwn(stores, call, named)) ? right(undefined) : left(tokenMissing())
    })
