import * as t from 'io-ts'
import { AccessDenied } from '../../core/authz/ports.ts'
import {
  AccessConfigRefused,
  AddressRefused,
  ClusterChanged,
  ClusterMismatch,
  ClusterMissing,
  ClusterUnreachable,
  CredentialRefused,
} from '../../core/clusters/ports.ts'
import { NotAuthenticated, NotPermitted } from '../../core/identity/ports.ts'
import { read, requires, write } from '../kit/access.ts'
import { FreeObjectCodec } from '../kit/codecs.ts'
import { empty, json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import {
  accessConfigFaults,
  ClientConfigQuery,
  ClusterInfoModel,
  clusterInPath,
  ClusterPath,
  ConnectOptions,
  ImportClusterOption,
  OperationQuery,
  ReconfigureOptions,
  RemovalOptions,
  RemoveQuery,
} from './codecs.ts'
import { importExample, singleCluster } from './examples.ts'

const v1 = 'Cluster Management v1'
const v2 = 'Cluster Management v2'
const changeFailures = [AccessConfigRefused, AccessDenied, AddressRefused, ClusterChanged, ClusterMismatch, ClusterMissing, ClusterUnreachable, CredentialRefused] as const

export const getCluster = defineRoute({
  id: 'clusters.getCluster',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}',
  summary: 'Get a cluster as it was last seen',
  tag: v1,
  access: requires('can_view', clusterInPath),
  scope: read('cluster'),
  params: ClusterPath,
  ok: json(200, ClusterInfoModel, singleCluster),
  failures: [ClusterMissing],
})

export const updateCluster = defineRoute({
  id: 'clusters.updateCluster',
  method: 'PUT',
  path: '/clusters/{owner}/{cluster}',
  summary: 'Replace the stored access config of a cluster',
  description: 'Check update:cluster. The access config must lead to the same cluster. The name stays; connections made with the former credential are cut.',
  tag: v1,
  access: requires('can_reconfigure', clusterInPath),
  scope: write('cluster'),
  params: ClusterPath,
  body: body(ImportClusterOption, { displayName: 'Production', provider: 'Generic', accessConfig: importExample.provider.accessConfig }),
  ok: json(200, ClusterInfoModel, singleCluster),
  failures: [...changeFailures],
  statusOf: accessConfigFaults,
})

export const getClientConfig = defineRoute({
  id: 'clusters.getClientConfig',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/client-config',
  summary: 'Get a kubeconfig that leads to the cluster through this service',
  description:
    'A JSON string with the text of a kubeconfig that works as it is. It points at the proxy of this service and never carries ' +
    'the stored credential: its token is made for it, reaches the Kubernetes API of this cluster and nothing else, does no more ' +
    'and lives no longer than the token that asks, and expires after a day unless the service is set otherwise. It stands among ' +
    'your access tokens; of a person and cluster ten live at a time, and the oldest goes. So this GET is a change: with a session ' +
    'cookie it needs the header X-Csrf-Token, unless a browser says that a page of this origin asks. With `token=none` nothing ' +
    'is made, and the kubeconfig has a marked place for a token of your own.',
  tag: v1,
  access: requires('can_connect', clusterInPath),
  scope: read('cluster'),
  params: ClusterPath,
  query: ClientConfigQuery,
  makesToken: true,
  ok: json(200, t.string, 'apiVersion: v1\nkind: Config\n...'),
  failures: [ClusterMissing, NotAuthenticated, NotPermitted],
})

export const getClusterStatus = defineRoute({
  id: 'clusters.getClusterStatus',
  method: 'GET',
  path: '/clustersv2/{owner}/{cluster}/status',
  summary: 'Look at a cluster now and tell its state',
  description: 'Answers within ten seconds, reachable or not; a look of the last ten seconds is not repeated.',
  tag: v2,
  access: requires('can_view', clusterInPath),
  scope: read('cluster'),
  params: ClusterPath,
  ok: json(200, ClusterInfoModel, singleCluster),
  failures: [ClusterMissing],
})

export const connectCluster = defineRoute({
  id: 'clusters.connectCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/{cluster}/connect',
  summary: 'Store an access config for a cluster, or look at it again',
  description:
    'The access config (also spelled `kubeConfig`) must be readable and lead to this cluster, and a `name` must be its name. Without one ' +
    'the stored credential is tried again (`operation=re-connect`). `credential` is refused: no stored credential of a cloud connects a cluster.',
  tag: v2,
  access: requires('can_reconfigure', clusterInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: OperationQuery,
  body: body(ConnectOptions, { accessConfig: importExample.provider.accessConfig }, { whenAbsent: {} }),
  ok: json(200, ClusterInfoModel, singleCluster),
  failures: [...changeFailures],
  statusOf: accessConfigFaults,
})

export const reconfigureCluster = defineRoute({
  id: 'clusters.reconfigureCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/{cluster}/reconfigure',
  summary: 'Change what is recorded about a cluster',
  description: 'Display name, infrastructure namespace and `impersonateUsers`. `components` is accepted and not acted upon in this release.',
  tag: v2,
  access: requires('can_reconfigure', clusterInPath),
  scope: write('cluster'),
  params: ClusterPath,
  body: body(ReconfigureOptions, { basicInfo: { displayName: 'Production' } }),
  ok: json(200, FreeObjectCodec, singleCluster, 'The cluster as it is now'),
  failures: [...changeFailures],
  statusOf: accessConfigFaults,
})

export const removeCluster = defineRoute({
  id: 'clusters.removeCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/{cluster}/remove',
  summary: 'Forget a cluster',
  description: 'Deletes the record with its credential and cuts open connections. Nothing in the cluster itself is changed.',
  tag: v2,
  access: requires('can_remove', clusterInPath),
  scope: write('cluster'),
  params: ClusterPath,
  query: RemoveQuery,
  body: body(RemovalOptions, { name: 'prod-fra' }, { whenAbsent: {} }),
  ok: empty(200),
  failures: [ClusterMissing, ClusterMismatch],
})
