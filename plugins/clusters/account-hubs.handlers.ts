import { makeGetClusterByUid, makeGetHubAccess, makeHasHub, makeListAllClusters } from '../../core/clusters/account-hubs.ts'
import { AuthorizerToken } from '../../core/authz/ports.ts'
import { makeListUserClusters } from '../../core/clusters/clusters.ts'
import { ClusterConnectionsToken, ClusterStoreToken, PublicAddressToken } from '../../core/clusters/ports.ts'
import { ClusterTokensToken } from '../../core/identity/tokens/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { definedFields } from '../../core/kernel/json.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { getClusterIdentity, getHubInfo, hasHub, listAllClusters } from './account-hubs.routes.ts'
import { toClusterInfo, toClusterMetadata } from './cluster-wire.ts'

/** The routes that tell which hubs and clusters an account has. */
export const accountHubGroup = defineGroup({
  needs: {
    address: PublicAddressToken,
    authorizer: AuthorizerToken,
    clock: ClockToken,
    clusters: ClusterStoreToken,
    clusterTokens: ClusterTokensToken,
    connections: ClusterConnectionsToken,
  },
  routes: (given) => [
    handle(getClusterIdentity, makeGetClusterByUid(given), {
      input: ({ params }) => params.clusterID,
      reply: ({ cluster, authorityPem }) => toClusterMetadata(cluster, authorityPem),
    }),
    handle(listAllClusters, makeListAllClusters({ ...given, listUserClusters: makeListUserClusters(given) }), {
      input: ({ grant }) => grant.ownerId,
      reply: (clusters) => clusters.map((cluster) => toClusterInfo(cluster, given.clock.now())),
    }),
    handle(hasHub, makeHasHub(given), { input: ({ grant }) => grant.ownerId, reply: (has) => ({ 'has-hub': has }) }),
    handle(getHubInfo, makeGetHubAccess(given), {
      input: ({ grant, makesToken }) => ({
        ownerId: grant.ownerId,
        makesToken: makesToken === true,
        maxTokenLifeDays: grant.context.entry?.maxTokenLifeDays ?? 0,
      }),
      reply: (hubs) => Object.fromEntries(hubs.map(({ name, apiServer, token }) => [name, definedFields({ apiServer, token })])),
    }),
  ],
})
