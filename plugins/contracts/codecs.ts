import * as t from 'io-ts'
import type { ContractClusterId, ContractId } from '../../core/contracts/types.ts'
import { contractEventNames } from '../../core/contracts/types.ts'
import { path, queryOrOwn } from '../kit/access.ts'
import { inOrder, shownProps, wireNames } from '../kit/fields.ts'
import { AdministeredContractEmail, contractFields, datedFields, seconds } from './contract-fields.ts'
import {
  answer,
  Base64Bytes,
  bodyId,
  described,
  freeText,
  Instant,
  Int64,
  listOf,
  naming,
  noted,
  oneOf,
  optional,
  pathId,
  PathName,
  pathName,
  patternText,
  plainValue,
  QueryBoolean,
  queryId,
  request,
  SafeInteger,
} from '../kit/codecs.ts'

/** The account whose contracts a call is about; the caller's own without it. */
const org = described(
  optional(pathName('account')),
  'The login of the user or organization whose contracts are meant; the account of the caller by default.',
)
export const InAccount = request({ org }, 'InAccount')
export const accountInQuery = { type: 'account', name: queryOrOwn('org') } as const
export const contractInPath = { type: 'contract', account: queryOrOwn('org'), id: path('id') } as const

const contractInUrl = described(pathId<ContractId>('contract'), 'The id of the contract.')
export const ContractPath = request({ id: contractInUrl }, 'ContractPath')
export const ContractClusterPath = request(
  {
    id: contractInUrl,
    ccID: described(
      pathId<ContractClusterId>('cluster of a contract'),
      'The id of the binding of the cluster, as lists of clusters of a contract give it.',
    ),
  },
  'ContractClusterPath',
)
/** The UID of a cluster, as the list of its contracts takes it. */
export const ClusterUuidPath = request(
  {
    clusterID: described(
      naming(
        patternText(/^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/, 36, 'a UUID'),
        'cluster',
        'uid',
      ),
      'The UID of the cluster: that of its namespace kube-system.',
    ),
  },
  'ClusterUuidPath',
)
/** Any text: what is wrong with it is part of the answer. */
export const ClusterUidPath = request(
  {
    clusterID: described(
      naming(PathName, 'cluster', 'uid'),
      'The UID of the cluster. A text that is no UID is answered in `error`.',
    ),
  },
  'ClusterUidPath',
)
export const AssociatedQuery = request(
  {
    org,
    onlyOffline: described(optional(QueryBoolean), 'Omits contracts without offline licenses. By default false.'),
  },
  'AssociatedContractsQuery',
)
export const StatusQuery = request(
  {
    org,
    contract: described(
      optional(queryId<ContractId>('contract')),
      'The id of the contract that is asked about; all active offline contracts by default.',
    ),
  },
  'ContractStatusQuery',
)

const texts = t.readonlyArray(t.string)
/** A contract as its owner sees it. */
export const Contract = answer(
  {
    id: described(Int64, 'The id of the contract.'),
    uid: noted(SafeInteger, { description: 'The id of the owner.' }),
    orgOrUser: described(t.string, 'The login of the owner.'),
    ...inOrder(shownProps(contractFields, 'owner'), 'name', 'emails', ...wireNames(datedFields)),
    revoked: described(t.boolean, 'The contract was revoked. That cannot be undone.'),
    terms: noted(SafeInteger, {
      description:
        'The version of the terms that is in force now. The dated terms of the contract are those of this version.',
    }),
    state: noted(oneOf('scheduled', 'active', 'expired', 'revoked'), {
      description: 'Derived from start, end and revoked.',
    }),
    hasDocument: described(t.boolean, 'A document of the contract is stored.'),
  },
  'Contract',
)

