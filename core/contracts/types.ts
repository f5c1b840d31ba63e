import type { AccountId, Brand } from '../kernel/ids.ts'

export type ContractId = Brand<number, 'ContractId'>
/** A cluster that is bound to a contract: `ccID` of the specification. */
export type ContractClusterId = Brand<number, 'ContractClusterId'>

/** The people and mailing lists that a contract names. Each list has at most 50 addresses. */
export interface ContractEmails {
  readonly contactPerson: readonly string[]
  readonly signingAuthority: readonly string[]
  readonly licenseUsers: readonly string[]
  readonly financeTeam: readonly string[]
  readonly usageAlertClient: readonly string[]
  /** Of the vendor; not shown to the owner of the contract. */
  readonly usageAlertAdmin: readonly string[]
}
export type ContractEmailList = keyof ContractEmails

export const quotaMetrics = ['memory_gib_month', 'cpu_core_month'] as const

/** The recipients of a new contract. */
const noEmails: ContractEmails = {
  contactPerson: [],
  signingAuthority: [],
  licenseUsers: [],
  financeTeam: [],
  usageAlertClient: [],
  usageAlertAdmin: [],
}
export const emailLists = Object.keys(noEmails) as readonly ContractEmailList[]

/** What a contract allows in one calendar month. */
export interface ContractQuota {
  readonly enabled: boolean
  readonly metric: (typeof quotaMetrics)[number]
  readonly limit: number
  /** In percent of the limit. */
  readonly alertThresholds: readonly number[]
  /** No license is issued once the limit is reached. */
  readonly disableLicenseOnLimitReached: boolean
}

/** What is decided about a contract and is dated: a change counts from an instant on. */
export interface DatedTerms {
  readonly product: string
  readonly features: readonly string[]
  readonly quota: ContractQuota
  /** The contract is in force from this instant on, */
  readonly startsAt: Date
  /** and until just before this one. */
  readonly endsAt: Date
  /** Licenses that last to the end of the contract may be issued. */
  readonly allowsOffline: boolean
  /** Objects may be trials: their first month is not billed. */
  readonly allowsTrials: boolean
  /** How many objects are trials under the contract at most, over its whole life. */
  readonly maxTrials: number
  readonly disablesAnalytics: boolean
  readonly enablesClientBilling: boolean
  /** JSON text for the products; this service reads only `offlineTtlDays`. Empty if there is none. */
  readonly restrictions: string
}

/** The dated terms of a new contract. A request must name the product, the features, the start and the end. */
export const newTerms: DatedTerms = {
  product: '',
  features: [],
  quota: {
    enabled: false,
    metric: 'memory_gib_month',
    limit: 0,
    alertThresholds: [],
    disableLicenseOnLimitReached: false,
  },
  startsAt: new Date(Number.NaN),
  endsAt: new Date(Number.NaN),
  allowsOffline: false,
  allowsTrials: false,
  maxTrials: 10,
  disablesAnalytics: false,
  enablesClientBilling: false,
  restrictions: '',
}

/** What is decided about a contract and counts at once. */
export interface ContractDetails {
  readonly name: string
  readonly emails: ContractEmails
  /** Clusters that the owner imports are bound without a request. */
  readonly bindsNewClusters: boolean
}

/** The details of a new contract. A request must give it a name. */
export const newDetails: ContractDetails = { name: '', emails: noEmails, bindsNewClusters: false }

/** What a site admin decides about a contract. */
export interface ContractTerms extends DatedTerms, ContractDetails {}

/** Terms of a contract with the time in which they are in force. */
export interface TermsVersion extends DatedTerms {
  /** From 1, in the order in which versions were recorded. */
  readonly number: number
  /** 1970 if they are in force from the beginning of the contract on. */
  readonly from: Date
  /** Just after the last instant; undefined for the newest version. */
  readonly to: Date | undefined
  readonly recordedAt: Date
  /** The mail address of the user; empty in contracts of earlier releases. */
  readonly recordedBy: string
  /** When a change of the past replaced them: since then they are in force at no time. */
  readonly supersededAt: Date | undefined
}

