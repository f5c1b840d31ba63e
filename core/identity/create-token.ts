import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Call, Principal } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { lastEightOf, makeAccessToken } from './access-token.ts'
import type { IdentityChanges, IdentityStores, TokenDigest } from './ports.ts'
import { exceeds, parseScopeWords, ScopeExceeded, scopeCovers, scopeSetOf, wordsOfScope } from './scope-words.ts'
import { credentialOutdated, isStillProven } from './still-proven.ts'
import type { AccessTokenRecord } from './types.ts'

export const TokenNameInvalid = defineFailure('TokenNameInvalid', 'Unprocessable')
export const TokenExpiryInvalid = defineFailure('TokenExpiryInvalid', 'Unprocessable')
/** The owner is no member of such an organization, or the token that asks is confined to another one. */
export const TokenOrgInvalid = defineFailure('TokenOrgInvalid', 'Unprocessable')

export interface CreateTokenDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}

export interface CreateTokenInput {
  readonly name: string
  /** Absent: everything that the caller may. */
  readonly scopes: readonly string[] | undefined
  /** Absent: never. */
  readonly expiresAt: Date | undefined
  /** The name of the one organization that it reaches, of which its owner is a member. Absent: as far as the caller reaches. */
  readonly org?: string | undefined
}

/** Whose token it becomes. */
export interface TokenOwner {
  readonly userId: UserId
  readonly login: string
}

export type CreateTokenFailure =
  | Failure<'NotAuthenticated'>
  | Failure<'TokenNameInvalid'>
  | Failure<'TokenNameTaken'>
  | Failure<'TokenExpiryInvalid'>
  | Failure<'TokenOrgInvalid'>
  | Failure<'ScopeUnknown'>
  | Failure<'ScopesEmpty'>
  | Failure<'ScopeExceeded'>

export interface CreatedToken {
  readonly record: AccessTokenRecord
  /** The only time that the value is known. */
  readonly value: Secret
}

/** A token made with a token grants no more, and lives no longer, than that one. */
const grantedScopes = (principal: Principal | undefined, asked: readonly string[] | undefined): Either<CreateTokenFailure, readonly string[]> => {
  if (principal === undefined || principal.method !== 'token') return parseScopeWords(asked)
  const words = asked === undefined ? right(wordsOfScope(principal.scopes)) : parseScopeWords(asked)
  if (isLeft(words)) return words
  const wanted = scopeSetOf(words.right)
  return scopeCovers(principal.scopes, wanted) ? words : left(ScopeExceeded(exceeds('make', principal.scopes, wanted)))
}

const grantedExpiry = (principal: Principal | undefined, asked: Date | undefined, now: Date): Either<CreateTokenFailure, Date | undefined> => {
  if (asked !== undefined && asked.getTime() <= now.getTime()) return left(TokenExpiryInvalid('The expiry lies in the past.'))
  const bound = principal?.tokenExpiresAt
  if (bound === undefined) return right(asked)
  if (asked !== undefined && asked.getTime() > bound.getTime()) {
    return left(TokenExpiryInvalid('A token cannot make a token that lives longer than itself.'))
  }
  return right(asked ?? bound)
}

interface Confinement {
  readonly onlyOrgId: OrgId | undefined
  readonly onlyOrgName?: string
}

/** A token made with a confined token is confined to the same organization. */
const grantedReach = async (
  stores: Pick<IdentityStores, 'holdings'>,
  held: OrgId | undefined,
  owner: TokenOwner,
  asked: string | undefined,
): Outcome<Failure<'TokenOrgInvalid'>, Confinement> => {
  if (asked === undefined) return right({ onlyOrgId: held })
  const found = await stores.holdings.organizationOf(owner.userId, asked)
  return found === undefined || (held !== undefined && held !== found.id)
    ? left(TokenOrgInvalid('org: a token can be confined only to an organization of which its owner is a member, and that the token that asks for it reaches.'))
    : right({ onlyOrgId: found.id, onlyOrgName: found.name })
}

/** Makes an access token for `owner` and answers its value, once. What proved the caller must still be in force then. */
export const makeCreateToken =
  (deps: CreateTokenDeps) =>
  async (call: Call<CreatedToken>, owner: TokenOwner, input: CreateTokenInput): Outcome<CreateTokenFailure, CreatedToken> => {
    const name = input.name.trim()
    if (name === '') return left(TokenNameInvalid('A token needs a name.'))
    const now = deps.clock.now()
    const scopeWords = grantedScopes(call.principal, input.scopes)
    if (isLeft(scopeWords)) return scopeWords
    const expiresAt = grantedExpiry(call.principal, input.expiresAt, now)
    if (isLeft(expiresAt)) return expiresAt
    const value = makeAccessToken(deps.entropy)
    const facts = {
      userId: owner.userId,
      name,
      lastEight: lastEightOf(value),
      scopeWords: scopeWords.right,
      createdAt: now,
      expiresAt: expiresAt.right,
    }
    return deps.unitOfWork.run<CreateTokenFailure, CreatedToken>(call, async (stores) => {
      if (call.principal !== undefined && !(await isStillProven(stores, deps.clock, call.principal))) return left(credentialOutdated())
      const reach = await grantedReach(stores, call.principal?.onlyOrgId, owner, input.org)
      if (isLeft(reach)) return reach
      const { onlyOrgId, onlyOrgName } = reach.right
      const id = await stores.tokens.insert({ ...facts, onlyOrgId, hash: deps.digest.digest(value), createdBy: call.principal?.userId })
      if (isLeft(id)) return id
      await stores.audit.record({
        action: 'token.created',
        objectType: 'token',
        objectId: id.right,
        objectName: name,
        tenantId: owner.userId,
        changes: {
          scopes: facts.scopeWords,
          expires_at: facts.expiresAt?.toISOString() ?? null,
          ...(onlyOrgId === undefined ? {} : { org: onlyOrgName ?? onlyOrgId }),
        },
      })
      return right({ record: { id: id.right, ...facts, ...reach.right, lastUsedAt: undefined }, value: secret(value) })
    })
  }
