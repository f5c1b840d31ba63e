import * as t from 'io-ts'
import {
  ClusterBoundAlready,
  ContractClusterMissing,
  ContractMissing,
  ContractNotUsable,
  ContractRequestInvalid,
} from '../../core/contracts/ports.ts'
import { ClusterInfo } from '../clusters/cluster-info-wire.ts'
import { requires, requiresWithin } from '../kit/access.ts'
import { listOf } from '../kit/codecs.ts'
import { empty, json, list, packed } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  accountInQuery,
  AssociatedQuery,
  BatchClusterStatusRequest,
  BindContractCluster,
  ClusterContractList,
  ClusterUidPath,
  ClusterUuidPath,
  ClusterWithAssociatedContracts,
  Contract,
  ContractAudit,
  ContractClusterPath,
  ContractClusterStatus,
  contractInPath,
  ContractPath,
  ContractTermsVersion,
  InAccount,
  PatchUserContractClusterName,
  PatchUserContractClusterTags,
  StatusQuery,
  UpdateUserContractPreferences,
} from './codecs.ts'
import {
  auditExample,
  bindExample,
  contractExample,
  licensedExample,
  statusExample,
  termsExample,
} from './contract-wire.ts'

/** The specification has these on vendor-hosted deployments only; site admins administer contracts elsewhere too. */
const common = {
  tag: 'Licensing & Contracts',
  scopeCategory: 'contract',
  query: InAccount,
  gate: 'vendor-hosted',
} as const
const viewRoute = routesOf({ ...common, access: requiresWithin('can_view_contracts', accountInQuery) })
const route = routesOf({ ...common, params: ContractPath })
const ownWords = '`org` is an organization; without it, the contracts of your own account are meant. '

export const listContracts = viewRoute({
  id: 'contracts.listContracts',
  method: 'GET',
  path: '/user/contracts',
  summary: 'List the contracts of an account, the newest start first',
  description: `${ownWords}Contracts in every state are listed.`,
  ok: packed(list(Contract, contractExample)),
})

export const listActiveOfflineContracts = viewRoute({
  id: 'contracts.listActiveOfflineContracts',
  method: 'GET',
  path: '/user/contracts/active-offline-contracts',
  summary: 'List the active contracts that allow offline licenses',
  description: ownWords,
  ok: packed(list(Contract, contractExample)),
})

export const listContractsOfCluster = viewRoute({
  id: 'contracts.listContractsOfCluster',
  method: 'GET',
  path: '/user/contracts/active/associated-with/clusters/{clusterID}',
  summary: 'List the active contracts to which a cluster is bound',
  description:
    `${ownWords}\`clusterID\` is the UID of the cluster. \`onlyOffline\` omits contracts without offline ` +
    'licenses.',
  params: ClusterUuidPath,
  query: AssociatedQuery,
  badPathAs: 400,
  ok: packed(list(Contract, contractExample)),
})

export const listContractsWithoutCluster = viewRoute({
  id: 'contracts.listContractsWithoutCluster',
  method: 'GET',
  path: '/user/contracts/active/not-associated-with/clusters/{clusterID}',
  summary: 'List the active contracts to which a cluster is not bound',
  description: `${ownWords}\`clusterID\` is the UID of the cluster.`,
  params: ClusterUuidPath,
  badPathAs: 400,
  ok: packed(list(Contract, contractExample)),
})

export const getContract = route({
  id: 'contracts.getContract',
  method: 'GET',
  path: '/user/contracts/{id}',
  summary: 'Get a contract',
  description:
    'A contract that does not exist, or belongs to another account, is 404. The terms are those that are in force now.',
  access: requires('can_view', contractInPath),
  ok: json(200, Contract, contractExample),
  failures: [ContractMissing],
})

export const updatePreferences = route({
  id: 'contracts.updatePreferences',
  method: 'PUT',
  path: '/user/contracts/{id}/preferences',
  summary: 'Change the preferences of a contract',
  description:
    'A field that is absent or null does not change. An empty list removes all recipients. A revoked ' +
    'contract can be changed too.',
  access: requiresWithin('can_update_preferences', contractInPath),
  body: body(UpdateUserContractPreferences, { autoAssignCluster: true, usageAlertClient: ['ops@example.com'] }),
  ok: json(200, Contract, contractExample),
  failures: [ContractMissing, ContractRequestInvalid],
  statusOf: { ContractMissing: 403 },
})

export const listContractAudit = route({
  id: 'contracts.listContractAudit',
  method: 'GET',
  path: '/user/contracts/{id}/audit',
  summary: 'List the history of a contract, the oldest event first',
  description: 'A contract that does not exist, or belongs to another account, is 403.',
  access: requiresWithin('can_view', contractInPath),
  ok: packed(list(ContractAudit, auditExample)),
})