/** The stored document of a contract. */
export interface ContractDocument {
  /** The random reference under which the document store has it. */
  readonly ref: string
  readonly fileName: string
  readonly mediaType: string
  /** In bytes. */
  readonly size: number
}

/** A contract with the terms that are in force when it is read. */
export interface Contract extends ContractTerms {
  readonly id: ContractId
  /** The version of its terms. */
  readonly termsNumber: number
  readonly ownerId: AccountId
  readonly ownerName: string
  readonly document: ContractDocument | undefined
  readonly revokedAt: Date | undefined
  /** When the owner was reminded of the end, 45 and 10 days before. */
  readonly remindedAt45Days: Date | undefined
  readonly remindedAt10Days: Date | undefined
  readonly createdAt: Date
  readonly version: number
}

/** Derived from the instants of a contract, never stored. */
export type ContractState = 'scheduled' | 'active' | 'expired' | 'revoked'

/** A cluster that is bound to a contract. */
export interface BoundCluster {
  readonly id: ContractClusterId
  readonly contractId: ContractId
  readonly ownerId: AccountId
  /** UID of the namespace kube-system, in lower case. */
  readonly clusterUid: string
  readonly displayName: string
  /** Shared by all contracts of the owner for this cluster. */
  readonly tags: readonly string[]
  readonly boundAt: Date
}

/** An entry of the history that the owner of a contract sees. */
export interface ContractEvent {
  readonly id: number
  readonly contractId: ContractId
  /** The mail address of the user, or the name of the job, that caused it. */
  readonly addedBy: string
  readonly event: ContractEventName
  readonly createdAt: Date
  /** Of a change of the terms: the first version that it made, and from when on that is in force. */
  readonly terms: ChangedTerms | undefined
}

export interface ChangedTerms {
  readonly number: number
  readonly from: Date
}

export const contractEventNames = [
  'contract.created',
  'contract.updated',
  'contract.extended',
  'contract.revoked',
  'contract.deleted',
  'preferences.updated',
  'document.uploaded',
  'document.downloaded',
  'document.removed',
  'cluster.added',
  'cluster.removed',
  'cluster.renamed',
  'cluster.retagged',
  'license.issued',
  'license.revoked',
] as const
export type ContractEventName = (typeof contractEventNames)[number]

/** `offline`: to the end of the contract. `online`: short-lived and renewed by the cluster. */
export type LicenseKind = 'offline' | 'online'

/** A license that was issued for a cluster. */
export interface License {
  /** Of the certificate, in decimal digits; unique over all authorities. */
  readonly serial: string
  readonly contractId: ContractId
  readonly ownerId: AccountId
  readonly clusterUid: string
  readonly kind: LicenseKind
  readonly authorityId: number
  readonly notBefore: Date
  readonly notAfter: Date
  /** Equal for licenses with the same content, apart from serial and validity. */
  readonly contentKey: string
  readonly certificatePem: string
  readonly issuedAt: Date
  /** The mail address of the user, or the name of the program, that requested it. */
  readonly issuedBy: string
  readonly revokedAt: Date | undefined
}

/** What a verifier found in a license. */
export interface ReadLicense {
  /** Decimal digits. */
  readonly serial: string
  readonly clusterUid: string
  readonly features: readonly string[]
  readonly plan: string
  readonly flags: Readonly<Record<string, string>>
  readonly notBefore: Date
  readonly notAfter: Date
  /** The license is signed by one of the authorities given. */
  readonly isTrusted: boolean
  /** The fingerprint of the authority that signed it; undefined if it is not trusted. */
  readonly authority: string | undefined
  /** The end of that authority. */
  readonly authorityEnd: Date | undefined
  /** The certificate may be used to identify a client, as licenses are. */
  readonly isForClients: boolean
  /**
   * The names that the certificate is valid for include this cluster; undefined if none was named. A license whose
   * common name is `*.` and the organization of its authority is for every cluster.
   */
  readonly matchesCluster: boolean | undefined
}

/** What revocation lists say. */
export interface ReadRevocations {
  /** Serials, in decimal digits. */
  readonly revoked: ReadonlySet<string>
  /** The fingerprints of the authorities that signed the lists. */
  readonly listed: ReadonlySet<string>
}
