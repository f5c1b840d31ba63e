import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OwnSpokes } from '../clusters/hubs/ports.ts'
import type { MemberTokens } from '../clusters/ports.ts'
import { ClusterNotConnected } from '../clusters/ports.ts'
import type { ClusterConnection } from '../clusters/types.ts'
import type { Cache, Caches } from '../kernel/cache.ts'
import { getOrMake } from '../kernel/cache.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { IssuedToken } from './accounts.ts'
import { requestToken, writeAccount, writeAccountBasis } from './accounts.ts'
import type { ClientOrgStore } from './ports.ts'
import type { ClientClusterId, MemberAccountId } from './types.ts'

/** Tokens in memory, for all members and clusters that one process serves. */
const maxTokens = 10_000
/** How long the cluster may take to make an account and to issue its token. */
const issueMs = 20_000
/** A token is replaced when this part of its life is left. */
const renewedShare = 0.2

interface Kept extends IssuedToken {
  /** The account for which it was issued: another one has the same name after a member has come back. */
  readonly accountId: MemberAccountId | undefined
  readonly renewAtMs: number
}

interface Deps {
  readonly caches: Caches
  readonly clientOrgs: ClientOrgStore
  readonly clock: Clock
  readonly spokes: OwnSpokes
}

type NotConnected = Failure<'ClusterNotConnected'>

const removed = ClusterNotConnected('The client organization has been removed from the cluster, or is being removed.')

/** Makes the account of a user on a cluster, or that of the organization, and requests a token of it. */
const issueToken = async (
  { clientOrgs, spokes }: Deps,
  id: ClientClusterId,
  issuer: ClusterConnection,
  userId: UserId | undefined,
): Outcome<Failure, IssuedToken> => {
  const owned = await clientOrgs.findCluster(id)
  if (owned === undefined) return left(removed)
  const { clientOrg, cluster } = owned
  const spoke = spokes.open(issuer, AbortSignal.timeout(issueMs))
  const basis = await writeAccountBasis(spoke, clientOrg, cluster.plan)
  if (isLeft(basis)) return basis
  const written = await writeAccount(spoke, clientOrg, cluster.plan, userId)
  return isLeft(written) ? written : requestToken(spoke, clientOrg, userId)
}

/**
 * Issues tokens by TokenRequest, and keeps them in memory alone: a process that starts requests new ones. Each use reads
 * one row, so that the removal of an account or of a client organization takes effect at once.
 */
export const makeMemberTokens = (deps: Deps): MemberTokens => {
  const kept: Cache<string, Kept> = deps.caches.make({ maxEntries: maxTokens })
  const underWay = new Map<string, Promise<Awaited<Outcome<NotConnected, Kept>>>>()

  const renew = async (
    key: string,
    id: ClientClusterId,
    accountId: MemberAccountId | undefined,
    issuer: ClusterConnection,
    userId: UserId | undefined,
  ): Outcome<NotConnected, Kept> => {
    const beganMs = deps.clock.now().getTime()
    const issued = await issueToken(deps, id, issuer, userId)
    if (isLeft(issued))
      return left(ClusterNotConnected(`The cluster has issued no token for your account there: ${issued.left.message}`))
    const lifeMs = issued.right.endsAt.getTime() - beganMs
    const made = { ...issued.right, accountId, renewAtMs: beganMs + lifeMs * (1 - renewedShare) }
    kept.set(key, made)
    return right(made)
  }

  return {
    async issue(link, issuer, issuerUid, userId) {
      const find = () => deps.clientOrgs.findAccess(link.ownerId as OrgId, issuerUid, userId)
      let access = await find()
      if (access === undefined) return left(removed)
      if (userId !== undefined && access.accountId === undefined) {
        // The row is before the account, so that no account is forgotten.
        await deps.clientOrgs.addAccount(access.clusterId, userId)
        access = await find()
        if (access === undefined) return left(removed)
      }
      const { clusterId, accountId } = access
      const key = `${link.id}/${issuer.link.id}.${issuer.link.version}/${userId ?? ''}`
      const known = kept.get(key)
      if (known !== undefined && known.accountId === accountId && deps.clock.now().getTime() < known.renewAtMs)
        return right(known.token)
      const made = await getOrMake(underWay, `${key}/${accountId ?? ''}`, () =>
        renew(key, clusterId, accountId, issuer, userId).finally(() => underWay.delete(`${key}/${accountId ?? ''}`)),
      )
      return isLeft(made) ? made : right(made.right.token)
    },
  }
}
