import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { OrgId, TokenId, UserId } from '../../kernel/ids.ts'
import { definedFields } from '../../kernel/json.ts'
import type { Call, Principal, SignedInCall } from '../../kernel/principal.ts'
import type { Entropy, Secret } from '../../kernel/secret.ts'
import { base62, randomBase62, secret } from '../../kernel/secret.ts'
import type { AuditEntry, UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfToken } from '../audit.ts'
import { credentialOutdated, credentialStillValid } from '../credentials.ts'
import type { IdentityChanges, IdentityStores, TokenDigest } from '../ports.ts'
import type { AccessTokenRecord } from '../types.ts'
import { exceeds, parseScopeWords, scopeCovers, ScopeExceeded, scopeSetOf, wordsOfScope } from './scopes.ts'

export const TokenNameInvalid = defineFailure('TokenNameInvalid', 'Unprocessable', 'The token has no name.')
export const TokenExpiryInvalid = defineFailure(
  'TokenExpiryInvalid',
  'Unprocessable',
  'The expiry is not a time in the future, or is later than that of the token that asks.',
)
/** The owner is not a member of the organization, or the requesting token is restricted to another one. */
export const TokenOrgInvalid = defineFailure(
  'TokenOrgInvalid',
  'Unprocessable',
  'The owner of the token is not a member of the organization, or the token that asks does not reach it.',
)

export interface CreateTokenDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}

export interface CreateTokenInput {
  readonly owner: TokenOwner
  readonly name: string
  /** Absent: everything that the caller may do. */
  readonly scopes: readonly string[] | undefined
  /** Absent: never expires. */
  readonly expiresAt: Date | undefined
  /**
   * The name of the one organization that the token is restricted to; its owner must be a member. Absent: the caller's
   * own reach.
   */
  readonly org?: string | undefined
}

/** The owner of the token. */
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
  /** The plain value. It is available only here. */
  readonly value: Secret
}

/** Returns what a token may do and how long, for an audit row. */
const shown = ({ scopeWords, expiresAt, onlyOrgId, onlyOrgName }: AccessTokenRecord): AuditEntry['changes'] => ({
  scopes: scopeWords,
  expires_at: expiresAt?.toISOString() ?? null,
  ...definedFields({ org: onlyOrgName ?? onlyOrgId }),
})

/** A token created with a token grants no more, and expires no later, than that one. */
const grantedScopes = (
  principal: Principal | undefined,
  asked: readonly string[] | undefined,
): Either<CreateTokenFailure, readonly string[]> => {
  if (principal === undefined || principal.method !== 'token') return parseScopeWords(asked)
  const words = asked === undefined ? right(wordsOfScope(principal.scopes)) : parseScopeWords(asked)
  if (isLeft(words)) return words
  const wanted = scopeSetOf(words.right)
  return scopeCovers(principal.scopes, wanted) ? words : left(ScopeExceeded(exceeds('make', principal.scopes, wanted)))
}

