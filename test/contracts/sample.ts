import { plantContract } from '../support/plant-contract.ts'
import { plantLicenseAuthority } from '../support/plant-license-authority.ts'
import { sample as clusters } from '../clusters/sample.ts'
import { sample as identity } from '../identity/sample.ts'
import { accountIds } from '../organizations/sample.ts'
import { defineSample, isOfMarketplace, must, refusedFor } from '../support/part-sample.ts'

const contractFor = (orgOrUser: string): object => ({
  orgOrUser,
  name: 'second',
  products: ['database'],
  features: ['db-basic'],
  start: 1,
  end: 2,
})

/** Bodies that name nothing of a tenant. */
const examples = [
  'contracts.updatePreferences',
  'contracts.renameCluster',
  'contracts.retagCluster',
  'contracts.renameAnyCluster',
  'contracts.retagAnyCluster',
  'contracts.updateContract',
  'contracts.extendContract',
  'contracts.uploadDocument',
]

/** A contract of the organization with a bound cluster, a document and licenses. */
export const sample = defineSample({
  part: 'contracts',
  isServed: (service) => !isOfMarketplace(service),
  prepare: async (service) => void (await plantLicenseAuthority(service)),
  make: async (tenant) => {
    const { service, org, text } = tenant
    const { owner } = await tenant.of(identity)
    const { kubernetes } = await tenant.of(clusters)
    const contract = await plantContract(service, org, kubernetes.uid, text)
    const { contractId, boundClusterId } = contract
    const path = `/api/v1/user/contracts/${contractId}/clusters/${boundClusterId}/issue-license?org=${org}`
    await must('license', service.send('POST', path, { token: owner.token }))
    return contract
  },
  names: ({ contractId, boundClusterId, serial, documentLink }) => {
    const { pathname, searchParams } = new URL(documentLink, 'https://platform.example')
    return {
      contract: { id: contractId },
      'cluster of a contract': { id: boundClusterId },
      license: { serial },
      document: { ...Object.fromEntries(searchParams), ref: pathname.split('/').at(-1) ?? '' },
    }
  },
  sendsExample: (routeId) => examples.includes(routeId),
  bodies: {
    'contracts.assignCluster': (mine, theirs) => ({
      own: { clusterId: mine.key('cluster', 'uid'), contractIds: [mine.id('contract')] },
      clusterId: { clusterId: theirs.key('cluster', 'uid'), contractIds: [mine.id('contract')] },
      contractIds: { clusterId: mine.key('cluster', 'uid'), contractIds: [theirs.id('contract')] },
      both: { clusterId: mine.key('cluster', 'uid'), contractIds: [mine.id('contract'), theirs.id('contract')] },
    }),
    'contracts.bindClusters': (_, theirs) => ({
      own: [{ cluster: '1f0c9a52-4f5e-4b51-9f0e-7a3f3c2f8e11' }],
      cluster: [{ cluster: theirs.key('cluster', 'uid') }],
    }),
    'contracts.bindAnyClusters': (_, theirs) => ({
      own: [{ cluster: '2f0c9a52-4f5e-4b51-9f0e-7a3f3c2f8e11' }],
      cluster: [{ cluster: theirs.key('cluster', 'uid') }],
    }),
    'contracts.listClusterStatuses': (mine, theirs) => ({
      own: { clusters: [mine.key('cluster', 'uid')] },
      clusters: { clusters: [theirs.key('cluster', 'uid')] },
    }),
    'contracts.listAnyClusterStatuses': (mine, theirs) => ({
      own: { clusters: [mine.key('cluster', 'uid')] },
      clusters: { clusters: [theirs.key('cluster', 'uid')] },
    }),
    'contracts.issueForMachine': (mine, theirs) => ({
      own: { cluster: mine.key('cluster', 'uid'), features: ['db-basic'] },
      cluster: { cluster: theirs.key('cluster', 'uid'), features: ['db-basic'] },
    }),
    'contracts.makeProxyValues': (mine, theirs) => ({
      own: { clusterID: mine.key('cluster', 'uid'), contractIDs: [mine.id('contract')] },
      clusterID: { clusterID: theirs.key('cluster', 'uid'), contractIDs: [mine.id('contract')] },
      contractIDs: { clusterID: mine.key('cluster', 'uid'), contractIDs: [theirs.id('contract')] },
      both: { clusterID: mine.key('cluster', 'uid'), contractIDs: [mine.id('contract'), theirs.id('contract')] },
    }),
    'contracts.createContracts': (mine, theirs) => ({ own: contractFor(mine.org), orgOrUser: contractFor(theirs.org) }),
  },
  notSwapped: {
    'contracts.openDocument':
      'a signed link is a credential of its own; test/contracts/documents.test.ts changes each part of one',
  },
  tables: ({ contractId }, tenant) => {
    const [accounts, contracts] = [accountIds(tenant), [contractId]]
    return {
      contracts: { owner_id: accounts },
      contract_terms: { contract_id: contracts },
      contract_events: { contract_id: contracts },
      contract_clusters: { owner_id: accounts },
      contract_cluster_tags: { owner_id: accounts },
      contract_cluster_intervals: { contract_id: contracts },
      licenses: { owner_id: accounts },
    }
  },
  sharedTables: {
    license_authorities: 'the authorities of the vendor',
    contract_document_removals: 'references of documents that are to be removed',
  },
  harmless: {
    'contracts.listContractsOfCluster [path clusterID]': {
      why: 'the own contracts for a UID, none or those to which the caller has bound it',
      says: /^\[(\]$|\{"id":1,.*"orgOrUser":"north")/,
    },
    'contracts.listContractsWithoutCluster [path clusterID]': {
      why: 'the own contracts for a UID, none or those to which the caller has bound it',
      says: /^\[(\]$|\{"id":1,.*"orgOrUser":"north")/,
    },
    'contracts.getClusterStatus [path clusterID]': {
      why: 'a cluster that the account does not have',
      says: /"isImported":false,"name":"",/,
    },
    'contracts.getClusterStatus [path clusterID, query contract]': {
      why: 'a cluster that the account does not have',
      says: /"isImported":false,"name":"",/,
    },
    'contracts.getClusterStatus [query contract]': {
      why: 'the answer is that the account has no such contract',
      says: /"error":"[^"]/,
    },
    'contracts.listClusterStatuses [query contract]': {
      why: 'the answer is that the account has no such contract',
      says: /"error":"[^"]/,
    },
    'contracts.listClusterStatuses [body clusters]': {
      why: 'a cluster that the account does not have',
      says: /"isImported":false,"name":"",/,
    },
    'contracts.listClusterStatuses [query contract, body clusters]': {
      why: 'a cluster that the account does not have',
      says: /"isImported":false,"name":"",/,
    },
    'contracts.assignCluster [body clusterId]': {
      why: 'a UID is no secret: a license of the own contract for it opens nothing of the other tenant',
      says: /^$/,
    },
    'contracts.makeProxyValues [body clusterID]': {
      why: 'a UID is no secret: a license of the own contract for it opens nothing of the other tenant',
      says: /^\{"encodedLicenses":\{"database-1":"[^"]+"\}\}$/,
    },
    'contracts.issueForMachine [body cluster]': {
      why: 'a UID is no secret: a license of the own contract for it opens nothing of the other tenant',
      says: /^\{"contract":\{"id":"1",/,
    },
  },
  refusedToOwner: {
    ...refusedFor('for site admins', [
      'contracts.listAllContracts',
      'contracts.createContracts',
      'contracts.getAnyContract',
      'contracts.updateContract',
      'contracts.deleteContract',
      'contracts.extendContract',
      'contracts.revokeContract',
      'contracts.listAnyContractAudit',
      'contracts.listAnyContractTerms',
      'contracts.listAnyContractClusters',
      'contracts.bindAnyClusters',
      'contracts.listAnyUnboundClusters',
      'contracts.getAnyClusterStatus',
      'contracts.listAnyClusterStatuses',
      'contracts.unbindAnyCluster',
      'contracts.renameAnyCluster',
      'contracts.retagAnyCluster',
      'contracts.linkAnyDocument',
      'contracts.uploadDocument',
      'contracts.removeDocument',
      'contracts.issueAnyLicense',
      'contracts.listAnyLicenses',
      'contracts.revokeLicense',
      'contracts.listProducts',
    ]),
  },
})
