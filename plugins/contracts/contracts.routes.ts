import { ContractMissing, ContractRequestInvalid } from '../../core/contracts/ports.ts'
import { requires, requiresWithin } from '../kit/access.ts'
import { json, list } from '../kit/reply.ts'
import { body } from '../kit/route.ts'
import { routesOf } from '../kit/shared-route.ts'
import {
  accountInQuery,
  AssociatedQuery,
  ClusterUuidPath,
  Contract,
  ContractAudit,
  contractInPath,
  ContractPath,
  InAccount,
  UpdateUserContractPreferences,
} from './codecs.ts'
import { auditExample, contractExample } from './contract-wire.ts'

const common = { tag: 'Licensing & Contracts', scopeCategory: 'contract', query: InAccount } as const
const listRoute = routesOf({ ...common, access: requiresWithin('can_view_contracts', accountInQuery) })
const route = routesOf({ ...common, params: ContractPath })
const ownWords = '`org` is an organization; without it, the contracts of your own account are meant. '

export const listContracts = listRoute({
  id: 'contracts.listContracts',
  method: 'GET',
  path: '/user/contracts',
  summary: 'List the contracts of an account, the newest start first',
  description: `${ownWords}Contracts in every state are listed.`,
  ok: list(Contract, contractExample),
})

export const listActiveOfflineContracts = listRoute({
  id: 'contracts.listActiveOfflineContracts',
  method: 'GET',
  path: '/user/contracts/active-offline-contracts',
  summary: 'List the active contracts that allow offline licenses',
  description: ownWords,
  ok: list(Contract, contractExample),
})

export const listContractsOfCluster = listRoute({
  id: 'contracts.listContractsOfCluster',
  method: 'GET',
  path: '/user/contracts/active/associated-with/clusters/{clusterID}',
  summary: 'List the active contracts to which a cluster is bound',
  description: `${ownWords}\`clusterID\` is the UID of the cluster. \`onlyOffline\` omits contracts without offline licenses.`,
  params: ClusterUuidPath,
  query: AssociatedQuery,
  badPathAs: 400,
  ok: list(Contract, contractExample),
})

export const listContractsWithoutCluster = listRoute({
  id: 'contracts.listContractsWithoutCluster',
  method: 'GET',
  path: '/user/contracts/active/not-associated-with/clusters/{clusterID}',
  summary: 'List the active contracts to which a cluster is not bound',
  description: `${ownWords}\`clusterID\` is the UID of the cluster.`,
  params: ClusterUuidPath,
  badPathAs: 400,
  ok: list(Contract, contractExample),
})

export const getContract = route({
  id: 'contracts.getContract',
  method: 'GET',
  path: '/user/contracts/{id}',
  summary: 'Get a contract',
  access: requires('can_view', contractInPath),
  ok: json(200, Contract, contractExample),
  failures: [ContractMissing],
})

export const updatePreferences = route({
  id: 'contracts.updatePreferences',
  method: 'PUT',
  path: '/user/contracts/{id}/preferences',
  summary: 'Change the preferences of a contract',
  description: 'A field that is absent or null does not change. An empty list removes all recipients. A revoked contract can be changed too.',
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
  ok: list(ContractAudit, auditExample),
})
