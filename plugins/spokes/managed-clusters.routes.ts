import * as t from 'io-ts'
import { hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { ClusterPath, hubInPath, ownerInPath, OwnerPath } from '../clusters/codecs.ts'
import { read, requires, signedIn } from '../kit/access.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { json, orJsonText } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { routesOf } from '../kit/shared-route.ts'
import { HubCluster, ManagedClusterInfo } from './codecs.ts'

const tag = 'Multi-cluster'
const ownerRoute = routesOf({ tag, scopeCategory: 'cluster', params: OwnerPath })
const route = routesOf({ tag, scopeCategory: 'cluster', params: ClusterPath, access: requires('can_view', hubInPath), failures: hubReadFailures })

const hub = {
  name: 'ace',
  ownerName: 'acme',
  displayName: 'ace',
  hubClusterUID: '0b9c6f1e-6d1f-4c58-9f0e-6f2f6d0f4f11',
  spokeClusters: 2,
  addOns: 0,
  clusterNode: 1,
  provider: 'Generic',
  hubType: 'OCM',
  locations: '',
  age: '43m',
  createdAt: '2026-07-05T06:49:31.000Z',
}
const clusters = (spoke: object) => json(200, t.readonlyArray(ManagedClusterInfo), [{ name: 'shop-fra', clusterURL: '', clusterUID: '', ...spoke }])
const member = { clusterURL: 'https://10.2.0.168:6443', clusterUID: '5d3f1c1e-0c51-4f4b-a3c5-8d1f5f8f0a77', clusterSet: 'default' }

export const listHubs = ownerRoute({
  id: 'spokes.listHubs',
  method: 'GET',
  path: '/clusters/{owner}/hubs',
  summary: 'List the hubs of an account',
  description:
    'By name; only hubs that you may view. Each hub is asked for its counts. A hub that does not answer within 3 seconds is listed ' +
    'with the counts that are stored. `hubType` is `OCM-MC` for a hub without workloads.',
  access: requires('can_list_clusters', ownerInPath),
  ok: json(200, t.readonlyArray(HubCluster), [hub]),
})

export const listAllHubs = defineRoute({
  id: 'spokes.listAllHubs',
  method: 'GET',
  path: '/clustersv2/all-hubs',
  summary: 'List your hubs',
  description: 'The hubs of your own account and of every organization in which you may list clusters, as `GET /clusters/{owner}/hubs` lists them.',
  tag,
  access: signedIn,
  scope: read('cluster'),
  ok: json(200, t.readonlyArray(HubCluster), [hub]),
  failures: [],
})

export const readManagedClusters = route({
  id: 'spokes.readManagedClusters',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/managed-clusters',
  summary: 'Get the list of managed clusters as the hub has it',
  description: 'Returns the ManagedClusterList of the Kubernetes API. The items are not changed. A cluster that is not a hub is 400.',
  ok: orJsonText(json(200, FreeObjectCodec, { apiVersion: 'cluster.open-cluster-management.io/v1', kind: 'ManagedClusterList', metadata: { resourceVersion: '8191' }, items: [] })),
})

export const listNotAccepted = route({
  id: 'spokes.listNotAccepted',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/not-accepted-clusters',
  summary: 'List the clusters that ask to join a hub',
  description: 'By name. Clusters that are being deleted are omitted. A cluster that is not a hub is 400.',
  ok: clusters({}),
})

export const listAccepted = route({
  id: 'spokes.listAccepted',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/accepted-clusters',
  summary: 'List the spokes of a hub',
  description: 'By name. A spoke that is being deleted is listed until it is gone. A cluster that is not a hub is 400.',
  ok: clusters(member),
})

export const listAvailable = route({
  id: 'spokes.listAvailable',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/available-clusters',
  summary: 'List the spokes of a hub that you may use',
  description:
    'All accepted clusters if you may connect to the hub. Otherwise those on which a ManagedClusterRoleBinding or ManagedClusterSetRoleBinding ' +
    'of the hub gives you a role, and those that another account imported whose clusters you may list.',
  ok: clusters(member),
})