export const ContractFeatures = answer(
  {
    contractId: described(SafeInteger, 'The id of the other contract.'),
    product: described(t.string, 'The product of both contracts.'),
    features: described(texts, 'The features that both contracts license for the cluster.'),
  },
  'ContractFeatures',
)
const BoundClusterStatus = answer(
  {
    isImported: described(t.boolean, 'The account has a record of the cluster.'),
    name: described(t.string, 'The name of that record; empty without one.'),
    tags: described(texts, 'The tags of the cluster, which all contracts of the account share.'),
    associatedContractId: described(
      SafeInteger,
      'The id of the contract to which the cluster is bound; 0 if it is not bound.',
    ),
  },
  'ClusterStatus',
)
export const ContractClusterStatus = answer(
  {
    id: noted(SafeInteger, { description: 'The id of the binding (`ccID`); 0 if the cluster is not bound.' }),
    contractId: described(SafeInteger, 'The id of the contract that the status is about; 0 if it is about none.'),
    cluster: described(t.string, 'The UID of the cluster.'),
    displayName: described(t.string, 'The name under which the contract shows the cluster.'),
    clusterStatus: described(BoundClusterStatus, 'What is known of the cluster.'),
    duplicateContractFeatures: described(
      t.readonlyArray(ContractFeatures),
      'Features that other contracts of the same product license for the cluster too.',
    ),
    error: described(t.string, 'What is wrong with the cluster, in one sentence; empty if nothing is.'),
  },
  'ContractClusterStatus',
)
export const ClusterWithAssociatedContracts = answer(
  {
    associatedContractIDs: described(
      t.readonlyArray(SafeInteger),
      'The ids of the active offline contracts to which the cluster is bound, ascending.',
    ),
    cluster: described(t.string, 'The UID of the cluster.'),
    displayName: described(t.string, 'The name under which contracts show the cluster.'),
    tags: described(texts, 'The tags of the cluster.'),
  },
  'ClusterWithAssociatedContracts',
)
export const ContractAudit = answer(
  {
    id: described(SafeInteger, 'The id of the event. Later events have higher ones.'),
    contractID: described(SafeInteger, 'The id of the contract that the event is about.'),
    addedBy: described(t.string, 'The mail address of the user, or the name of the job, that caused the event.'),
    event: described(oneOf(...contractEventNames), 'What happened.'),
    createdUnix: seconds('When it happened'),
    terms: optional(
      noted(SafeInteger, { description: 'Of a change of the terms: the number of the first version that it made.' }),
    ),
    effectiveFrom: optional(
      noted(SafeInteger, {
        description: 'Of a change of the terms: the second since the epoch, UTC, from which on they are in force.',
      }),
    ),
  },
  'ContractAudit',
)

/** Terms of a contract with the time in which they are in force. */
export const ContractTermsVersion = answer(
  {
    number: noted(SafeInteger, { description: 'From 1, in the order in which versions were recorded.' }),
    effectiveFrom: noted(SafeInteger, {
      description: 'Seconds since the epoch, UTC; 0: from the beginning of the contract on.',
    }),
    effectiveTo: optional(
      noted(SafeInteger, {
        description: 'Seconds since the epoch, UTC: just after the last one. Absent: without an end.',
      }),
    ),
    superseded: noted(t.boolean, {
      description: 'A change of the past has replaced the version: it is in force at no time any more.',
    }),
    recordedUnix: seconds('When the version was recorded'),
    recordedBy: described(
      t.string,
      'The mail address of the user who recorded it; empty in contracts of earlier releases.',
    ),
    ...shownProps(datedFields, 'owner'),
  },
  'ContractTermsVersion',
)

const LicenseContract = answer(
  {
    id: described(t.string, 'The id of the contract, in decimal digits.'),
    startTimestamp: described(Instant, 'The first instant at which the contract is in force.'),
    expiryTimestamp: described(Instant, 'The instant just before which the contract ends.'),
  },
  'LicenseContract',
)
export const License = answer(
  {
    contract: described(LicenseContract, 'The contract under which the license was issued.'),
    license: noted(Base64Bytes, { description: 'The certificate in PEM, in base64.' }),
  },
  'License',
)

const shortText = freeText(256)

/** What a program in a cluster asks a license for. */
export const LicenseOpts = request(
  {
    cluster: described(shortText, 'The UID of the cluster: that of its namespace kube-system.'),
    features: described(listOf(freeText(64), 100), 'The features that the license must be for, at most 100.'),
  },
  'LicenseOpts',
)

/** The cluster of a license proxy, and the contracts whose licenses it hands out. */
export const InstallerOptions = request(
  {
    clusterID: described(shortText, 'The UID of the cluster in which the proxy runs.'),
    contractIDs: described(
      listOf(bodyId<ContractId>(), 100),
      'The ids of the contracts whose licenses the proxy hands out, at most 100.',
    ),
  },
  'InstallerOptions',
)
export const ProxyValues = answer(
  { encodedLicenses: noted(t.record(t.string, Base64Bytes), { description: 'By product and contract.' }) },
  'LicenseProxyValues',
)

/** A string is read as a list of one. */
const Recipients: t.Type<readonly string[], readonly string[], unknown> = noted(
  new t.Type<readonly string[], readonly string[], unknown>(
    'a mail address, or a list of them',
    t.readonlyArray(t.string).is,
    (u, c) => (typeof u === 'string' ? listOf(shortText, 200).validate([u], c) : listOf(shortText, 200).validate(u, c)),
    t.identity,
  ),
  {
    type: 'array',
    items: { type: 'string' },
    description: 'Mail addresses. A single address may be given as a string.',
  },
)
const Nullable = <A, O>(codec: t.Type<A, O, unknown>) => t.union([codec, t.null])

