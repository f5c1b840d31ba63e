import * as t from 'io-ts'
import { AccessDenied } from '../../core/authz/ports.ts'
import { hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { ClusterNameInvalid } from '../../core/clusters/imports.ts'
import {
  AccessConfigRefused,
  AddressRefused,
  ClusterAlreadyImported,
  ClusterChanged,
  ClusterInUse,
  ClusterMismatch,
  ClusterMissing,
  ClusterNameTaken,
  ClusterUnreachable,
  CredentialRefused,
} from '../../core/clusters/ports.ts'
import { NotAuthenticated, NotPermitted } from '../../core/identity/ports.ts'
import { ResponseIdTaken, TaskLocked, TooManyTasks } from '../../core/tasks/ports.ts'
import { read, requires, signedIn, siteAdmin } from '../kit/access.ts'
import { FreeObjectCodec, ResponseIdQuery, taskExample, TaskResponse } from '../kit/codecs.ts'
import { empty, json, list, packed } from '../kit/reply.ts'
import { body, defineRoute, routesOf } from '../kit/route.ts'
import {
  ClusterExists,
  ClusterInfo,
  ClusterInfoModel,
  ClusterMetadata,
  importExample,
  listedCluster,
  singleCluster,
  validationExample,
  ValidationResponse,
  WhetherHub,
} from './cluster-info-wire.ts'
import {
  accessConfigFaults,
  CheckOptions,
  ClientConfigQuery,
  ClusterIdPath,
  clusterInPath,
  ClusterListQuery,
  ClusterPath,
  ConnectOptions,
  HubInfoQuery,
  ImportClusterOption,
  ImportOptions,
  OperationQuery,
  ownerInPath,
  OwnerPath,
  ReconfigureOptions,
  RemovalOptions,
  RemoveQuery,
  UserClustersQuery,
} from './codecs.ts'

const v1 = 'Cluster Management v1'
const v2 = 'Cluster Management v2'
const ownerRoute = routesOf({ tag: v2, scopeCategory: 'cluster', params: OwnerPath })
const v1Route = routesOf({ tag: v1, scopeCategory: 'cluster', params: ClusterPath })
const v2Route = routesOf({ tag: v2, scopeCategory: 'cluster', params: ClusterPath })
const taskFailures = [ResponseIdTaken, TaskLocked, TooManyTasks] as const
const removeFailures = [ClusterInUse, ClusterMismatch, AccessDenied, ...hubReadFailures, ...taskFailures] as const
const reported =
  'A task reports it: its progress is published on the bus under the `response-id` of the query, and at `/tasks/{id}`.'
const identifyFailures = [
  AccessConfigRefused,
  AddressRefused,
  ClusterMismatch,
  ClusterUnreachable,
  CredentialRefused,
] as const

export const listUserClusters = defineRoute({
  id: 'clusters.listUserClusters',
  method: 'GET',
  path: '/user/clusters',
  summary: 'List your clusters',
  description:
    'Lists the clusters of your own account; with `all=true` also those of every organization in which you ' +
    'may view them. The list is not paged.',
  tag: 'Identity - Users & Settings',
  access: signedIn,
  scope: read('cluster'),
  query: UserClustersQuery,
  ok: packed(json(200, t.array(ClusterInfo), [listedCluster])),
  failures: [],
})

export const listOwnerClusters = ownerRoute({
  id: 'clusters.listOwnerClusters',
  method: 'GET',
  path: '/clustersv2/{owner}',
  summary: 'List the clusters of an account',
  description: 'By name unless `sort` says otherwise. `provider`, `phase` and `q` select some of them.',
  access: requires('can_list_clusters', ownerInPath),
  query: ClusterListQuery,
  ok: packed(list(ClusterInfo, listedCluster)),
})

export const clusterExists = v2Route({
  id: 'clusters.clusterExists',
  method: 'GET',
  path: '/clustersv2/{owner}/{cluster}/exist',
  summary: 'Check whether an account has a cluster with the name',
  description:
    'The name need not be valid: the response is 200 with `false` for a name that no cluster of the account has.',
  access: requires('can_list_clusters', ownerInPath),
  ok: json(200, ClusterExists, { exist: true }),
})

export const checkCluster = ownerRoute({
  id: 'clusters.checkCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/check',
  summary: 'Inspect a cluster without importing it',
  description:
    'Connects with the access config and returns the facts of the cluster. The phase is NotImported and ' +
    'the id 0 unless the account already has the cluster.',
  access: requires('can_import_clusters', ownerInPath),
  body: body(CheckOptions, { basicInfo: importExample.basicInfo, provider: importExample.provider }),
  ok: json(200, ClusterInfoModel, { ...singleCluster, id: 0 }),
  failures: identifyFailures,
  statusOf: accessConfigFaults,
})

export const validateImport = ownerRoute({
  id: 'clusters.validateImport',
  method: 'POST',
  path: '/clustersv2/{owner}/validate',
  summary: 'Check whether a cluster can be imported',
  description:
    'Connects with the access config and checks the name and the cluster against those of the account, field by ' +
    'field. Nothing is stored. A field that does not permit the import is part of the response and not a refusal.',
  access: requires('can_import_clusters', ownerInPath),
  query: OperationQuery,
  body: body(ImportOptions, importExample),
  ok: json(200, ValidationResponse, validationExample),
  failures: identifyFailures,
  statusOf: accessConfigFaults,
})

export const importCluster = ownerRoute({
  id: 'clusters.importCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/import',
  summary: 'Import a cluster by its kubeconfig',
  description:
    '`provider.accessConfig` is the text of a kubeconfig whose user carries a token or a client ' +
    'certificate inline; `exec`, ' +
    'authentication plugins, files, proxies and unverified TLS are rejected, and the message names them. ' +
    'The credential is encrypted at rest and never ' +
    'returned. With `basicInfo.impersonateUsers` every proxied request impersonates the caller (the ' +
    'credential must be ' +
    'allowed to impersonate users, groups and `userextras/moorage-user-id`). `components` is accepted and ' +
    'ignored in this release. ' +
    reported,
  access: requires('can_import_clusters', ownerInPath),
  query: ResponseIdQuery,
  body: body(ImportOptions, importExample),
  ok: json(200, ClusterInfoModel, singleCluster, 'The imported cluster'),
  failures: [
    ...identifyFailures,
    ...taskFailures,
    ClusterNameInvalid,
    ClusterNameTaken,
    ClusterAlreadyImported,
    AccessDenied,
  ],
  statusOf: accessConfigFaults,
})

const changeFailures = [
  AccessConfigRefused,
  AccessDenied,
  AddressRefused,
  ClusterChanged,
  ClusterMismatch,
  ClusterMissing,
  ClusterUnreachable,
  CredentialRefused,
] as const

export const getCluster = v1Route({
  id: 'clusters.getCluster',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}',
  summary: 'Get a cluster in its last known state',
  description: 'The state is that of the last check; the cluster is not contacted. The route `status` checks it now.',
  access: requires('can_view', clusterInPath),
  ok: json(200, ClusterInfoModel, singleCluster),
  failures: [ClusterMissing],
})

