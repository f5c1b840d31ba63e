import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { Clock } from '../../kernel/clock.ts'
import { dayMilliseconds } from '../../kernel/clock.ts'
import type { Entropy, Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { definedFields } from '../../kernel/json.ts'
import type { Principal, ScopeCategory, ScopeSet, SignedInCall } from '../../kernel/principal.ts'
import { allows } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfToken, auditOfUser } from '../audit.ts'
import { userMissing } from '../types.ts'
import { credentialOutdated, isCredentialInForce } from '../credentials.ts'
import type { IdentityChanges, IdentityStores, TokenDigest } from '../ports.ts'
import { NotPermitted } from '../ports.ts'
import type { CreateTokenDeps } from './access-tokens.ts'
import type { ClusterTokens, ConfinedTokens, CustomTokenIssuer, TokenCluster } from './ports.ts'
import { ConfinedTokenExceeds, ConfinedTokenRefused } from './ports.ts'
import { exceeds, parseScopeWords, scopeCovers, scopeSetOf, wordsOfScope } from './scopes.ts'
import { lastEightOf, makeAccessToken } from './access-tokens.ts'

/** The audit rows about a cluster for which a token was created. They are in the log of the owner of the cluster. */
const auditOfCluster = defineAudit('cluster', ['cluster.token_created'], ({ id, name, ownerId }: TokenCluster) => ({
  objectId: id,
  objectName: name,
  tenantId: ownerId,
}))

/** The maximum number of live tokens of one user for one cluster. */
const mostOfOneCluster = 10

export interface ClusterTokenDeps extends CreateTokenDeps {
  /** The maximum lifetime of such a token. */
  readonly lifeSeconds: number
}

const scopeWordsOf = ({ scopes }: Principal): readonly string[] => [
  ...(scopes.publicOnly ? ['public-only'] : []),
  allows(scopes, { category: 'cluster', level: 'write' }) ? 'write:cluster' : 'read:cluster',
]

/** Makes room for one more token: removes expired ones, then the oldest. */
const makeRoom = async (
  { tokens, audit }: IdentityChanges,
  { principal }: SignedInCall,
  cluster: TokenCluster,
  now: Date,
): Promise<void> => {
  const all = await tokens.ofCluster(principal.userId, cluster.id)
  const living = all.filter(({ expiresAt }) => expiresAt === undefined || expiresAt.getTime() > now.getTime())
  const beyond = new Set(living.slice(0, Math.max(0, living.length - mostOfOneCluster + 1)))
  for (const token of all.filter((each) => beyond.has(each) || !living.includes(each))) {
    await tokens.remove(principal.userId, token.id)
    await audit.record(auditOfToken(token, 'token.deleted', { by: beyond.has(token) ? 'limit' : 'expiry' }))
  }
}

/**
 * Returns ClusterTokens over identity's stores. The new token, the removal of old ones and the audit rows are one
 * transaction.
 */
export const makeClusterTokens = (deps: ClusterTokenDeps): ClusterTokens => {
  const expiryOf = (
    { tokenExpiresAt }: Principal,
    { maxTokenLifeDays }: TokenCluster,
    asked: number | undefined,
    now: Date,
  ): Date => {
    const life = Math.min(deps.lifeSeconds, asked ?? Infinity) * 1000
    const allowed = maxTokenLifeDays === 0 ? life : Math.min(life, maxTokenLifeDays * dayMilliseconds)
    return new Date(Math.min(now.getTime() + allowed, tokenExpiresAt?.getTime() ?? Infinity))
  }

  return {
    async issue(call, cluster, lifeSeconds) {
      const { principal } = call
      const { userId, onlyOrgId } = principal
      if (principal.impersonator !== undefined)
        return left(NotPermitted('No token is made for a user whom a site admin acts as.'))
      const now = deps.clock.now()
      const value = makeAccessToken(deps.entropy, deps.digest, 'cluster')
      const lastEight = lastEightOf(value)
      const expiresAt = expiryOf(principal, cluster, lifeSeconds, now)
      const row = {
        userId,
        name: `kubeconfig-${cluster.ownerName}-${cluster.name}-${lastEight}`,
        hash: deps.digest.digest(value),
        lastEight,
        scopeWords: scopeWordsOf(principal),
        onlyOrgId,
        onlyClusterId: cluster.id,
        createdBy: userId,
        createdAt: now,
        expiresAt,
        ...definedFields({ madeWith: principal.tokenId }),
      }
      return deps.unitOfWork.run(call, async (stores) => {
        await stores.tokens.lockOwner(userId)
        if (!(await isCredentialInForce(stores, deps.clock, principal))) return left(credentialOutdated())
        await makeRoom(stores, call, cluster, now)
        const id = await stores.tokens.insert(row)
        if (isLeft(id)) throw new Error('two random tokens have the same end')
        const facts = {
          scopes: row.scopeWords,
          expires_at: expiresAt.toISOString(),
          cluster: `${cluster.ownerName}/${cluster.name}`,
        }
        await stores.audit.record(auditOfToken({ id: id.right, ...row }, 'token.created', facts))
        if (cluster.ownerId !== userId) {
          // The owner of the cluster must see who obtained access.
          const { scopes, expires_at } = facts
          await stores.audit.record(
            auditOfCluster(cluster, 'cluster.token_created', { token: row.name, scopes, expires_at }),
          )
        }
        return right({ value: secret(value), expiresAt })
      })
    },
  }
}

