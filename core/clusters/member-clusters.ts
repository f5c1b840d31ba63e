import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterId } from '../kernel/ids.ts'
import type { Failure } from '../kernel/failure.ts'
import {
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  ProxyPathRefused,
  type ClusterApi,
  type ClusterConnections,
  type ClusterStore,
  type ClusterTransport,
  type MemberCluster,
  type MemberClusters,
  type MemberFailure,
} from './ports.ts'
import { makeProxyRequest, type ProxyFailure } from './proxy-request.ts'
import { makeRequestAs } from './request-as.ts'
import { steadyConnections } from './steady-connections.ts'

type Gone = Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>

/** What went away after it was opened is out of reach for whoever holds it. */
const asMemberFailure = <F extends Failure>(failure: F | Gone): Exclude<F, Gone> | Failure<'ClusterUnreachable'> =>
  failure.tag === 'ClusterMissing' || failure.tag === 'ClusterNotConnected'
    ? ClusterUnreachable('The cluster was removed, or its access config was, meanwhile.')
    : (failure as Exclude<F, Gone>)

const asRelayFailure = (failure: ProxyFailure): MemberFailure | Failure<'ProxyPathRefused'> => {
  const known = asMemberFailure(failure)
  return known.tag === 'ProxyBodyRefused' ? ProxyPathRefused(known.message) : known
}

/** MemberClusters over the same connections, transport, impersonation and rules of paths and headers as the proxy routes. */
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
      if (cluster === undefined) return left(ClusterMissing('There is no such cluster.'))
      if (!cluster.hasCredential) return left(ClusterNotConnected('The cluster is not connected: store an access config for it first.'))
      const { id, ownerId, ownerName, name, uid } = cluster
      const steady = { ...deps, connections: steadyConnections(deps.connections) }
      const requestAs = makeRequestAs(steady)
      // The computed forms are for people's browsers; what comes here speaks the Kubernetes API.
      const proxy = makeProxyRequest({ ...steady, answerWiderForm: () => undefined })
      const member: MemberCluster = {
        id, ownerId, ownerName, name, uid,
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
