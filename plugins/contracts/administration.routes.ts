import * as t from 'io-ts'
import { ContractOwnerMissing, ContractRevoked, ContractTermsInvalid } from '../../core/contracts/administration.ts'
import {
  DocumentRefused,
  DocumentStoreDown,
  ContractMissing,
  ContractRequestInvalid,
  LicenseMissing,
} from '../../core/contracts/ports.ts'
import { siteAdmin } from '../kit/access.ts'
import { request } from '../kit/codecs.ts'
import { empty, json, list, packed } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  AddContractParams,
  ContractParams,
  documentBodyBytes,
  ExtendContractParams,
  jsonTerms,
} from './terms-codecs.ts'
import {
  AdministeredContract,
  ContractTermsVersion,
  IssuedLicense,
  LicensePath,
  OfAccount,
  PlanInfo,
  ContractAudit,
  ContractPath,
} from './codecs.ts'
import {
  bindClusters,
  getClusterStatus,
  listClusterStatuses,
  listContractClusters,
  listUnboundClusters,
  renameCluster,
  retagCluster,
  termsWords,
  unbindCluster,
} from './contracts.routes.ts'
import {
  administeredExample,
  auditExample,
  contractExample,
  issuedExample,
  planExample,
  termsExample,
} from './contract-wire.ts'

const common = { tag: 'Licensing & Contracts', access: siteAdmin, scopeCategory: 'contract' } as const
const route = routesOf({ ...common, query: OfAccount })
const contractRoute = routesOf({ ...common, params: ContractPath, failures: [ContractMissing] })
const { name, features, start, end } = contractExample
const orForm = { limitBytes: documentBodyBytes, orForm: true, jsonFields: jsonTerms }
const ofUpload = [DocumentRefused, DocumentStoreDown] as const
const formWords =
  'As JSON, with the document in base64, or as multipart/form-data with the file `document`: lists, ' +
  'objects, numbers and booleans are fields of JSON text.'

export const listAllContracts = route({
  id: 'contracts.listAllContracts',
  method: 'GET',
  path: '/contracts',
  summary: 'List the contracts of all accounts, or of one, the newest start first',
  description: 'Contracts in every state are listed.',
  ok: packed(list(AdministeredContract, administeredExample)),
})

export const createContracts = route({
  id: 'contracts.createContracts',
  method: 'POST',
  path: '/contracts',
  summary: 'Create contracts of an account, one for each product',
  description:
    `All of them are created, or none. \`start\` and \`end\` are needed: the contract is in force from ` +
    `\`start\` to just before \`end\`. Each contract gets a copy of \`document\`. ${formWords}`,
  body: body(
    AddContractParams,
    { orgOrUser: 'acme', name, products: ['database'], features, start, end, allowOffline: true },
    orForm,
  ),
  ok: json(201, t.readonlyArray(AdministeredContract), [administeredExample], 'Created'),
  failures: [ContractOwnerMissing, ContractTermsInvalid, ...ofUpload],
})

export const getAnyContract = contractRoute({
  id: 'contracts.getAnyContract',
  method: 'GET',
  path: '/contracts/{id}',
  summary: 'Get a contract of any account',
  description: 'With what only site admins see: the recipients at the vendor, and when reminders were sent.',
  ok: json(200, AdministeredContract, administeredExample),
})

export const updateContract = contractRoute({
  id: 'contracts.updateContract',
  method: 'PUT',
  path: '/contracts/{id}',
  summary: 'Change the terms of a contract',
  description:
    'A field that is absent does not change. The owner of a contract never changes. A change of the terms ' +
    `counts from now on, or from the later instant \`effectiveFrom\`; before, the terms of then stay in ` +
    `force, also for what is billed. With \`reopen\`, \`effectiveFrom\` may be in the past. \`name\`, ` +
    `\`emails\`, \`autoAssignCluster\` and the document change at once. ${formWords}`,
  body: body(ContractParams, { name: 'Databases 2027', autoAssignCluster: true }, orForm),
  ok: json(200, AdministeredContract, administeredExample),
  failures: [ContractTermsInvalid, ...ofUpload],
})

export const deleteContract = contractRoute({
  id: 'contracts.deleteContract',
  method: 'DELETE',
  path: '/contracts/{id}',
  summary: 'Delete a contract that was never in force, or revoke it',
  description:
    'A contract that was in force, or that a cluster or a license refers to, is revoked with its licenses ' +
    'and stays with its history and clusters: figures and reports of the past depend on it. Any other one is deleted.',
  ok: empty(200),
})

export const extendContract = contractRoute({
  id: 'contracts.extendContract',
  method: 'POST',
  path: '/contracts/{id}/extend',
  summary: 'Move the end of a contract to a later instant',
  description:
    'The change counts from now on, or from `effectiveFrom`: a time in which the contract had expired ' +
    'stays without a contract, unless the change is made for the past with `reopen`.',
  body: body(ExtendContractParams, { end }),
  ok: json(200, AdministeredContract, administeredExample),
  failures: [ContractTermsInvalid, ContractRevoked],
})

