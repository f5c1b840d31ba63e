import * as t from 'io-ts'
import type { ContractClusterId, ContractId } from '../../core/contracts/types.ts'
import { contractEventNames, quotaMetrics } from '../../core/contracts/types.ts'
import { path, queryOrOwn } from '../kit/access.ts'
import {
  answer,
  Base64Bytes,
  bodyId,
  Float,
  freeText,
  Instant,
  int32,
  Int64,
  listOf,
  noted,
  oneOf,
  optional,
  pathId,
  PathName,
  patternText,
  QueryBoolean,
  queryId,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

/** The account whose contracts a call is about; the caller's own without it. */
export const InAccount = request({ org: optional(PathName) }, 'InAccount')
export const accountInQuery = { type: 'account', name: queryOrOwn('org') } as const
export const contractInPath = { type: 'contract', account: queryOrOwn('org'), id: path('id') } as const

export const ContractPath = request({ id: pathId<ContractId>() }, 'ContractPath')
export const ContractClusterPath = request({ id: pathId<ContractId>(), ccID: pathId<ContractClusterId>() }, 'ContractClusterPath')
/** The UID of a cluster, as the list of its contracts takes it. */
export const ClusterUuidPath = request(
  { clusterID: patternText(/^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/, 36, 'a UUID') },
  'ClusterUuidPath',
)
/** Any text: what is wrong with it is part of the answer. */
export const ClusterUidPath = request({ clusterID: PathName }, 'ClusterUidPath')
export const AssociatedQuery = request({ org: optional(PathName), onlyOffline: optional(QueryBoolean) }, 'AssociatedContractsQuery')
export const StatusQuery = request({ org: optional(PathName), contract: optional(queryId<ContractId>()) }, 'ContractStatusQuery')

const texts = t.readonlyArray(t.string)
const seconds = noted(SafeInteger, { description: 'Seconds since the epoch, UTC.' })

export const ContractEmail = answer(
  {
    contactPerson: texts,
    signingAuthority: texts,
    licenseUsers: texts,
    financeTeam: texts,
    usageAlertClient: texts,
    usageAlertAdmin: optional(noted(texts, { description: 'Only for site admins.' })),
  },
  'ContractEmail',
)
export const QuotaRule = answer(
  { enabled: t.boolean, metric: t.string, limit: Float, alertThresholds: t.readonlyArray(SafeInteger), disableLicenseOnLimitReached: t.boolean },
  'QuotaRule',
)

/** A contract as its owner sees it. */
export const Contract = answer(
  {
    id: Int64,
    uid: noted(SafeInteger, { description: 'The id of the owner.' }),
    orgOrUser: t.string,
    name: t.string,
    product: t.string,
    features: texts,
    emails: ContractEmail,
    quota: QuotaRule,
    start: seconds,
    end: seconds,
    allowOffline: t.boolean,
    autoAssignCluster: t.boolean,
    disableAnalytics: t.boolean,
    enableClientBilling: t.boolean,
    allowTrials: noted(t.boolean, { description: 'Objects may be trials: their first month is not billed.' }),
    maxTrials: noted(SafeInteger, { description: 'How many objects are trials under the contract at most, over its whole life.' }),
    revoked: t.boolean,
    restrictions: t.string,
    terms: noted(SafeInteger, { description: 'The version of the terms that is in force now. The dated terms of the contract are those of this version.' }),
    state: noted(oneOf('scheduled', 'active', 'expired', 'revoked'), { description: 'Derived from start, end and revoked.' }),
    hasDocument: t.boolean,
  },
  'Contract',
)

export const ContractFeatures = answer({ contractId: SafeInteger, product: t.string, features: texts }, 'ContractFeatures')
const BoundClusterStatus = answer({ isImported: t.boolean, name: t.string, tags: texts, associatedContractId: SafeInteger }, 'ClusterStatus')
export const ContractClusterStatus = answer(
  {
    id: noted(SafeInteger, { description: 'The id of the binding (`ccID`); 0 if the cluster is not bound.' }),
    contractId: SafeInteger,
    cluster: t.string,
    displayName: t.string,
    clusterStatus: BoundClusterStatus,
    duplicateContractFeatures: t.readonlyArray(ContractFeatures),
    error: t.string,
  },
  'ContractClusterStatus',
)
export const ClusterWithAssociatedContracts = answer(
  { associatedContractIDs: t.readonlyArray(SafeInteger), cluster: t.string, displayName: t.string, tags: texts },
  'ClusterWithAssociatedContracts',
)
export const ContractAudit = answer(
  {
    id: SafeInteger,
    contractID: SafeInteger,
    addedBy: t.string,
    event: oneOf(...contractEventNames),
    createdUnix: seconds,
    terms: optional(noted(SafeInteger, { description: 'Of a change of the terms: the number of the first version that it made.' })),
    effectiveFrom: optional(noted(SafeInteger, { description: 'Of a change of the terms: the second since the epoch, UTC, from which on they are in force.' })),
  },
  'ContractAudit',
)

/** Terms of a contract with the time in which they are in force. */
export const ContractTermsVersion = answer(
  {
    number: noted(SafeInteger, { description: 'From 1, in the order in which versions were recorded.' }),
    effectiveFrom: noted(SafeInteger, { description: 'Seconds since the epoch, UTC; 0: from the beginning of the contract on.' }),
    effectiveTo: optional(noted(SafeInteger, { description: 'Seconds since the epoch, UTC: just after the last one. Absent: without an end.' })),
    superseded: noted(t.boolean, { description: 'A change of the past has replaced the version: it is in force at no time any more.' }),
    recordedUnix: seconds,
    recordedBy: t.string,
    product: t.string,
    features: texts,
    quota: QuotaRule,
    start: seconds,
    end: seconds,
    allowOffline: t.boolean,
    allowTrials: t.boolean,
    maxTrials: SafeInteger,
    disableAnalytics: t.boolean,
    enableClientBilling: t.boolean,
    restrictions: t.string,
  },
  'ContractTermsVersion',
)

const LicenseContract = answer({ id: t.string, startTimestamp: Instant, expiryTimestamp: Instant }, 'LicenseContract')
export const License = answer(
  { contract: LicenseContract, license: noted(Base64Bytes, { description: 'The certificate in PEM, in base64.' }) },
  'License',
)

const shortText = freeText(256)

/** What a program in a cluster asks a license for. */
export const LicenseOpts = request({ cluster: shortText, features: listOf(freeText(64), 100) }, 'LicenseOpts')

/** The cluster of a license proxy, and the contracts whose licenses it hands out. */
export const InstallerOptions = request({ clusterID: shortText, contractIDs: listOf(bodyId<ContractId>(), 100) }, 'InstallerOptions')
export const ProxyValues = answer({ encodedLicenses: noted(t.record(t.string, Base64Bytes), { description: 'By product and contract.' }) }, 'LicenseProxyValues')

/** A string is read as a list of one. */
const Recipients: t.Type<readonly string[], readonly string[], unknown> = noted(
  new t.Type<readonly string[], readonly string[], unknown>(
    'a mail address, or a list of them',
    t.readonlyArray(t.string).is,
    (u, c) => (typeof u === 'string' ? listOf(shortText, 200).validate([u], c) : listOf(shortText, 200).validate(u, c)),
    t.identity,
  ),
  { description: 'Mail addresses. A single address may be given as a string.' },
)
const Nullable = <A, O>(codec: t.Type<A, O, unknown>) => t.union([codec, t.null])

export const UpdateUserContractPreferences = request(
  { autoAssignCluster: optional(Nullable(t.boolean)), usageAlertClient: optional(Nullable(Recipients)) },
  'UpdateUserContractPreferences',
)
export const BindContractCluster = request({ cluster: shortText, displayName: optional(shortText), tags: optional(listOf(shortText, 200)) }, 'BindContractCluster')
export const ClusterContractList = request({ clusterId: shortText, displayName: optional(shortText), contractIds: listOf(bodyId<ContractId>(), 5000) }, 'ClusterContractList')
export const BatchClusterStatusRequest = request({ clusters: listOf(shortText, 5000) }, 'BatchClusterStatusRequest')
export const PatchUserContractClusterName = request({ clusterName: shortText }, 'PatchUserContractClusterName')
export const PatchUserContractClusterTags = request({ tags: listOf(shortText, 200) }, 'PatchUserContractClusterTags')

/** Beside the account of a site admin's own, `org` narrows a list to one account. */
export const OfAccount = request({ org: optional(PathName) }, 'ContractsOfAccount')

const addresses = optional(listOf(freeText(256), 200))
const Emails = request(
  { contactPerson: addresses, signingAuthority: addresses, licenseUsers: addresses, financeTeam: addresses, usageAlertClient: addresses, usageAlertAdmin: addresses },
  'ContractEmailParams',
)
const Quota = request(
  {
    enabled: optional(t.boolean),
    metric: optional(oneOf(...quotaMetrics)),
    limit: optional(Float),
    alertThresholds: optional(listOf(int32(0), 100)),
    disableLicenseOnLimitReached: optional(t.boolean),
  },
  'QuotaRuleParams',
)
const word = freeText(64)

const terms = {
  name: optional(freeText(255)),
  features: optional(listOf(word, 200)),
  emails: optional(Emails),
  quota: optional(Quota),
  start: optional(seconds),
  end: optional(seconds),
  allowOffline: optional(t.boolean),
  autoAssignCluster: optional(t.boolean),
  disableAnalytics: optional(t.boolean),
  enableClientBilling: optional(t.boolean),
  allowTrials: optional(noted(t.boolean, { description: 'Objects may be trials: their first month is not billed. By default false.' })),
  maxTrials: optional(noted(int32(0), { description: 'How many objects are trials under the contract at most, over its whole life. By default 10.' })),
  restrictions: optional(textLines(4000)),
}

/** From when on a change of the terms counts. */
const effective = {
  effectiveFrom: optional(noted(SafeInteger, { description: 'The second since the epoch, UTC, from which on the change counts; by default now. An earlier one needs `reopen`.' })),
  reopen: optional(noted(t.boolean, { description: 'Allows `effectiveFrom` to be in the past. Months that are final do not change until they are opened again.' })),
}

const upload = {
  document: optional(noted(Base64Bytes, { description: 'The bytes of the document, at most 25 MiB.' })),
  fileName: optional(noted(freeText(255), { description: 'The name of the document.' })),
}

export const AddContractParams = request({ ...terms, ...upload, orgOrUser: PathName, products: listOf(word, 100) }, 'AddContractParams')
export const ContractParams = request({ ...terms, ...upload, ...effective, product: optional(word) }, 'ContractParams')
/** The fields of a form with the terms of contracts that hold JSON. */
export const jsonTerms = ['products', 'features', 'emails', 'quota', 'start', 'end', 'allowOffline', 'autoAssignCluster', 'disableAnalytics', 'enableClientBilling', 'allowTrials', 'maxTrials', 'effectiveFrom', 'reopen'] as const
/** The limit in bytes of a document of 25 MiB in base64 and the JSON around it. */
export const documentBodyBytes = 35_100_000
export const ExtendContractParams = request({ end: seconds, ...effective }, 'ExtendContractParams')
export const DocumentParams = request({ document: noted(Base64Bytes, { description: 'The bytes, at most 25 MB.' }), fileName: optional(freeText(255)) }, 'ContractDocumentParams')

const decimalSerial = /^[0-9]{1,48}$/
const hexSerial = /^0x[0-9A-Fa-f]{1,40}$/

/** The serial of a license in decimal, or in hexadecimal after `0x`, as openssl prints it. Decodes to decimal. */
const LicenseSerial = noted(
  new t.Type<string, string, unknown>(
    'a serial number in decimal digits, or in hexadecimal after 0x',
    t.string.is,
    (u, c) => (typeof u === 'string' && (decimalSerial.test(u) || hexSerial.test(u)) ? t.success(BigInt(u).toString()) : t.failure(u, c)),
    t.identity,
  ),
  { type: 'string', maxLength: 48, pattern: '^(?:[0-9]{1,48}|0x[0-9A-Fa-f]{1,40})$', description: 'The serial of a license: the certificate of its authority is the first then.' },
)
export const AuthoritiesQuery = request({ license: optional(LicenseSerial) }, 'AuthoritiesQuery')

export const LicensePath = request({ id: pathId<ContractId>(), serial: patternText(/^[0-9]{1,48}$/, 48, 'a serial number in decimal digits') }, 'ContractLicensePath')
export const IssuedLicense = answer(
  {
    serial: t.string,
    cluster: noted(t.string, { description: 'The UID of the namespace kube-system.' }),
    kind: oneOf('offline', 'online'),
    notBefore: Instant,
    notAfter: Instant,
    issuedAt: Instant,
    issuedBy: t.string,
    revokedAt: optional(Instant),
  },
  'IssuedLicense',
)

/** The names of the fields are those of the programs that read it. */
export const PlanInfo = answer(
  {
    DisplayName: t.string,
    ProductLine: t.string,
    TierName: t.string,
    TwitterHandle: t.string,
    QuickstartLink: t.string,
    Features: t.readonlyArray(t.string),
    MailingLists: t.readonlyArray(t.string),
  },
  'PlanInfo',
)

/** A contract as a site admin sees it. */
export const AdministeredContract = answer(
  {
    ...Contract.props,
    emails: answer(
      {
        contactPerson: t.readonlyArray(t.string),
        signingAuthority: t.readonlyArray(t.string),
        licenseUsers: t.readonlyArray(t.string),
        financeTeam: t.readonlyArray(t.string),
        usageAlertClient: t.readonlyArray(t.string),
        usageAlertAdmin: t.readonlyArray(t.string),
      },
      'AdministeredContractEmail',
    ),
    Reminder45DaysSentUnix: noted(SafeInteger, { description: 'Seconds since the epoch; 0 means never.' }),
    Reminder10DaysSentUnix: noted(SafeInteger, { description: 'Seconds since the epoch; 0 means never.' }),
  },
  'AdministeredContract',
)