export const updateCluster = v1Route({
  id: 'clusters.updateCluster',
  method: 'PUT',
  path: '/clusters/{owner}/{cluster}',
  summary: 'Replace the stored access config of a cluster',
  description:
    'Requires update:cluster. The access config must lead to the same cluster. The name does not change. ' +
    'Connections that use the former credential are closed.',
  access: requires('can_reconfigure', clusterInPath),
  body: body(ImportClusterOption, {
    displayName: 'Production',
    provider: 'Generic',
    accessConfig: importExample.provider.accessConfig,
  }),
  ok: json(200, ClusterInfoModel, singleCluster),
  failures: changeFailures,
  statusOf: accessConfigFaults,
})

export const getClientConfig = v1Route({
  id: 'clusters.getClientConfig',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/client-config',
  summary: 'Get a kubeconfig for the proxy of the cluster',
  description:
    'Returns a JSON string with the text of a complete kubeconfig. It points at the proxy of this service ' +
    'and never contains ' +
    'the stored credential. Its token is created for it, gives access only to the Kubernetes API of this ' +
    'cluster, has no more rights ' +
    'and no longer life than the requesting token, and expires after a day unless the service is ' +
    'configured otherwise. It is listed with ' +
    'your access tokens; a user has at most ten of them for a cluster, and one more revokes the oldest. So ' +
    'this GET is a change: with a session ' +
    'cookie it requires the header X-Csrf-Token, unless the browser declares a request from the same ' +
    'origin. With `token=none` no token ' +
    'is created, and the kubeconfig has a placeholder for a token of your own.',
  access: requires('can_connect', clusterInPath),
  query: ClientConfigQuery,
  makesToken: true,
  ok: json(200, t.string, 'apiVersion: v1\nkind: Config\n...'),
  failures: [ClusterMissing, NotAuthenticated, NotPermitted],
})

export const getClusterStatus = v2Route({
  id: 'clusters.getClusterStatus',
  method: 'GET',
  path: '/clustersv2/{owner}/{cluster}/status',
  summary: 'Check a cluster now and return its state',
  description:
    'Responds within ten seconds, whether the cluster is reachable or not. A check within the last ten ' +
    'seconds is not repeated.',
  access: requires('can_view', clusterInPath),
  ok: json(200, ClusterInfoModel, singleCluster),
  failures: [ClusterMissing],
})

