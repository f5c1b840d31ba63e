import { right } from 'fp-ts/lib/Either.js'
import { makeUndiciClusterApi } from '../../../adapters/kubernetes/cluster-api.ts'
import { makeUndiciClusterTransport } from '../../../adapters/kubernetes/cluster-transport.ts'
import { makeConnectionPools } from '../../../adapters/kubernetes/connections.ts'
import { makeKubeconfigParser } from '../../../adapters/kubernetes/kubeconfig.ts'
import { makeEgressPolicy } from '../../../adapters/outbound/egress-policy.ts'
import { makeMemberClusters } from '../../../core/clusters/member-clusters.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { Cluster, ClusterConnection } from '../../../core/clusters/types.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { AccountId, ClusterId, UserId } from '../../../core/kernel/ids.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { fullScope } from '../../../core/kernel/principal.ts'
import { unwrap } from '../../support/outcome.ts'

/** A member cluster behind a real API server or one that stands in for it, over the same code as the service's. */
export interface OpenedMember {
  /** As that user; the cluster is told whom. */
  as(login: string): Promise<MemberCluster>
  close(): Promise<void>
}

let ids = 0

export const memberOf = (kubeconfig: string, uid: string): OpenedMember => {
  const credential = unwrap(makeKubeconfigParser().parse(kubeconfig))
  const egress = makeEgressPolicy(new Set(['loopback']))
  const pools = makeConnectionPools(egress)
  const id = (ids += 1) as ClusterId
  const cluster = {
    id,
    ownerId: 2 as AccountId,
    ownerName: 'quay',
    name: 'wharf',
    uid,
    hasCredential: true,
  } as Cluster
  const connection: ClusterConnection = {
    link: { id, ownerId: 2 as AccountId, name: 'c', ownerName: 'quay', version: 1, impersonatesUsers: true },
    credential,
  }
  const members = makeMemberClusters({
    clusters: { get: async () => cluster },
    connections: { open: async () => right(connection) },
    api: makeUndiciClusterApi(pools, egress),
    transport: makeUndiciClusterTransport(pools, egress),
  })
  return {
    async as(login) {
      const call = {
        principal: { userId: 7 as UserId, login, isSiteAdmin: false, method: 'token', scopes: fullScope },
      } as unknown as SignedInCall
      return unwrap(await members.open(call, { objectId: id } as unknown as AccessGrant))
    },
    close: () => pools.close(),
  }
}
