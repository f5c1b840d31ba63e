import * as t from 'io-ts'
import { ClusterBoundAlready, ContractClusterMissing, ContractMissing, ContractNotUsable, ContractRequestInvalid } from '../../core/contracts/ports.ts'
import { ClusterInfo } from '../clusters/codecs.ts'
import { requires, requiresWithin } from '../kit/access.ts'
import { listOf } from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body } from '../kit/route.ts'
import { routesOf } from '../kit/shared-route.ts'
import {
  accountInQuery,
  BatchClusterStatusRequest,
  BindContractCluster,
  ClusterContractList,
  ClusterUidPath,
  ClusterWithAssociatedContracts,
  ContractClusterPath,
  ContractClusterStatus,
  contractInPath,
  ContractPath,
  InAccount,
  PatchUserContractClusterName,
  PatchUserContractClusterTags,
  StatusQuery,
} from './codecs.ts'
import { bindExample, licensedExample, statusExample } from './contract-wire.ts'

const common = { tag: 'Licensing & Contracts', scopeCategory: 'contract', query: InAccount } as const
const viewRoute = routesOf({ ...common, access: requiresWithin('can_view_contracts', accountInQuery) })
const route = routesOf({ ...common, failures: [ContractRequestInvalid] })
const clusterRoute = routesOf({
  ...common,
  params: ContractClusterPath,
  failures: [ContractClusterMissing, ContractRequestInvalid],
  // The specification lists no 404 for these.
  statusOf: { ContractClusterMissing: 403, ContractRequestInvalid: 422 },
})
const uidWords = 'A cluster is named by the UID of its namespace kube-system. '

export const assignCluster = route({
  id: 'contracts.assignCluster',
  method: 'POST',
  path: '/user/contracts/assign-cluster',
  summary: 'Bind a cluster to several contracts',
  description: `${uidWords}All contracts must be active contracts of the account, otherwise nothing is changed. A contract that has the cluster already stays as it is.`,
  access: requiresWithin('can_add_contract_clusters', accountInQuery),
  body: body(ClusterContractList, { clusterId: bindExample.cluster, displayName: 'Production', contractIds: [42] }),
  ok: empty(200),
  failures: [ContractNotUsable],
})

export const listLicensedClusters = viewRoute({
  id: 'contracts.listLicensedClusters',
  method: 'GET',
  path: '/user/contracts/active/associated-clusters',
  summary: 'List the clusters of the active offline contracts, by UID',
  ok: list(ClusterWithAssociatedContracts, licensedExample),
})

export const getClusterStatus = viewRoute({
  id: 'contracts.getClusterStatus',
  method: 'GET',
  path: '/user/contracts/active/associated-clusters/{clusterID}/status',
  summary: 'Get the status of a cluster with respect to the contracts of an account',
  description: `${uidWords}\`contract\` asks about one contract. What is wrong is in \`error\`.`,
  params: ClusterUidPath,
  query: StatusQuery,
  ok: json(200, ContractClusterStatus, statusExample),
  failures: [ContractRequestInvalid],
})

export const listClusterStatuses = viewRoute({
  id: 'contracts.listClusterStatuses',
  method: 'POST',
  path: '/user/contracts/active/associated-clusters/batch-status',
  summary: 'Get the status of up to 1,000 clusters, in the order of the request',
  description: `${uidWords}What is wrong with one of them is in its \`error\`.`,
  query: StatusQuery,
  body: body(BatchClusterStatusRequest, { clusters: [bindExample.cluster] }),
  ok: json(200, t.readonlyArray(ContractClusterStatus), [statusExample]),
  failures: [ContractRequestInvalid],
  statusOf: { ContractRequestInvalid: 422 },
})

export const listContractClusters = route({
  id: 'contracts.listContractClusters',
  method: 'GET',
  path: '/user/contracts/{id}/clusters',
  summary: 'List the clusters of a contract, by name',
  params: ContractPath,
  access: requires('can_view', contractInPath),
  ok: list(ContractClusterStatus, statusExample),
  failures: [ContractMissing],
})

export const bindClusters = route({
  id: 'contracts.bindClusters',
  method: 'POST',
  path: '/user/contracts/{id}/clusters',
  summary: 'Bind clusters to a contract',
  description: `${uidWords}All of them are bound, or none. The response lists the clusters of the contract, at most 1,000.`,
  params: ContractPath,
  access: requiresWithin('can_add_contract_clusters', accountInQuery),
  body: body(listOf(BindContractCluster, 5000), [bindExample]),
  ok: json(201, t.readonlyArray(ContractClusterStatus), [statusExample], 'Created'),
  failures: [ClusterBoundAlready],
})

export const listUnboundClusters = route({
  id: 'contracts.listUnboundClusters',
  method: 'GET',
  path: '/user/contracts/{id}/clusters/imported/non-associated',
  summary: 'List the imported clusters of the account that are not bound to a contract, by name',
  params: ContractPath,
  access: requiresWithin('can_view_contracts', accountInQuery),
  ok: json(200, t.readonlyArray(ClusterInfo), []),
})

export const unbindCluster = clusterRoute({
  id: 'contracts.unbindCluster',
  method: 'DELETE',
  path: '/user/contracts/{id}/clusters/{ccID}',
  summary: 'Remove a cluster from a contract',
  description: 'Usage until now stays attributed to the contract. Licenses that were issued stay valid until they expire or are revoked.',
  access: requiresWithin('can_remove_cluster', contractInPath),
  ok: empty(200),
})

export const renameCluster = clusterRoute({
  id: 'contracts.renameCluster',
  method: 'PATCH',
  path: '/user/contracts/{id}/clusters/{ccID}/name',
  summary: 'Change the name under which a contract shows a cluster',
  access: requiresWithin('can_add_cluster', contractInPath),
  body: body(PatchUserContractClusterName, { clusterName: 'Production' }),
  ok: empty(200),
})

export const retagCluster = clusterRoute({
  id: 'contracts.retagCluster',
  method: 'PATCH',
  path: '/user/contracts/{id}/clusters/{ccID}/tags',
  summary: 'Replace the tags of a cluster, for all contracts of the account that license it',
  access: requiresWithin('can_add_cluster', contractInPath),
  body: body(PatchUserContractClusterTags, { tags: ['eu', 'production'] }),
  ok: empty(200),
})
