import * as t from 'io-ts'
import { ClusterMissing } from '../../core/clusters/ports.ts'
import { NotAuthenticated, NotPermitted } from '../../core/identity/ports.ts'
import { read, requires, signedIn } from '../kit/access.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { routesOf } from '../kit/shared-route.ts'
import { ClusterIdPath, ClusterInfo, ClusterMetadata, HubInfoQuery, ownerInPath, OwnerPath, WhetherHub } from './codecs.ts'
import { listedCluster, validationExample } from './examples.ts'

const tag = 'Cluster Management v2'
const ownerRoute = routesOf({ tag, scopeCategory: 'cluster', params: OwnerPath })

export const getClusterIdentity = defineRoute({
  id: 'clusters.getClusterIdentity',
  method: 'GET',
  path: '/clustersv2/identity/{clusterID}',
  summary: 'Find a cluster by the UID of its namespace kube-system',
  description: 'Searches your accounts, and the clusters that were granted to you.',
  tag,
  access: signedIn,
  scope: read('cluster'),
  params: ClusterIdPath,
  ok: json(200, ClusterMetadata, validationExample.clusterMetadata),
  failures: [ClusterMissing],
})

export const listAllClusters = ownerRoute({
  id: 'clusters.listAllClusters',
  method: 'GET',
  path: '/clustersv2/{owner}/all-clusters',
  summary: 'List every cluster of an account',
  description: 'For your own account these are also the clusters of every organization in which you may view them. The list is not paged.',
  access: requires('can_list_clusters', ownerInPath),
  ok: json(200, t.array(ClusterInfo), [listedCluster]),
})

export const hasHub = ownerRoute({
  id: 'clusters.hasHub',
  method: 'GET',
  path: '/clustersv2/{owner}/has-hub',
  summary: 'Check whether an account has a hub',
  access: requires('can_list_clusters', ownerInPath),
  ok: json(200, WhetherHub, { 'has-hub': true }),
})

export const getHubInfo = ownerRoute({
  id: 'clusters.getHubInfo',
  method: 'GET',
  path: '/clustersv2/{owner}/hub-info',
  summary: 'Get the addresses and tokens of the hubs of an account',
  description:
    'An object with `apiServer` and `token` under the name of each hub to which you may connect. The address is that of the proxy of this ' +
    'service, never of the hub itself. A token is made for each hub, as in the kubeconfig of the route `client-config`, and expires as that one does. So this ' +
    'GET is a change: with a session cookie it requires the header X-Csrf-Token, unless the browser declares a request from the same origin. With ' +
    '`token=none` no token is made.',
  access: requires('can_list_clusters', ownerInPath),
  query: HubInfoQuery,
  makesToken: true,
  ok: json(200, FreeObjectCodec, { 'hub-fra': { apiServer: 'https://platform.example.com/api/v1/clusters/acme/hub-fra/proxy', token: '...' } }),
  failures: [NotAuthenticated, NotPermitted],
})
