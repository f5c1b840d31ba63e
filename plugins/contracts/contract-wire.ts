import type * as t from 'io-ts'
import type { ContractClusterStatus as Status } from '../../core/contracts/cluster-status.ts'
import { stateOf } from '../../core/contracts/contract-rules.ts'
import type { IssuedLicense } from '../../core/contracts/licenses.ts'
import type { LicensedCluster } from '../../core/contracts/ports.ts'
import type { Products } from '../../core/contracts/contract-rules.ts'
import type {
  Contract as StoredContract,
  ContractEvent,
  License as StoredLicense,
  TermsVersion,
} from '../../core/contracts/types.ts'
import { unixSeconds } from '../../core/kernel/clock.ts'
import { exampleOf, shownOf } from '../kit/fields.ts'
import { administeredEmails, administeredEmailsExample, contractFields, datedFields } from './contract-fields.ts'
import type {
  AdministeredContract,
  IssuedLicense as IssuedLicenseWire,
  PlanInfo,
  ClusterWithAssociatedContracts,
  Contract,
  ContractAudit,
  ContractClusterStatus,
  ContractTermsVersion,
  License,
  ProxyValues,
} from './codecs.ts'

/** Returns a contract as its owner sees it: without what belongs to the vendor. */
export const toContract = (contract: StoredContract, now: Date): t.TypeOf<typeof Contract> => ({
  id: contract.id,
  uid: contract.ownerId,
  orgOrUser: contract.ownerName,
  ...shownOf(contractFields, contract, 'owner'),
  revoked: contract.revokedAt !== undefined,
  terms: contract.termsNumber,
  state: stateOf(contract, now),
  hasDocument: contract.document !== undefined,
})

export const toClusterStatus = (status: Status): t.TypeOf<typeof ContractClusterStatus> => ({
  id: status.binding?.id ?? 0,
  contractId: status.contractId ?? status.binding?.contractId ?? 0,
  cluster: status.clusterUid,
  displayName: status.binding?.displayName ?? status.imported?.displayName ?? '',
  clusterStatus: {
    isImported: status.imported !== undefined,
    name: status.imported?.name ?? '',
    tags: status.binding?.tags ?? [],
    associatedContractId: status.associatedContractId ?? 0,
  },
  duplicateContractFeatures: status.duplicates.map(({ contract, features }) => ({
    contractId: contract.id,
    product: contract.product,
    features,
  })),
  error: status.error,
})

export const toLicensedCluster = ({
  clusterUid,
  contractIds,
  displayName,
  tags,
}: LicensedCluster): t.TypeOf<typeof ClusterWithAssociatedContracts> => ({
  associatedContractIDs: contractIds,
  cluster: clusterUid,
  displayName,
  tags,
})

export const toContractAudit = ({
  id,
  contractId,
  addedBy,
  event,
  createdAt,
  terms,
}: ContractEvent): t.TypeOf<typeof ContractAudit> => ({
  id,
  contractID: contractId,
  addedBy,
  event,
  createdUnix: unixSeconds(createdAt),
  terms: terms?.number,
  effectiveFrom: terms === undefined ? undefined : unixSeconds(terms.from),
})

/** Returns a version of the terms of a contract. */
export const toTermsVersion = (version: TermsVersion): t.TypeOf<typeof ContractTermsVersion> => ({
  number: version.number,
  effectiveFrom: unixSeconds(version.from),
  effectiveTo: version.to === undefined ? undefined : unixSeconds(version.to),
  superseded: version.supersededAt !== undefined,
  recordedUnix: unixSeconds(version.recordedAt),
  recordedBy: version.recordedBy,
  ...shownOf(datedFields, version, 'owner'),
})

