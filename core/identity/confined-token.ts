import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure } from '../kernel/failure.ts'
import type { Principal, ScopeCategory, ScopeSet } from '../kernel/principal.ts'
import { allows } from '../kernel/principal.ts'
import { secret } from '../kernel/secret.ts'
import { lastEightOf, makeAccessToken } from './access-token.ts'
import type { ConfinedTokens } from './confined-token-ports.ts'
import { ConfinedTokenExceeds, ConfinedTokenRefused } from './confined-token-ports.ts'
import type { TokenDigest } from './ports.ts'
import { exceeds, parseScopeWords, scopeCovers, scopeSetOf, wordsOfScope } from './scope-words.ts'

type Refusal = Failure<'ConfinedTokenRefused'> | Failure<'ConfinedTokenExceeds'>

const workCategories: readonly ScopeCategory[] = ['organization', 'authz', 'cluster', 'contract', 'billing', 'marketplace', 'misc']

/**
 * The most that a token of such an account may do: it looks at its own profile and changes nothing there, so that it
 * never gets an address or a password, and it neither administers the site nor acts as others.
 */
const ceiling: ScopeSet = scopeSetOf(['read:user', ...workCategories.map((category) => `write:${category}`)])

/** What both allow. */
const meet = (held: ScopeSet): ScopeSet => ({
  all: false,
  sudo: false,
  publicOnly: held.publicOnly,
  levels: Object.fromEntries(
    Object.entries(ceiling.levels).flatMap(([name, level]) => {
      const category = name as ScopeCategory
      if (allows(held, { category, level })) return [[category, level]]
      return allows(held, { category, level: 'read' }) ? [[category, 'read']] : []
    }),
  ),
})

const grantedScopes = (maker: Principal, asked: readonly string[] | undefined): Either<Refusal, readonly string[]> => {
  const held = maker.scopes
  if (asked === undefined) {
    const words = wordsOfScope(meet(held))
    return words.length === 0 ? left(ConfinedTokenExceeds('Your token carries no scope that such a token could have.')) : right(words)
  }
  const words = parseScopeWords(asked)
  if (isLeft(words)) {
    const { message, errors } = words.left
    return left(ConfinedTokenRefused(message, errors === undefined ? {} : { errors }))
  }
  const wanted = scopeSetOf(words.right)
  if (!scopeCovers(ceiling, wanted)) {
    return left(ConfinedTokenRefused(`A token of such an account carries no more than these scopes: ${wordsOfScope(ceiling).join(', ')}.`))
  }
  return scopeCovers(held, wanted) ? words : left(ConfinedTokenExceeds(exceeds('make', held, wanted)))
}

const grantedExpiry = (maker: Principal, asked: Date | undefined, now: Date): Either<Refusal, Date | undefined> => {
  if (asked !== undefined && asked.getTime() <= now.getTime()) return left(ConfinedTokenRefused('The expiry lies in the past.'))
  const bound = maker.tokenExpiresAt
  if (bound !== undefined && asked !== undefined && asked.getTime() > bound.getTime()) {
    return left(ConfinedTokenExceeds('A token cannot make a token that lives longer than itself.'))
  }
  return right(asked ?? bound)
}

/** Prepares access tokens for accounts that are no persons. */
export const makeConfinedTokens = (deps: {
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}): ConfinedTokens => ({
  prepare(maker, owner, input) {
    const name = input.name.trim()
    if (name === '') return left(ConfinedTokenRefused('A token needs a name.'))
    const now = deps.clock.now()
    const scopeWords = grantedScopes(maker, input.scopes)
    if (isLeft(scopeWords)) return scopeWords
    const expiresAt = grantedExpiry(maker, input.expiresAt, now)
    if (isLeft(expiresAt)) return expiresAt
    const value = makeAccessToken(deps.entropy)
    const row = {
      ...owner,
      name,
      hash: deps.digest.digest(value),
      lastEight: lastEightOf(value),
      scopeWords: scopeWords.right,
      createdBy: maker.userId,
      createdAt: now,
      expiresAt: expiresAt.right,
    }
    return right({ row, value: secret(value) })
  },
})
