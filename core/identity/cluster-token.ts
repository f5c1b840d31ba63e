import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { dayMilliseconds } from '../kernel/clock.ts'
import type { Principal, SignedInCall } from '../kernel/principal.ts'
import { secret } from '../kernel/secret.ts'
import { allows } from '../kernel/principal.ts'
import { lastEightOf, makeAccessToken } from './access-token.ts'
import type { ClusterTokens, TokenCluster } from './cluster-token-ports.ts'
import type { CreateTokenDeps } from './create-token.ts'
import type { IdentityChanges } from './ports.ts'
import { NotPermitted } from './ports.ts'
import { credentialOutdated, isStillProven } from './still-proven.ts'

/** How many of one person live for one cluster. */
const mostOfOneCluster = 10

export interface ClusterTokenDeps extends CreateTokenDeps {
  /** How long such a token lives at most. */
  readonly lifeSeconds: number
}

const scopeWordsOf = ({ scopes }: Principal): readonly string[] => [
  ...(scopes.publicOnly ? ['public-only'] : []),
  allows(scopes, { category: 'cluster', level: 'write' }) ? 'write:cluster' : 'read:cluster',
]

/** A robot account has tokens and nothing else, so its row is not among those that `isStillProven` locks. */
const isInForce = (stores: IdentityChanges, { clock }: Pick<CreateTokenDeps, 'clock'>, principal: Principal): Promise<boolean> =>
  principal.tokenId === undefined
    ? isStillProven(stores, clock, principal)
    : stores.tokens.isInForce(principal.userId, principal.tokenId, principal.tokenCreatedAt)

/** Makes room for one more: what has expired goes, then the oldest. */
const makeRoom = async ({ tokens, audit }: IdentityChanges, { principal }: SignedInCall, cluster: TokenCluster, now: Date): Promise<void> => {
  const all = await tokens.ofCluster(principal.userId, cluster.id)
  const living = all.filter(({ expiresAt }) => expiresAt === undefined || expiresAt.getTime() > now.getTime())
  const beyond = new Set(living.slice(0, Math.max(0, living.length - mostOfOneCluster + 1)))
  for (const token of all.filter((each) => beyond.has(each) || !living.includes(each))) {
    await tokens.remove(principal.userId, token.id)
    await audit.record({
      action: 'token.deleted',
      objectType: 'token',
      objectId: token.id,
      objectName: token.name,
      tenantId: principal.userId,
      changes: { by: beyond.has(token) ? 'limit' : 'expiry' },
    })
  }
}

/** ClusterTokens over identity's stores: the token, those that make room for it and the audit rows are one transaction. */
export const makeClusterTokens = (deps: ClusterTokenDeps): ClusterTokens => {
  const expiryOf = ({ tokenExpiresAt }: Principal, { maxTokenLifeDays }: TokenCluster, asked: number | undefined, now: Date): Date => {
    const life = Math.min(deps.lifeSeconds, asked ?? Infinity) * 1000
    const allowed = maxTokenLifeDays === 0 ? life : Math.min(life, maxTokenLifeDays * dayMilliseconds)
    return new Date(Math.min(now.getTime() + allowed, tokenExpiresAt?.getTime() ?? Infinity))
  }

  return {
    async issue(call, cluster, lifeSeconds) {
      const { principal } = call
      const { userId, onlyOrgId } = principal
      if (principal.impersonator !== undefined) return left(NotPermitted('No token is made for a user whom a site admin acts as.'))
      const now = deps.clock.now()
      const value = makeAccessToken(deps.entropy)
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
      }
      return deps.unitOfWork.run(call, async (stores) => {
        await stores.tokens.lockOwner(userId)
        if (!(await isInForce(stores, deps, principal))) return left(credentialOutdated())
        await makeRoom(stores, call, cluster, now)
        const id = await stores.tokens.insert(row)
        if (isLeft(id)) throw new Error('two random tokens have the same end')
        const facts = { scopes: row.scopeWords, expires_at: expiresAt.toISOString(), cluster: `${cluster.ownerName}/${cluster.name}` }
        await stores.audit.record({ action: 'token.created', objectType: 'token', objectId: id.right, objectName: row.name, tenantId: userId, changes: facts })
        if (cluster.ownerId !== userId) {
          // Whoever owns the cluster wants to know who took a way in.
          const about = { objectType: 'cluster', objectId: cluster.id, objectName: cluster.name, tenantId: cluster.ownerId }
          await stores.audit.record({ action: 'cluster.token_created', ...about, changes: { token: row.name, scopes: facts.scopes, expires_at: facts.expires_at } })
        }
        return right({ value: secret(value), expiresAt })
      })
    },
  }
}