type Refusal = Failure<'ConfinedTokenRefused'> | Failure<'ConfinedTokenExceeds'>

const workCategories: readonly ScopeCategory[] = [
  'organization',
  'authz',
  'cluster',
  'contract',
  'billing',
  'marketplace',
  'provisioning',
  'misc',
]

/**
 * The most that a token of such an account may grant. It may read its own profile but not change it, so that the
 * account never gets an address or a password; it may neither administer the site nor act as others.
 */
const ceiling: ScopeSet = scopeSetOf(['read:user', ...workCategories.map((category) => `write:${category}`)])

/** Returns the intersection with the ceiling. */
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
    return words.length === 0
      ? left(ConfinedTokenExceeds('Your token carries no scope that such a token could have.'))
      : right(words)
  }
  const words = parseScopeWords(asked)
  if (isLeft(words)) {
    const { message, errors } = words.left
    return left(ConfinedTokenRefused(message, definedFields({ errors })))
  }
  const wanted = scopeSetOf(words.right)
  if (!scopeCovers(ceiling, wanted)) {
    return left(
      ConfinedTokenRefused(
        `A token of such an account carries no more than these scopes: ${wordsOfScope(ceiling).join(', ')}.`,
      ),
    )
  }
  return scopeCovers(held, wanted) ? words : left(ConfinedTokenExceeds(exceeds('make', held, wanted)))
}

const grantedExpiry = (maker: Principal, asked: Date | undefined, now: Date): Either<Refusal, Date | undefined> => {
  if (asked !== undefined && asked.getTime() <= now.getTime())
    return left(ConfinedTokenRefused('The expiry must be in the future.'))
  const bound = maker.tokenExpiresAt
  if (bound !== undefined && asked !== undefined && asked.getTime() > bound.getTime()) {
    return left(ConfinedTokenExceeds('A token cannot make a token that lives longer than itself.'))
  }
  return right(asked ?? bound)
}

/** Prepares access tokens for non-human accounts. */
export const makeConfinedTokens = (deps: {
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}): ConfinedTokens => ({
  prepare(maker, owner, input) {
    const name = input.name.trim()
    if (name === '') return left(ConfinedTokenRefused('A token must have a name.'))
    const now = deps.clock.now()
    const scopeWords = grantedScopes(maker, input.scopes)
    if (isLeft(scopeWords)) return scopeWords
    const expiresAt = grantedExpiry(maker, input.expiresAt, now)
    if (isLeft(expiresAt)) return expiresAt
    const value = makeAccessToken(deps.entropy, deps.digest)
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

export interface IssueCustomTokenDeps {
  readonly stores: Pick<IdentityStores, 'users'>
  readonly issuer: CustomTokenIssuer
  readonly clock: Clock
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

/** An hour, the maximum that providers accept. */
const longestMilliseconds = 3_600_000

/** Signs a token for the caller, valid for at most an hour and no longer than the requesting access token. */
export const makeIssueCustomToken =
  ({ stores, issuer, clock, unitOfWork }: IssueCustomTokenDeps) =>
  async (call: SignedInCall): Outcome<Failure<'CustomTokensOff' | 'UserMissing'>, Secret> => {
    const { userId, tokenExpiresAt } = call.principal
    const user = await stores.users.byId(userId)
    if (user === undefined) return left(userMissing())
    const now = clock.now()
    const byLife = now.getTime() + longestMilliseconds
    const expiresAt = new Date(tokenExpiresAt === undefined ? byLife : Math.min(byLife, tokenExpiresAt.getTime()))
    const signed = await issuer.issue(
      { userId, login: user.login, fullName: user.fullName, email: user.primaryEmail },
      now,
      expiresAt,
    )
    if (isLeft(signed)) return signed
    return unitOfWork.run<never, Secret>(call, async ({ audit }) => {
      await audit.record(auditOfUser(user, 'user.custom_token_issued'))
      return right(signed.right)
    })
  }