export const UpdateUserContractPreferences = request(
  {
    autoAssignCluster: described(
      optional(Nullable(t.boolean)),
      'Whether clusters that the owner imports are bound without a request; by default, and if it is null, ' +
        'it does not change.',
    ),
    usageAlertClient: described(
      optional(Nullable(Recipients)),
      'Mail addresses that are notified when a threshold of the quota is reached, at most 50; an empty ' +
        'list removes all.',
    ),
  },
  'UpdateUserContractPreferences',
)
export const BindContractCluster = request(
  {
    cluster: described(shortText, 'The UID of the cluster: that of its namespace kube-system.'),
    displayName: described(
      optional(shortText),
      'The name under which the contract shows the cluster; by default its UID.',
    ),
    tags: described(
      optional(listOf(shortText, 200)),
      'The tags of the cluster for all contracts of the account; by default they do not change.',
    ),
  },
  'BindContractCluster',
)
export const ClusterContractList = request(
  {
    clusterId: described(shortText, 'The UID of the cluster that is bound.'),
    displayName: described(
      optional(shortText),
      'The name under which the contracts show the cluster; by default its UID.',
    ),
    contractIds: described(
      listOf(bodyId<ContractId>(), 5000),
      'The ids of the contracts to which the cluster is bound.',
    ),
  },
  'ClusterContractList',
)
export const BatchClusterStatusRequest = request(
  { clusters: described(listOf(shortText, 5000), 'The UIDs of the clusters, at most 1,000.') },
  'BatchClusterStatusRequest',
)
export const PatchUserContractClusterName = request(
  { clusterName: described(shortText, 'The new name under which the contract shows the cluster.') },
  'PatchUserContractClusterName',
)
export const PatchUserContractClusterTags = request(
  { tags: described(listOf(shortText, 200), 'The new tags; an empty list removes all.') },
  'PatchUserContractClusterTags',
)

/** Beside the account of a site admin's own, `org` narrows a list to one account. */
export const OfAccount = request(
  {
    org: described(
      optional(pathName('account')),
      'The login of the user or organization to which the list is narrowed; all accounts by default.',
    ),
  },
  'ContractsOfAccount',
)

const decimalSerial = /^[0-9]{1,48}$/
const hexSerial = /^0x[0-9A-Fa-f]{1,40}$/

/** The serial of a license in decimal, or in hexadecimal after `0x`, as openssl prints it. Decodes to decimal. */
const LicenseSerial = noted(
  new t.Type<string, string, unknown>(
    'a serial number in decimal digits, or in hexadecimal after 0x',
    t.string.is,
    (u, c) =>
      typeof u === 'string' && (decimalSerial.test(u) || hexSerial.test(u))
        ? t.success(BigInt(u).toString())
        : t.failure(u, c),
    t.identity,
  ),
  {
    type: 'string',
    maxLength: 48,
    pattern: '^(?:[0-9]{1,48}|0x[0-9A-Fa-f]{1,40})$',
    description: 'The serial of a license: the certificate of its authority is the first then.',
  },
)
export const AuthoritiesQuery = request({ license: optional(plainValue(LicenseSerial)) }, 'AuthoritiesQuery')

export const LicensePath = request(
  {
    id: contractInUrl,
    serial: described(
      naming(patternText(/^[0-9]{1,48}$/, 48, 'a serial number in decimal digits'), 'license', 'serial'),
      'The serial number of the license, in decimal digits.',
    ),
  },
  'ContractLicensePath',
)
export const IssuedLicense = answer(
  {
    serial: described(t.string, 'The serial number of the certificate, in decimal digits.'),
    cluster: noted(t.string, { description: 'The UID of the namespace kube-system.' }),
    kind: described(
      oneOf('offline', 'online'),
      '`offline` lasts to the end of the contract, `online` for 7 days and is renewed.',
    ),
    notBefore: described(Instant, 'The first instant at which the license is valid.'),
    notAfter: described(Instant, 'The last instant at which the license is valid.'),
    issuedAt: described(Instant, 'When the license was issued.'),
    issuedBy: described(t.string, 'The mail address of the user, or the name of the program, that asked for it.'),
    revokedAt: described(optional(Instant), 'When the license was revoked; absent if it was not.'),
  },
  'IssuedLicense',
)

/** The names of the fields are those of the programs that read it. */
export const PlanInfo = answer(
  {
    DisplayName: described(t.string, 'The name of the product for people.'),
    ProductLine: described(t.string, 'The line of products that it belongs to.'),
    TierName: described(t.string, 'The tier of the product within its line.'),
    TwitterHandle: described(t.string, 'The name of the account of the product on a social network; may be empty.'),
    QuickstartLink: described(t.string, 'The address of its introduction; may be empty.'),
    Features: described(t.readonlyArray(t.string), 'The features that contracts for the product can have.'),
    MailingLists: described(t.readonlyArray(t.string), 'The mailing lists of the product.'),
  },
  'PlanInfo',
)

/** A contract as a site admin sees it. */
export const AdministeredContract = answer(
  {
    ...Contract.props,
    emails: described(
      AdministeredContractEmail,
      'The mail addresses of the people whom the contract names, also of the vendor.',
    ),
    Reminder45DaysSentUnix: described(
      SafeInteger,
      'When the reminder 45 days before the end was sent, in seconds since the epoch; 0 if it was not.',
    ),
    Reminder10DaysSentUnix: described(
      SafeInteger,
      'When the reminder 10 days before the end was sent, in seconds since the epoch; 0 if it was not.',
    ),
  },
  'AdministeredContract',
)