export const termsWords =
  'A version is in force from `effectiveFrom` to just before `effectiveTo`. Figures of usage say by which ' +
  'version they are billed. A version that a change of the past has replaced is listed too.'

export const listContractTerms = route({
  id: 'contracts.listContractTerms',
  method: 'GET',
  path: '/user/contracts/{id}/terms',
  summary: 'List the versions of the terms of a contract, by number',
  description: `${termsWords} A contract that does not exist, or belongs to another account, is 403.`,
  access: requiresWithin('can_view', contractInPath),
  ok: packed(list(ContractTermsVersion, termsExample)),
})

const bindingRoute = routesOf({ ...common, failures: [ContractRequestInvalid] })
const clusterRoute = routesOf({
  ...common,
  params: ContractClusterPath,
  failures: [ContractClusterMissing],
  // The specification lists no 404 for these.
  statusOf: { ContractClusterMissing: 403, ContractRequestInvalid: 422 },
})
const uidWords = 'A cluster is named by the UID of its namespace kube-system. '

export const assignCluster = bindingRoute({
  id: 'contracts.assignCluster',
  method: 'POST',
  path: '/user/contracts/assign-cluster',
  summary: 'Bind a cluster to several contracts',
  description:
    `${uidWords}All contracts must be active contracts of the account, otherwise nothing is changed. A ` +
    'contract that has the cluster already stays as it is.',
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
  description:
    'Each cluster is listed once, with the ids of all active contracts with offline licenses to which it is bound.',
  ok: packed(list(ClusterWithAssociatedContracts, licensedExample)),
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

export const listContractClusters = routesOf(common)({
  id: 'contracts.listContractClusters',
  method: 'GET',
  path: '/user/contracts/{id}/clusters',
  summary: 'List the clusters of a contract, by name',
  description: 'With what is known of each cluster, and with the features that other contracts license for it too.',
  params: ContractPath,
  access: requires('can_view', contractInPath),
  ok: packed(list(ContractClusterStatus, statusExample)),
  failures: [ContractMissing],
})

export const bindClusters = bindingRoute({
  id: 'contracts.bindClusters',
  method: 'POST',
  path: '/user/contracts/{id}/clusters',
  summary: 'Bind clusters to a contract',
  description:
    `${uidWords}All of them are bound, or none. The response lists the clusters of the contract, at most ` + '1,000.',
  params: ContractPath,
  access: requiresWithin('can_add_contract_clusters', accountInQuery),
  body: body(listOf(BindContractCluster, 5000), [bindExample]),
  ok: json(201, t.readonlyArray(ContractClusterStatus), [statusExample], 'Created'),
  failures: [ClusterBoundAlready],
})

export const listUnboundClusters = bindingRoute({
  id: 'contracts.listUnboundClusters',
  method: 'GET',
  path: '/user/contracts/{id}/clusters/imported/non-associated',
  summary: 'List the imported clusters of the account that are not bound to a contract, by name',
  description: 'The clusters of which the account has a record and that this contract does not have.',
  params: ContractPath,
  access: requiresWithin('can_view_contracts', accountInQuery),
  ok: packed(json(200, t.readonlyArray(ClusterInfo), [])),
})

export const unbindCluster = clusterRoute({
  id: 'contracts.unbindCluster',
  method: 'DELETE',
  path: '/user/contracts/{id}/clusters/{ccID}',
  summary: 'Remove a cluster from a contract',
  description:
    'Usage until now stays attributed to the contract. Licenses that were issued stay valid until they ' +
    'expire or are revoked.',
  access: requiresWithin('can_remove_cluster', contractInPath),
  ok: empty(200),
})

export const renameCluster = clusterRoute({
  id: 'contracts.renameCluster',
  method: 'PATCH',
  path: '/user/contracts/{id}/clusters/{ccID}/name',
  summary: 'Change the name under which a contract shows a cluster',
  description: 'The record of the cluster and other contracts keep their names.',
  access: requiresWithin('can_add_cluster', contractInPath),
  body: body(PatchUserContractClusterName, { clusterName: 'Production' }),
  ok: empty(200),
  failures: [ContractRequestInvalid],
})

export const retagCluster = clusterRoute({
  id: 'contracts.retagCluster',
  method: 'PATCH',
  path: '/user/contracts/{id}/clusters/{ccID}/tags',
  summary: 'Replace the tags of a cluster, for all contracts of the account that license it',
  description: 'The tags before are removed. An empty list removes all.',
  access: requiresWithin('can_add_cluster', contractInPath),
  body: body(PatchUserContractClusterTags, { tags: ['eu', 'production'] }),
  ok: empty(200),
  failures: [ContractRequestInvalid],
})
