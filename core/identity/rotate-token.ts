import { left, right } from 'fp-ts/lib/Either.js'
import type { TokenId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Principal, SignedInCall } from '../kernel/principal.ts'
import { secret } from '../kernel/secret.ts'
import { lastEightOf, makeAccessToken } from './access-token.ts'
import type { CreatedToken, CreateTokenDeps } from './create-token.ts'
import { AccessTokenMissing } from './delete-tokens.ts'
import { exceeds, ScopeExceeded, scopeCovers, scopeSetOf } from './scope-words.ts'
import { credentialOutdated, isStillProven } from './still-proven.ts'
import type { AccessTokenRecord } from './types.ts'

export type RotateTokenFailure = Failure<'NotAuthenticated'> | Failure<'AccessTokenMissing'> | Failure<'ScopeExceeded'>

const couldHaveMade = ({ method, scopes, onlyOrgId }: Principal, token: AccessTokenRecord): boolean =>
  method !== 'token' || (scopeCovers(scopes, scopeSetOf(token.scopeWords)) && (onlyOrgId === undefined || onlyOrgId === token.onlyOrgId))

/** The same length of life once more, from `from`; a token that asks gives no life beyond its own. */
const renewedExpiry = ({ tokenExpiresAt: bound }: Principal, { createdAt, expiresAt }: AccessTokenRecord, from: Date): Date | undefined => {
  if (expiresAt === undefined) return bound
  const wanted = new Date(from.getTime() + expiresAt.getTime() - createdAt.getTime())
  return bound !== undefined && bound.getTime() < wanted.getTime() ? bound : wanted
}

/**
 * Gives one of the caller's tokens another value, and answers it, once: the former value is refused from then on, while
 * id, name, scopes and organization stay.
 */
export const makeRotateToken =
  (deps: CreateTokenDeps) =>
  async (call: SignedInCall<CreatedToken>, id: TokenId): Outcome<RotateTokenFailure, CreatedToken> =>
    deps.unitOfWork.run<RotateTokenFailure, CreatedToken>(call, async (stores) => {
      const { principal } = call
      if (!(await isStillProven(stores, deps.clock, principal))) return left(credentialOutdated())
      const token = await stores.tokens.lock(principal.userId, id)
      if (token === undefined) return left(AccessTokenMissing('You have no such token.'))
      if (!couldHaveMade(principal, token)) return left(ScopeExceeded(exceeds('rotate', principal.scopes, scopeSetOf(token.scopeWords))))
      // A value is told from the one before it by its instant, so no two share one.
      const createdAt = new Date(Math.max(deps.clock.now().getTime(), token.createdAt.getTime() + 1))
      const value = makeAccessToken(deps.entropy)
      const life = { lastEight: lastEightOf(value), createdAt, expiresAt: renewedExpiry(principal, token, createdAt) }
      await stores.tokens.replaceValue(principal.userId, id, { ...life, hash: deps.digest.digest(value) })
      await stores.audit.record({
        action: 'token.rotated',
        objectType: 'token',
        objectId: id,
        objectName: token.name,
        tenantId: principal.userId,
        changes: {
          scopes: token.scopeWords,
          expires_at: life.expiresAt?.toISOString() ?? null,
          ...(token.onlyOrgId === undefined ? {} : { org: token.onlyOrgName ?? token.onlyOrgId }),
        },
      })
      return right({ record: { ...token, ...life, lastUsedAt: undefined }, value: secret(value) })
    })
