import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import { AccessDenied } from '../authz/ports.ts'
import type { AccessGrant, EntryRefusal } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ClusterId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { allows } from '../kernel/principal.ts'
import { steadyConnections } from './connections.ts'
import type {
  ClusterApi,
  ClusterConnections,
  ClustersAsCaller,
  ClusterStore,
  ClusterTransport,
  MemberCluster,
  MemberClusters,
  MemberFailure,
} from './ports.ts'
import { ClusterMissing, ClusterUnreachable, ProxyPathRefused } from './ports.ts'
import type { ProxyFailure } from './proxy/requests.ts'
import { makeProxyRequest, makeRequestAs } from './proxy/requests.ts'

/** Direct grants that allow their holder to connect. */
const connectingRelations = ['editor']
const longestUid = 64

type Refusal = Failure<'AccessDenied'> | EntryRefusal

/** ClustersAsCaller with the authorization, connections and impersonation of the proxy routes. */
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
    const granted = (await deps.clusters.listGranted(userId, connectingRelations)).filter(
      (cluster) => cluster.uid === uid,
    )
    return [...owned.filter((cluster) => cluster !== undefined), ...granted]
  }

  const authorized = async (
    call: SignedInCall,
    uid: string,
  ): Outcome<Failure<'ClusterMissing'> | Refusal, AccessGrant> => {
    let refused: Refusal | undefined
    for (const cluster of uid.length > longestUid ? [] : await candidates(call, uid)) {
      const grant = await deps.authorizer.authorize(
        call.principal,
        { type: 'cluster', account: cluster.ownerName, name: cluster.name },
        'can_connect',
      )
      if (!isLeft(grant)) return grant
      if (grant.left.tag !== 'ObjectHidden') refused = grant.left as Refusal
    }
    return left(refused ?? ClusterMissing('The cluster does not exist, or you may not see it.'))
  }

  return {
    async request(call, uid, request) {
      // As in the proxy routes, a token reaches clusters only if its scope includes them.
      const level = request.method === 'GET' ? 'read' : 'write'
      if (!allows(call.principal.scopes, { category: 'cluster', level }))
        return left(AccessDenied(`The token needs the scope ${level}:cluster.`))
      const grant = await authorized(call, uid)
      if (isLeft(grant)) return grant
      return requestAs(
        call,
        { clusterId: grant.right.objectId as ClusterId, clusterVersion: grant.right.objectVersion },
        request,
      )
    },
  }
}

type Gone = Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>

/** A cluster that was removed after it was opened is reported as unreachable. */
const asMemberFailure = <F extends Failure>(failure: F | Gone): Exclude<F, Gone> | Failure<'ClusterUnreachable'> =>
  failure.tag === 'ClusterMissing' || failure.tag === 'ClusterNotConnected'
    ? ClusterUnreachable('The cluster or its access config was removed during the request.')
    : (failure as Exclude<F, Gone>)

const asRelayFailure = (failure: ProxyFailure): MemberFailure | Failure<'ProxyPathRefused'> => {
  const known = asMemberFailure(failure)
  return known.tag === 'ProxyBodyRefused' || known.tag === 'ImpersonationRefused'
    ? ProxyPathRefused(known.message)
    : known
}

/** MemberClusters with the connections, transport, impersonation and path and header rules of the proxy routes. */
export const makeMemberClusters = (deps: {
  readonly clusters: Pick<ClusterStore, 'get'>
  readonly connections: ClusterConnections
  readonly api: Pick<ClusterApi, 'request'>
  readonly transport: Pick<ClusterTransport, 'relay'>
}): MemberClusters => {
  return {
    async open(call, grant) {
      const clusterId = grant.objectId as ClusterId
      const cluster = await deps.clusters.get(clusterId)
      if (cluster === undefined) return left(ClusterMissing('The cluster does not exist.'))
      const { id, ownerId, ownerName, name, uid } = cluster
      const steady = { ...deps, connections: steadyConnections(deps.connections) }
      // Without a credential, the record of its hub decides whether the cluster can be reached.
      const opened = cluster.hasCredential ? undefined : await steady.connections.open(clusterId)
      if (opened !== undefined && isLeft(opened)) return opened
      const requestAs = makeRequestAs(steady)
      // Computed forms are for browsers; these requests use the plain Kubernetes API.
      const proxy = makeProxyRequest({ ...steady, computeResponse: () => undefined })
      const member: MemberCluster = {
        id,
        ownerId,
        ownerName,
        name,
        uid,
        async request(request, signal) {
          const asked = await requestAs({ ...call, signal }, { clusterId, clusterVersion: undefined }, request)
          return isLeft(asked) ? left(asMemberFailure(asked.left)) : asked
        },
        async relay(exchange, signal) {
          const relayed = await proxy({ ...call, signal }, { clusterId, clusterVersion: undefined, exchange })
          return isLeft(relayed) ? left(asRelayFailure(relayed.left)) : relayed
        },
      }
      return right(member)
    },
  }
}
