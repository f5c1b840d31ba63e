import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { AccessGrant, EntryRefusal } from '../kernel/access.ts'
import type { ClusterId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { allows } from '../kernel/principal.ts'
import { AccessDenied, type Authorizer } from '../authz/ports.ts'
import { ClusterMissing, type ClusterApi, type ClusterConnections, type ClustersAsCaller, type ClusterStore } from './ports.ts'
import { makeRequestAs } from './request-as.ts'

/** Direct grants that let their holder connect. */
const connectingRelations = ['editor']
const longestUid = 64

type Refusal = Failure<'AccessDenied'> | EntryRefusal

/** ClustersAsCaller over the same authorization, connections and impersonation as the proxy routes. */
export const makeClustersAsCaller = (deps: {
  readonly clusters: Pick<ClusterStore, 'accountsOf' | 'findByUid' | 'listGranted'>
  readonly authorizer: Authorizer
  readonly connections: ClusterConnections
  readonly api: Pick<ClusterApi, 'request'>
}): ClustersAsCaller => {
  const requestAs = makeRequestAs(deps)

  const candidates = async (call: SignedInCall, uid: string) => {
    const { userId } = call.principal
    const accounts = await deps.clusters.accountsOf(userId)
    const owned = await Promise.all(accounts.map(({ id }) => deps.clusters.findByUid(id, uid)))
    const granted = (await deps.clusters.listGranted(userId, connectingRelations)).filter((cluster) => cluster.uid === uid)
    return [...owned.filter((cluster) => cluster !== undefined), ...granted]
  }

  const authorized = async (call: SignedInCall, uid: string): Outcome<Failure<'ClusterMissing'> | Refusal, AccessGrant> => {
    let refused: Refusal | undefined
    for (const cluster of uid.length > longestUid ? [] : await candidates(call, uid)) {
      const grant = await deps.authorizer.authorize(call.principal, { type: 'cluster', owner: cluster.ownerName, name: cluster.name }, 'can_connect')
      if (!isLeft(grant)) return grant
      if (grant.left.tag !== 'ObjectHidden') refused = grant.left as Refusal
    }
    return left(refused ?? ClusterMissing('There is no cluster of that UID that you may see.'))
  }

  return {
    async request(call, uid, request) {
      // As the proxy routes: a token reaches into clusters only when it is meant for them.
      const level = request.method === 'GET' ? 'read' : 'write'
      if (!allows(call.principal.scopes, { category: 'cluster', level })) return left(AccessDenied(`The token needs the scope ${level}:cluster.`))
      const grant = await authorized(call, uid)
      if (isLeft(grant)) return grant
      return requestAs(call, { clusterId: grant.right.objectId as ClusterId, clusterVersion: grant.right.objectVersion }, request)
    },
  }
}
