import * as t from 'io-ts'
import { AccessDenied } from '../../core/authz/ports.ts'
import { ClusterNameInvalid } from '../../core/clusters/cluster-name.ts'
import {
  AccessConfigRefused,
  AddressRefused,
  ClusterAlreadyImported,
  ClusterMismatch,
  ClusterNameTaken,
  ClusterUnreachable,
  CredentialRefused,
} from '../../core/clusters/ports.ts'
import { read, requires, signedIn, write } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import {
  accessConfigFaults,
  CheckOptions,
  ClusterExists,
  ClusterInfo,
  ClusterInfoModel,
  ClusterListQuery,
  ClusterPath,
  ImportOptions,
  OperationQuery,
  ownerInPath,
  OwnerPath,
  UserClustersQuery,
  ValidationResponse,
} from './codecs.ts'
import { importExample, listedCluster, singleCluster, validationExample } from './examples.ts'

const tag = 'Cluster Management v2'
const identifyFailures = [AccessConfigRefused, AddressRefused, ClusterMismatch, ClusterUnreachable, CredentialRefused] as const

export const listUserClusters = defineRoute({
  id: 'clusters.listUserClusters',
  method: 'GET',
  path: '/user/clusters',
  summary: 'List your clusters',
  description: 'Those of your own account; with `all=true` also those of every organization in which you may see them. Always the whole list.',
  tag: 'Identity - Users & Settings',
  access: signedIn,
  scope: read('cluster'),
  query: UserClustersQuery,
  ok: json(200, t.array(ClusterInfo), [listedCluster]),
  failures: [],
})

export const listOwnerClusters = defineRoute({
  id: 'clusters.listOwnerClusters',
  method: 'GET',
  path: '/clustersv2/{owner}',
  summary: 'List the clusters of an account',
  description: 'The whole list, by name, unless `limit` is given: then `page` (from 1) of that many. `provider` keeps those of one hosting provider.',
  tag,
  access: requires('can_list_clusters', ownerInPath),
  scope: read('cluster'),
  params: OwnerPath,
  query: ClusterListQuery,
  ok: json(200, t.array(ClusterInfo), [listedCluster]),
  failures: [],
})

export const clusterExists = defineRoute({
  id: 'clusters.clusterExists',
  method: 'GET',
  path: '/clustersv2/{owner}/{cluster}/exist',
  summary: 'Tell whether an account has a cluster of that name',
  tag,
  access: requires('can_list_clusters', ownerInPath),
  scope: read('cluster'),
  params: ClusterPath,
  ok: json(200, ClusterExists, { exist: true }),
  failures: [],
})

export const checkCluster = defineRoute({
  id: 'clusters.checkCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/check',
  summary: 'Look at a cluster without importing it',
  description: 'Connects with the access config and tells what is there. Phase NotImported and id 0 unless the account has the cluster already.',
  tag,
  access: requires('can_import_clusters', ownerInPath),
  scope: write('cluster'),
  params: OwnerPath,
  body: body(CheckOptions, { basicInfo: importExample.basicInfo, provider: importExample.provider }),
  ok: json(200, ClusterInfoModel, { ...singleCluster, id: 0 }),
  failures: [...identifyFailures],
  statusOf: accessConfigFaults,
})

export const validateImport = defineRoute({
  id: 'clusters.validateImport',
  method: 'POST',
  path: '/clustersv2/{owner}/validate',
  summary: 'Tell whether a cluster could be imported as described',
  tag,
  access: requires('can_import_clusters', ownerInPath),
  scope: write('cluster'),
  params: OwnerPath,
  query: OperationQuery,
  body: body(ImportOptions, importExample),
  ok: json(200, ValidationResponse, validationExample),
  failures: [...identifyFailures],
  statusOf: accessConfigFaults,
})

export const importCluster = defineRoute({
  id: 'clusters.importCluster',
  method: 'POST',
  path: '/clustersv2/{owner}/import',
  summary: 'Import a cluster by its kubeconfig',
  description:
    '`provider.accessConfig` is the text of a kubeconfig whose user carries a token or a client certificate inline; `exec`, ' +
    'authentication plugins, files, proxies and unverified TLS are refused by name. The credential is stored sealed and never ' +
    'shown again. With `basicInfo.impersonateUsers` every proxied request acts as the calling user (the credential must be ' +
    'allowed to impersonate users, groups and `userextras/moorage-user-id`). `components` is accepted and not acted upon in this release.',
  tag,
  access: requires('can_import_clusters', ownerInPath),
  scope: write('cluster'),
  params: OwnerPath,
  body: body(ImportOptions, importExample),
  ok: json(200, ClusterInfoModel, singleCluster, 'The imported cluster'),
  failures: [...identifyFailures, ClusterNameInvalid, ClusterNameTaken, ClusterAlreadyImported, AccessDenied],
  statusOf: accessConfigFaults,
})