export const connectCluster = v2Route({
  id: 'clusters.connectCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/{cluster}/connect',
  summary: 'Store an access config for a cluster, or check the cluster again',
  description:
    'The access config (also named `kubeConfig`) must be valid and lead to this cluster, and `name` must ' +
    'be its name. Without an access config ' +
    'the stored credential is tried again (`operation=re-connect`). `credential` is rejected: a stored ' +
    'credential of a cloud cannot connect a cluster.',
  access: requires('can_reconfigure', clusterInPath),
  query: OperationQuery,
  body: body(ConnectOptions, { accessConfig: importExample.provider.accessConfig }, { whenAbsent: {} }),
  ok: json(200, ClusterInfoModel, singleCluster),
  failures: changeFailures,
  statusOf: accessConfigFaults,
})

export const reconfigureCluster = v2Route({
  id: 'clusters.reconfigureCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/{cluster}/reconfigure',
  summary: 'Update the record of a cluster',
  description:
    'Display name, infrastructure namespace and `impersonateUsers`. `components` is accepted and ignored ' +
    'in this release. ' +
    reported,
  access: requires('can_reconfigure', clusterInPath),
  query: ResponseIdQuery,
  body: body(ReconfigureOptions, { basicInfo: { displayName: 'Production' } }),
  ok: json(200, FreeObjectCodec, singleCluster, 'The updated cluster'),
  failures: [...changeFailures, ...taskFailures],
  statusOf: accessConfigFaults,
})

export const removeCluster = v2Route({
  id: 'clusters.removeCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/{cluster}/remove',
  summary: 'Forget a cluster',
  description:
    'Deletes the record with its credential and closes open connections. The cluster itself does not change. One that ' +
    'client organizations use, or a hub of theirs, is 409 with their names. ' +
    reported +
    ' With `components.spokeComponent` ' +
    'a spoke leaves its hub first, as by `remove-managed-cluster` of the hub; the record is then deleted ' +
    'at the end of the task.',
  access: requires('can_remove', clusterInPath),
  query: RemoveQuery,
  body: body(RemovalOptions, { name: 'prod-fra' }, { whenAbsent: {} }),
  ok: empty(200),
  failures: removeFailures,
})

export const deleteCluster = v1Route({
  id: 'clusters.deleteCluster',
  method: 'DELETE',
  path: '/clusters/{owner}/{cluster}',
  summary: 'Forget a cluster, and get the task that reports it',
  description:
    'Like `POST /clustersv2/{owner}/{cluster}/remove`. The record no longer exists when the response is sent.',
  access: requires('can_remove', clusterInPath),
  query: ResponseIdQuery,
  ok: json(200, TaskResponse, taskExample),
  failures: removeFailures,
})

export const consoleListClusters = defineRoute({
  id: 'clusters.consoleListClusters',
  method: 'GET',
  path: '/accounts/admin/clusters',
  summary: 'List the clusters of all accounts, by owner and name',
  description: 'Requires a site admin. The states are those of the last checks; no cluster is contacted.',
  tag: 'Administration',
  access: siteAdmin,
  scope: read('admin'),
  ok: packed(list(ClusterInfo, listedCluster)),
  failures: [],
})

const tag = 'Cluster Management v2'
const accountRoute = routesOf({ tag, scopeCategory: 'cluster', params: OwnerPath })

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

export const listAllClusters = accountRoute({
  id: 'clusters.listAllClusters',
  method: 'GET',
  path: '/clustersv2/{owner}/all-clusters',
  summary: 'List every cluster of an account',
  description:
    'For your own account these are also the clusters of every organization in which you may view them. ' +
    'The list is not paged.',
  access: requires('can_list_clusters', ownerInPath),
  ok: packed(json(200, t.array(ClusterInfo), [listedCluster])),
})

export const hasHub = accountRoute({
  id: 'clusters.hasHub',
  method: 'GET',
  path: '/clustersv2/{owner}/has-hub',
  summary: 'Check whether an account has a hub',
  description: 'A hub is a cluster that served the API of managed clusters at its last check; no cluster is contacted.',
  access: requires('can_list_clusters', ownerInPath),
  ok: json(200, WhetherHub, { 'has-hub': true }),
})

export const getHubInfo = accountRoute({
  id: 'clusters.getHubInfo',
  method: 'GET',
  path: '/clustersv2/{owner}/hub-info',
  summary: 'Get the addresses and tokens of the hubs of an account',
  description:
    'An object with `apiServer` and `token` under the name of each hub to which you may connect. The ' +
    'address is that of the proxy of this ' +
    'service, never of the hub itself. A token is made for each hub, as in the kubeconfig of the route ' +
    '`client-config`, and expires as that one does. So this ' +
    'GET is a change: with a session cookie it requires the header X-Csrf-Token, unless the browser ' +
    'declares a request from the same origin. With ' +
    '`token=none` no token is made.',
  access: requires('can_list_clusters', ownerInPath),
  query: HubInfoQuery,
  makesToken: true,
  ok: json(200, FreeObjectCodec, {
    'hub-fra': { apiServer: 'https://platform.example.com/api/v1/clusters/acme/hub-fra/proxy', token: '...' },
  }),
  failures: [NotAuthenticated, NotPermitted],
})