export const revokeContract = contractRoute({
  id: 'contracts.revokeContract',
  method: 'POST',
  path: '/contracts/{id}/revoke',
  summary: 'Revoke a contract and its licenses',
  description: 'The bound clusters stay bound. A revoked contract cannot be extended or used again.',
  ok: empty(200),
})

export const listAnyLicenses = contractRoute({
  id: 'contracts.listAnyLicenses',
  method: 'GET',
  path: '/contracts/{id}/licenses',
  summary: 'List the licenses that were issued for a contract of any account, the newest first',
  description: 'Also those that were revoked or have expired. The certificates are not shown.',
  ok: list(IssuedLicense, issuedExample),
})

export const revokeLicense = contractRoute({
  id: 'contracts.revokeLicense',
  method: 'POST',
  path: '/contracts/{id}/licenses/{serial}/revoke',
  summary: 'Revoke one license',
  description:
    'It is on the revocation list within a minute. The contract stays in force: the next request for the ' +
    'cluster gets another license, unless the cluster is removed from the contract.',
  params: LicensePath,
  ok: empty(200),
  failures: [LicenseMissing],
})

export const listProducts = route({
  id: 'contracts.listProducts',
  method: 'GET',
  path: '/contracts/available_products',
  summary: 'Get the products that contracts can be made for, by name',
  description:
    'Those of the file that the setting MOORAGE_CONTRACT_PRODUCTS names; empty without it. Contracts for ' +
    'other products can be made too.',
  query: request({}, 'AvailableProductsQuery'),
  ok: json(200, t.record(t.string, PlanInfo), planExample),
})

export const listAnyContractAudit = contractRoute({
  id: 'contracts.listAnyContractAudit',
  method: 'GET',
  path: '/contracts/{id}/audit',
  summary: 'List the history of a contract of any account, the oldest event first',
  description: 'A change of the terms names the first version that it made.',
  ok: packed(list(ContractAudit, auditExample)),
})

export const listAnyContractTerms = contractRoute({
  id: 'contracts.listAnyContractTerms',
  method: 'GET',
  path: '/contracts/{id}/terms',
  summary: 'List the versions of the terms of a contract of any account, by number',
  description: termsWords,
  ok: packed(list(ContractTermsVersion, termsExample)),
})

/** The routes of an owner, for site admins: the contract is named by its id alone. */
const forAdmin = { access: siteAdmin, gate: 'vendor-or-marketplace' } as const
export const listAnyContractClusters = {
  ...listContractClusters,
  ...forAdmin,
  id: 'contracts.listAnyContractClusters',
  path: '/contracts/{id}/clusters',
}
export const bindAnyClusters = {
  ...bindClusters,
  ...forAdmin,
  id: 'contracts.bindAnyClusters',
  path: '/contracts/{id}/clusters',
  failures: [...bindClusters.failures, ContractMissing],
  statusOf: { ContractMissing: 400 },
}
export const listAnyUnboundClusters = {
  ...listUnboundClusters,
  ...forAdmin,
  id: 'contracts.listAnyUnboundClusters',
  path: '/contracts/{id}/clusters/imported/non-associated',
  failures: [ContractRequestInvalid, ContractMissing],
  statusOf: { ContractMissing: 400 },
}
export const getAnyClusterStatus = {
  ...getClusterStatus,
  ...forAdmin,
  failures: [...getClusterStatus.failures, ContractOwnerMissing],
  statusOf: { ContractOwnerMissing: 422, ContractRequestInvalid: 400 },
  id: 'contracts.getAnyClusterStatus',
  path: '/contracts/active/associated-clusters/{clusterID}/status',
}
export const listAnyClusterStatuses = {
  ...listClusterStatuses,
  ...forAdmin,
  failures: [...listClusterStatuses.failures, ContractOwnerMissing],
  statusOf: { ContractOwnerMissing: 422, ContractRequestInvalid: 422 },
  id: 'contracts.listAnyClusterStatuses',
  path: '/contracts/active/associated-clusters/batch-status',
}
const unknownContract = { statusOf: { ...unbindCluster.statusOf, ContractMissing: 403 } }
export const unbindAnyCluster = {
  ...unbindCluster,
  ...forAdmin,
  ...unknownContract,
  failures: [...unbindCluster.failures, ContractMissing],
  id: 'contracts.unbindAnyCluster',
  path: '/contracts/{id}/clusters/{ccID}',
}
export const renameAnyCluster = {
  ...renameCluster,
  ...forAdmin,
  ...unknownContract,
  failures: [...renameCluster.failures, ContractMissing],
  id: 'contracts.renameAnyCluster',
  path: '/contracts/{id}/clusters/{ccID}/name',
}
export const retagAnyCluster = {
  ...retagCluster,
  ...forAdmin,
  ...unknownContract,
  failures: [...retagCluster.failures, ContractMissing],
  id: 'contracts.retagAnyCluster',
  path: '/contracts/{id}/clusters/{ccID}/tags',
}