const { restrictions, ...decided } = exampleOf(contractFields, 'owner')
export const contractExample = {
  id: 42,
  uid: 7,
  orgOrUser: 'acme',
  ...decided,
  revoked: false,
  restrictions,
  terms: 1,
  state: 'active',
  hasDocument: true,
}
export const termsExample = {
  number: 2,
  effectiveFrom: 1782864000,
  superseded: false,
  recordedUnix: 1782864000,
  recordedBy: 'ann@example.com',
  ...exampleOf(datedFields, 'owner'),
}
const clusterUid = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'
export const statusExample = {
  id: 3,
  contractId: 42,
  cluster: clusterUid,
  displayName: 'Production',
  clusterStatus: { isImported: true, name: 'prod', tags: ['eu'], associatedContractId: 42 },
  duplicateContractFeatures: [],
  error: '',
}
export const licensedExample = {
  associatedContractIDs: [42],
  cluster: clusterUid,
  displayName: 'Production',
  tags: ['eu'],
}
export const auditExample = {
  id: 9,
  contractID: 42,
  addedBy: 'ann@example.com',
  event: 'cluster.added',
  createdUnix: 1767312000,
}
export const bindExample = { cluster: clusterUid, displayName: 'Production', tags: ['eu'] }

/** Returns a contract as a site admin sees it. */
export const toAdministeredContract = (contract: StoredContract, now: Date): t.TypeOf<typeof AdministeredContract> => ({
  ...toContract(contract, now),
  emails: administeredEmails(contract.emails),
  Reminder45DaysSentUnix: unixSeconds(contract.remindedAt45Days),
  Reminder10DaysSentUnix: unixSeconds(contract.remindedAt10Days),
})

export const administeredExample = {
  ...contractExample,
  emails: administeredEmailsExample,
  Reminder45DaysSentUnix: 0,
  Reminder10DaysSentUnix: 0,
}

export const toLicense = ({ contract, license }: IssuedLicense): t.TypeOf<typeof License> => ({
  contract: { id: String(contract.id), startTimestamp: contract.startsAt, expiryTimestamp: contract.endsAt },
  license: new TextEncoder().encode(license.certificatePem),
})

export const toProxyValues = (issued: readonly IssuedLicense[]): t.TypeOf<typeof ProxyValues> => ({
  encodedLicenses: Object.fromEntries(
    issued.map(({ contract, license }) => [
      `${contract.product}-${contract.id}`,
      new TextEncoder().encode(license.certificatePem),
    ]),
  ),
})

export const toIssuedLicense = ({
  serial,
  clusterUid,
  kind,
  notBefore,
  notAfter,
  issuedAt,
  issuedBy,
  revokedAt,
}: StoredLicense): t.TypeOf<typeof IssuedLicenseWire> => ({
  serial,
  cluster: clusterUid,
  kind,
  notBefore,
  notAfter,
  issuedAt,
  issuedBy,
  revokedAt,
})
export const issuedExample = {
  serial: '86411392105339427041620917532861532017',
  cluster: clusterUid,
  kind: 'offline',
  notBefore: '2026-01-01T00:00:00.000Z',
  notAfter: '2027-01-01T00:00:00.000Z',
  issuedAt: '2026-01-01T00:05:00.000Z',
  issuedBy: 'ann@example.com',
}

export const toPlans = (products: Products): Readonly<Record<string, t.TypeOf<typeof PlanInfo>>> =>
  Object.fromEntries(
    Object.entries(products).map(([name, info]) => [
      name,
      {
        DisplayName: info.displayName,
        ProductLine: info.productLine,
        TierName: info.tierName,
        TwitterHandle: info.twitterHandle,
        QuickstartLink: info.quickstartLink,
        Features: info.features,
        MailingLists: info.mailingLists,
      },
    ]),
  )
export const planExample = {
  database: {
    DisplayName: 'Database',
    ProductLine: 'database',
    TierName: 'enterprise',
    TwitterHandle: '',
    QuickstartLink: '',
    Features: ['database-enterprise'],
    MailingLists: [],
  },
}

export const licenseExample = {
  contract: { id: '42', startTimestamp: '2026-01-01T00:00:00.000Z', expiryTimestamp: '2027-01-01T00:00:00.000Z' },
  license: 'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==',
}