const grantedExpiry = (
  principal: Principal | undefined,
  asked: Date | undefined,
  now: Date,
): Either<CreateTokenFailure, Date | undefined> => {
  if (asked !== undefined && asked.getTime() <= now.getTime())
    return left(TokenExpiryInvalid('The expiry must be in the future.'))
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

/** A token created with a restricted token is restricted to the same organization. */
const grantedReach = async (
  stores: Pick<IdentityStores, 'holdings'>,
  held: OrgId | undefined,
  owner: TokenOwner,
  asked: string | undefined,
): Outcome<Failure<'TokenOrgInvalid'>, Confinement> => {
  if (asked === undefined) return right({ onlyOrgId: held })
  const found = await stores.holdings.organizationOf(owner.userId, asked)
  return found === undefined || (held !== undefined && held !== found.id)
    ? left(
        TokenOrgInvalid(
          'org: a token can be confined only to an organization of which its owner is a member, and that ' +
            'the token that asks for it reaches.',
        ),
      )
    : right({ onlyOrgId: found.id, onlyOrgName: found.name })
}

/**
 * Creates an access token for `owner` and returns its value, once. The caller's credential must still be in force at
 * that time.
 */
export const makeCreateToken =
  (deps: CreateTokenDeps) =>
  async (
    call: Call<CreatedToken>,
    { owner, ...input }: CreateTokenInput,
  ): Outcome<CreateTokenFailure, CreatedToken> => {
    const name = input.name.trim()
    if (name === '') return left(TokenNameInvalid('A token must have a name.'))
    const now = deps.clock.now()
    const scopeWords = grantedScopes(call.principal, input.scopes)
    if (isLeft(scopeWords)) return scopeWords
    const expiresAt = grantedExpiry(call.principal, input.expiresAt, now)
    if (isLeft(expiresAt)) return expiresAt
    const value = makeAccessToken(deps.entropy, deps.digest)
    const facts = {
      userId: owner.userId,
      name,
      lastEight: lastEightOf(value),
      scopeWords: scopeWords.right,
      createdAt: now,
      expiresAt: expiresAt.right,
    }
    return deps.unitOfWork.run<CreateTokenFailure, CreatedToken>(call, async (stores) => {
      if (call.principal !== undefined && !(await credentialStillValid(stores, deps.clock, call.principal)))
        return left(credentialOutdated())
      const reach = await grantedReach(stores, call.principal?.onlyOrgId, owner, input.org)
      if (isLeft(reach)) return reach
      const { onlyOrgId } = reach.right
      const id = await stores.tokens.insert({
        ...facts,
        onlyOrgId,
        hash: deps.digest.digest(value),
        createdBy: call.principal?.userId,
        ...definedFields({ madeWith: call.principal?.tokenId }),
      })
      if (isLeft(id)) return id
      const record = { id: id.right, ...facts, ...reach.right, lastUsedAt: undefined }
      await stores.audit.record(auditOfToken(record, 'token.created', shown(record)))
      return right({ record, value: secret(value) })
    })
  }

export const AccessTokenMissing = defineFailure('AccessTokenMissing', 'NotFound', 'The access token does not exist.')

interface Deps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

/** Deletes a token of the caller, and records it. Returns false if the caller has no such token. */
const removeOwn = async (
  stores: IdentityChanges,
  { principal: { userId } }: SignedInCall<never>,
  id: TokenId,
): Promise<boolean> => {
  const name = await stores.tokens.remove(userId, id)
  if (name === undefined) return false
  await stores.audit.record(auditOfToken({ id, userId, name }, 'token.deleted'))
  return true
}

const tokenMissing = (): Failure<'AccessTokenMissing'> => AccessTokenMissing('The token does not exist.')

/**
 * Deletes the tokens of the caller among the ids and returns their number. The next request with one of them is 401.
 */
export const makeDeleteTokens =
  (deps: Deps) =>
  async (call: SignedInCall<number>, ids: readonly TokenId[]): Outcome<never, number> =>
    deps.unitOfWork.run<never, number>(call, async (stores) => {
      let removed = 0
      for (const id of new Set(ids)) if (await removeOwn(stores, call, id)) removed += 1
      return right(removed)
    })

/** Deletes one token of the caller. */
export const makeDeleteToken =
  (deps: Deps) =>
  async (call: SignedInCall, id: TokenId): Outcome<Failure<'AccessTokenMissing'>, void> =>
    deps.unitOfWork.run<Failure<'AccessTokenMissing'>, void>(call, async (stores) =>
      (await removeOwn(stores, call, id)) ? right(undefined) : left(tokenMissing()),
    )

/** An id in a path. An id beyond 2^53-1 matches no token. */
const idForm = /^[1-9][0-9]{0,15}$/

/** Deletes one token of the caller by id or by name. Digits are tried as an id first. */
export const makeDeleteNamedToken =
  (deps: Deps) =>
  async (call: SignedInCall, idOrName: string): Outcome<Failure<'AccessTokenMissing'>, void> =>
    deps.unitOfWork.run<Failure<'AccessTokenMissing'>, void>(call, async (stores) => {
      if (idForm.test(idOrName) && (await removeOwn(stores, call, Number(idOrName) as TokenId))) return right(undefined)
      const named = await stores.tokens.idOfName(call.principal.userId, idOrName)
      return named !== undefined && (await removeOwn(stores, call, named)) ? right(undefined) : left(tokenMissing())
    })

export type RotateTokenFailure = Failure<'NotAuthenticated'> | Failure<'AccessTokenMissing'> | Failure<'ScopeExceeded'>

const couldHaveMade = ({ method, scopes, onlyOrgId }: Principal, token: AccessTokenRecord): boolean =>
  method !== 'token' ||
  (scopeCovers(scopes, scopeSetOf(token.scopeWords)) && (onlyOrgId === undefined || onlyOrgId === token.onlyOrgId))

/**
 * Returns the expiry after another lifetime of the same length, from `from`. It is limited by that of the requesting
 * token.
 */
const renewedExpiry = (
  { tokenExpiresAt: bound }: Principal,
  { createdAt, expiresAt }: AccessTokenRecord,
  from: Date,
): Date | undefined => {
  if (expiresAt === undefined) return bound
  const wanted = new Date(from.getTime() + expiresAt.getTime() - createdAt.getTime())
  return bound !== undefined && bound.getTime() < wanted.getTime() ? bound : wanted
}

/**
 * Replaces the value of one of the caller's tokens and returns it, once. The old value is refused from then on; id,
 * name, scopes and organization are unchanged.
 */
export const makeRotateToken =
  (deps: CreateTokenDeps) =>
  async (call: SignedInCall<CreatedToken>, id: TokenId): Outcome<RotateTokenFailure, CreatedToken> =>
    deps.unitOfWork.run<RotateTokenFailure, CreatedToken>(call, async (stores) => {
      const { principal } = call
      if (!(await credentialStillValid(stores, deps.clock, principal))) return left(credentialOutdated())
      const token = await stores.tokens.lock(principal.userId, id)
      if (token === undefined) return left(AccessTokenMissing('The token does not exist.'))
      if (!couldHaveMade(principal, token))
        return left(ScopeExceeded(exceeds('rotate', principal.scopes, scopeSetOf(token.scopeWords))))
      // Values are distinguished by their creation times, so these must be unique.
      const createdAt = new Date(Math.max(deps.clock.now().getTime(), token.createdAt.getTime() + 1))
      const value = makeAccessToken(
        deps.entropy,
        deps.digest,
        token.onlyClusterId === undefined ? 'account' : 'cluster',
      )
      const life = { lastEight: lastEightOf(value), createdAt, expiresAt: renewedExpiry(principal, token, createdAt) }
      await stores.tokens.replaceValue(principal.userId, id, { ...life, hash: deps.digest.digest(value) })
      const record = { ...token, ...life, lastUsedAt: undefined }
      await stores.audit.record(auditOfToken(record, 'token.rotated', shown(record)))
      return right({ record, value: secret(value) })
    })

/**
 * What a token is for. Releases before the one that confines tokens to a cluster do not know the second prefix: an
 * instance of theirs that still runs during an upgrade refuses the token instead of ignoring its limit.
 */
type TokenKind = 'account' | 'cluster'
const prefixes: Readonly<Record<TokenKind, string>> = { account: 'moor_', cluster: 'moorc_' }
/** 62^30 is slightly more than 2^178. */
const randomLength = 30
/** 62^6 is more than 2^32. */
const checkLength = 6

const checkOf = (random: string, digest: TokenDigest): string => {
  let rest = digest.checksum(random)
  let text = ''
  for (let i = 0; i < checkLength; i += 1) {
    text = base62.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/**
 * Returns a new access token: prefix, 30 random characters, and their checksum, so that scanners recognize it and typos
 * need no look-up.
 */
export const makeAccessToken = (entropy: Entropy, digest: TokenDigest, kind: TokenKind = 'account'): string => {
  const random = randomBase62(entropy, randomLength)
  return prefixes[kind] + random + checkOf(random, digest)
}

const own = /^moorc?_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/
/** The token format of related servers. Such tokens are imported. */
const hex40 = /^[0-9a-f]{40}$/

/** Reports whether a text has the form of an access token. Any other text is not looked up. */
export const hasAccessTokenForm = (text: string, digest: TokenDigest): boolean => {
  if (hex40.test(text)) return true
  const parts = own.exec(text)
  return parts !== null && checkOf(parts[1] ?? '', digest) === parts[2]
}

/** Returns the characters of a token that lists show. */
export const lastEightOf = (token: string): string => token.slice(-8)
