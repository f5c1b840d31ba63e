import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { MailOutbox } from '../mail/ports.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Secret } from '../kernel/secret.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type {
  BoundCluster,
  ChangedTerms,
  Contract,
  ContractClusterId,
  ContractDetails,
  ContractDocument,
  ContractEvent,
  ContractEventName,
  ContractId,
  ContractTerms,
  License,
  LicenseKind,
  TermsVersion,
} from './types.ts'

/** The store of documents does not respond, or has lost the document. */
export const DocumentStoreDown = defineFailure(
  'DocumentStoreDown',
  'Unavailable',
  'The store of documents does not answer, or the installation lacks its optional package.',
)
/** The document has the wrong type, is empty or too large, or did not pass the scanner. */
export const DocumentRefused = defineFailure(
  'DocumentRefused',
  'Unprocessable',
  'The document is too large, or of a type that is not accepted.',
)
/** The link to a document has expired or was changed. */
export const DocumentLinkRefused = defineFailure(
  'DocumentLinkRefused',
  'Forbidden',
  'The link to the document is not valid, or it has expired.',
)

/** A link to one document that this service signed, as a request has it. */
export interface DocumentLink extends Pick<ContractDocument, 'ref' | 'fileName' | 'mediaType'> {
  /** From this instant on, in milliseconds since the epoch, the link is refused. */
  readonly expires: number
  readonly signature: string
}

/** Stores documents under random references, each of which is used once. */
export interface DocumentStore {
  /** Stores a document whole, or not at all. */
  put(document: ContractDocument, bytes: Uint8Array): Outcome<Failure<'DocumentStoreDown'>, void>
  /** Returns a document, or undefined if there is none. */
  read(ref: string): Outcome<Failure<'DocumentStoreDown'>, Uint8Array | undefined>
  /** Removes a document; there may be none. */
  remove(ref: string): Outcome<Failure<'DocumentStoreDown'>, void>
  /**
   * Returns a URL under which the document can be downloaded, without other credentials, until just before `until`. The
   * document is in the store.
   */
  link(document: ContractDocument, now: Date, until: Date): Outcome<Failure<'DocumentStoreDown'>, string>
  /**
   * Returns the document of a link that this service signed and that has not expired. A store with links of its own
   * refuses all.
   */
  open(
    link: DocumentLink,
    now: Date,
  ): Outcome<Failure<'DocumentStoreDown'> | Failure<'DocumentLinkRefused'>, Uint8Array>
}
export const DocumentStorePort = portKey<DocumentStore>('contracts.DocumentStore')

/** Examines a document before it is stored, such as for viruses. */
export interface DocumentScanner {
  /**
   * DocumentRefused: the document must not be stored. DocumentStoreDown: the scanner does not respond, so nothing is
   * stored.
   */
  scan(
    document: ContractDocument,
    bytes: Uint8Array,
  ): Outcome<Failure<'DocumentRefused'> | Failure<'DocumentStoreDown'>, void>
}
export const DocumentScannerPort = portKey<DocumentScanner>('contracts.DocumentScanner')

/**
 * The documents in the store to which no contract refers, or not yet. Each is recorded before it is stored and before a
 * contract is without it, so that none stays in the store after a crash.
 */
export interface DocumentRemovals {
  /** Records that documents are to be removed from `dueAt` on, unless a contract keeps them. */
  plan(refs: readonly string[], dueAt: Date): Promise<void>
  /**
   * Cancels the removal of a document to which a contract refers from now on. Returns false if the removal is due: the
   * document may be gone.
   */
  cancel(ref: string, now: Date): Promise<boolean>
  /** Returns documents whose removal is due, by reference; at most `limit`, after the reference `after`. */
  listDue(now: Date, after: string, limit: number): Promise<readonly string[]>
  /** Forgets a document that is no longer in the store. */
  forget(ref: string): Promise<void>
}
export const DocumentRemovalsPort = portKey<DocumentRemovals>('contracts.DocumentRemovals')

/** The account has no contract with this id. */
export const ContractMissing = defineFailure(
  'ContractMissing',
  'NotFound',
  'The contract does not exist, or the caller may not see it.',
)
/** The contract has no cluster with this id. */
export const ContractClusterMissing = defineFailure(
  'ContractClusterMissing',
  'NotFound',
  'The cluster is not bound to the contract, or to none for which the caller may issue licenses.',
)
/** A value of the request is invalid. */
export const ContractRequestInvalid = defineFailure(
  'ContractRequestInvalid',
  'Invalid',
  'The request names no contract, cluster or feature, or too many of them, or one that does not exist.',
)
/** A contract that the request names does not belong to the account, or is not active. */
export const ContractNotUsable = defineFailure(
  'ContractNotUsable',
  'Forbidden',
  'The cluster is not bound to each of the contracts, or a contract is not active or does not allow offline licenses.',
)
/** The cluster is bound to the contract already. */
export const ClusterBoundAlready = defineFailure(
  'ClusterBoundAlready',
  'Invalid',
  'A cluster is already bound to the contract.',
)
/** The contract has no license with this serial number, or it is revoked. */
export const LicenseMissing = defineFailure(
  'LicenseMissing',
  'NotFound',
  'The contract has no license with this serial number that is in force.',
)
/** The contract has no document. */
export const ContractDocumentMissing = defineFailure(
  'ContractDocumentMissing',
  'NotFound',
  'The contract has no document.',
)
/** The contract has changed since the version that the caller named. */
export const ContractChanged = defineFailure(
  'ContractChanged',
  'Conflict',
  'Another request changed the contract at the same moment; nothing was changed.',
)

/** Which contracts of an account a list returns. */
export interface ContractSelection {
  /** Only contracts that are in force at this instant. */
  readonly activeAt?: Date
  readonly allowsOffline?: true
  /** Only contracts to which the cluster of this UID is bound (`with`) or is not bound (`without`). */
  readonly cluster?: { readonly uid: string; readonly bound: 'with' | 'without' }
}

/** A cluster with all contracts of one account that license it. */
export interface LicensedCluster {
  readonly clusterUid: string
  readonly displayName: string
  readonly tags: readonly string[]
  /** Ascending. */
  readonly contractIds: readonly ContractId[]
}

/** A binding with what its contract licenses. */
export interface LicensedBinding {
  readonly binding: BoundCluster
  readonly contract: Pick<Contract, 'id' | 'product' | 'features' | 'allowsOffline'>
}

/** A contract of any account with its binding of one cluster. */
export interface ContractOfCluster {
  readonly contract: Contract
  readonly clusterId: ContractClusterId
}

/** A cluster to be bound. */
export interface NewBinding {
  readonly clusterUid: string
  readonly displayName: string
}

/**
 * Contracts, with the terms that are in force when they are read: of a list at an instant, at that instant. Lists are
 * ordered by the start that the newest version names. A statement with an id from a caller also has the owner's id, so
 * that no id reaches another account's contract.
 */
export interface ContractStore {
  /** Returns the contracts of an account, the newest start first. */
  listOf(ownerId: AccountId, selection: ContractSelection, page: PageRequest): Promise<Page<Contract>>
  /** Returns the contracts of all accounts, the newest start first; for site admins. */
  listAll(page: PageRequest): Promise<Page<Contract>>
  get(ownerId: AccountId, id: ContractId): Promise<Contract | undefined>
  /** Returns a contract of any account; for site admins and jobs. */
  getAny(id: ContractId): Promise<Contract | undefined>
  /**
   * Returns those of the given contracts that belong to the account; in a transaction, locks them until it ends, in the
   * order of ids.
   */
  lock(ownerId: AccountId, ids: readonly ContractId[]): Promise<readonly Contract[]>
  /** Inserts a contract whose terms are in force from its beginning on. */
  insert(ownerId: AccountId, terms: ContractTerms, at: Date, by?: string): Promise<ContractId>
  /** Replaces the details of a locked contract, which count at once. */
  setDetails(id: ContractId, details: ContractDetails, at: Date): Promise<void>
  /** Returns all versions of the terms of a contract, by number; also those that are in force at no time any more. */
  listTerms(id: ContractId): Promise<readonly TermsVersion[]>
  /**
   * Makes these the versions of a locked contract that are in force at some time: ascending, without gaps, the last one
   * without an end. Those that are no longer among them are kept as superseded.
   */
  setTerms(id: ContractId, timeline: readonly TermsVersion[], at: Date): Promise<void>
  setDocument(id: ContractId, document: ContractDocument | undefined, at: Date): Promise<void>
  revoke(id: ContractId, at: Date): Promise<void>
  /** Reports whether a cluster was ever bound to the contract, or a license was issued for it. */
  isUsed(id: ContractId): Promise<boolean>
  /** Deletes the contract, its bindings and its history: only one without a past. */
  remove(id: ContractId): Promise<void>
  /**
   * Returns active contracts that end before `endsBefore` and whose people were not reminded of this end `days` before
   * it; at most `limit`.
   */
  listToRemind(days: 45 | 10, now: Date, endsBefore: Date, limit: number): Promise<readonly Contract[]>
  /**
   * Returns when the next contract of any account ends, by the terms that count last, and how many end before
   * `endsBefore`. Contracts that were revoked do not count.
   */
  nextEnds(now: Date, endsBefore: Date): Promise<{ readonly first: Date | undefined; readonly count: number }>
  /** Returns false if another process has reminded the people of the contract of its present end already. */
  markReminded(contract: Pick<Contract, 'id' | 'endsAt'>, days: 45 | 10, at: Date): Promise<boolean>
  /** Returns the active contracts of an account to which new clusters are bound without a request. */
  listBindingNew(ownerId: AccountId, now: Date): Promise<readonly Contract[]>
}
export const ContractStorePort = portKey<ContractStore>('contracts.ContractStore')

/** The clusters that are bound to contracts. */
export interface BindingStore {
  /** Returns the clusters of a contract, by name and id. */
  listOf(contractId: ContractId, page: PageRequest): Promise<Page<BoundCluster>>
  find(contractId: ContractId, id: ContractClusterId): Promise<BoundCluster | undefined>
  /**
   * Returns all bindings of these clusters to contracts of the account that are in force at `now`, in one statement; at
   * most 1,000 clusters.
   */
  listFor(ownerId: AccountId, clusterUids: readonly string[], now: Date): Promise<readonly LicensedBinding[]>
  /**
   * Returns the contracts of all accounts to which a cluster is bound, in any state, the latest end first; at most
   * `limit`. The terms are those in force now.
   */
  listContractsOf(clusterUid: string, limit: number): Promise<readonly ContractOfCluster[]>
  /** Returns the clusters of the active offline contracts of an account, by UID. */
  listLicensed(ownerId: AccountId, now: Date, page: PageRequest): Promise<Page<LicensedCluster>>
  /** Returns those of the given clusters that are bound to the contract. */
  boundAmong(contractId: ContractId, clusterUids: readonly string[]): Promise<readonly string[]>
  /**
   * Binds clusters that are not bound yet to a locked contract, and opens the interval in which each counts for usage.
   */
  add(contract: Pick<Contract, 'id' | 'ownerId'>, bindings: readonly NewBinding[], at: Date): Promise<void>
  /** Removes a binding and closes its interval. */
  remove(binding: BoundCluster, at: Date): Promise<void>
  rename(binding: BoundCluster, displayName: string): Promise<void>
  /** Replaces the tags of a cluster for all contracts of the account. */
  setTags(ownerId: AccountId, clusterUid: string, tags: readonly string[]): Promise<void>
}
export const BindingStorePort = portKey<BindingStore>('contracts.BindingStore')

/** The history of contracts, which only grows. */
export interface ContractEvents {
  record(
    contractId: ContractId,
    event: ContractEventName,
    addedBy: string,
    at: Date,
    terms?: ChangedTerms,
  ): Promise<void>
  /** Ascending. */
  listOf(contractId: ContractId, page: PageRequest): Promise<Page<ContractEvent>>
}
export const ContractEventsPort = portKey<ContractEvents>('contracts.ContractEvents')

/** The licenses that were issued. A row is never deleted. */
export interface LicenseStore {
  insert(license: License): Promise<void>
  /** Returns the newest license of a bound cluster that is not revoked. */
  findNewest(contractId: ContractId, clusterUid: string, kind: LicenseKind): Promise<License | undefined>
  /** Returns the licenses of a contract, the newest first. */
  listOf(contractId: ContractId, page: PageRequest): Promise<Page<License>>
  /** Returns the revoked licenses of an authority that have not expired, by serial; at most `limit`. */
  listRevoked(authorityId: number, now: Date, limit: number): Promise<readonly Pick<License, 'serial' | 'revokedAt'>[]>
  /** Returns the authority that issued a license, or undefined if the serial is unknown. */
  authorityOf(serial: string): Promise<number | undefined>
  /** Revokes all licenses of a contract. Returns how many. */
  revokeOf(contractId: ContractId, at: Date): Promise<number>
  /** Revokes one license of a contract. Returns false if the contract has no such license that is not revoked. */
  revoke(contractId: ContractId, serial: string, at: Date): Promise<boolean>
}
export const LicenseStorePort = portKey<LicenseStore>('contracts.LicenseStore')

/** A certificate authority of licenses as it is stored. */
export interface StoredAuthority {
  readonly id: number
  readonly certificatePem: string
  /** Undefined if its key is not in the database: it is in a file, or was retired. */
  readonly sealedKey: { readonly ref: string; readonly box: Uint8Array } | undefined
  readonly createdAt: Date
  /** When another authority took its place; its licenses stay valid. */
  readonly retiredAt: Date | undefined
}

/** The certificate authorities of licenses. */
export interface AuthorityStore {
  /** Returns all authorities, the newest first. */
  list(): Promise<readonly StoredAuthority[]>
  /** Adds an authority and retires the others. */
  add(authority: Pick<StoredAuthority, 'certificatePem' | 'sealedKey'>, at: Date): Promise<number>
}
export const AuthorityStorePort = portKey<AuthorityStore>('contracts.AuthorityStore')

/** What a license certifies. */
export interface LicenseContent {
  readonly clusterUid: string
  readonly features: readonly string[]
  readonly plan: string
  readonly productLine: string
  readonly tier: string
  readonly flags: Readonly<Record<string, string>>
  /** A mail address of the licensee; empty if there is none. */
  readonly licensee: string
  readonly notBefore: Date
  readonly notAfter: Date
}

/** A certificate authority with its key, which is PKCS#8 in PEM. */
export interface LicenseAuthority {
  readonly certificatePem: string
  readonly key: Secret
}

/** From when to when a certificate is valid, both included. */
export interface Validity {
  readonly notBefore: Date
  readonly notAfter: Date
}

/** What a revocation list says about one license. */
export interface RevokedSerial {
  readonly serial: string
  readonly at: Date
}

/** Makes and signs certificates, away from the event loop. No method keeps a key. */
export interface LicenseSigner {
  /**
   * Makes a self-signed authority with a new key. The organization is part of its name, which wildcard licenses refer
   * to.
   */
  makeAuthority(about: {
    readonly organization: string
    readonly notBefore: Date
    readonly notAfter: Date
  }): Promise<LicenseAuthority>
  /** Returns why the authority cannot sign licenses now; undefined if it can. */
  faultOf(authority: LicenseAuthority, now: Date): Promise<string | undefined>
  /** Returns the organization in the name of a stored authority. */
  organizationOf(certificatePem: string): string | undefined
  /** Returns the validity of a stored authority. */
  validityOf(certificatePem: string): Validity
  /**
   * Signs a license with a new serial of 128 random bits. The key of the license itself is thrown away: nothing uses
   * it.
   */
  sign(
    authority: LicenseAuthority,
    content: LicenseContent,
  ): Promise<{ readonly serial: string; readonly certificatePem: string }>
  /** Signs a revocation list in PEM. */
  signRevocations(
    authority: LicenseAuthority,
    revoked: readonly RevokedSerial[],
    thisUpdate: Date,
    nextUpdate: Date,
  ): Promise<string>
  /** Returns a digest of a license's content, apart from its validity: 64 hexadecimal digits. */
  contentKey(authorityId: number, content: LicenseContent): string
}
export const LicenseSignerPort = portKey<LicenseSigner>('contracts.LicenseSigner')

/** The stores that a change to contracts needs, in one transaction. */
export interface ContractStores {
  readonly contracts: ContractStore
  readonly bindings: BindingStore
  readonly events: ContractEvents
  readonly licenses: LicenseStore
  readonly authorities: AuthorityStore
  readonly documentRemovals: DocumentRemovals
  readonly audit: AuditTrail
  readonly mail: MailOutbox
}
export type ContractUnitOfWork = UnitOfWork<ContractStores>
export const ContractUnitOfWorkPort = portKey<ContractUnitOfWork>('contracts.UnitOfWork')

/** A contract that begins without a request of a site admin. */
export interface ContractBeginning {
  readonly ownerId: AccountId
  readonly name: string
  readonly product: string
  readonly features: readonly string[]
  readonly days: number
  /** A cluster to bind; nothing is bound if the text is no UID of a cluster. */
  readonly clusterUid: string
}

/** Begins and ends contracts in the transaction of an event that is not about contracts alone. */
export interface ContractLifecycle {
  /** Returns why no contract can begin like this; undefined if one can. */
  faultOf(beginning: Pick<ContractBeginning, 'name' | 'product' | 'features' | 'days'>): string | undefined
  /** Inserts a contract that is in force from now on. `by` is shown in its history. */
  begin(beginning: ContractBeginning, by: string): Promise<ContractId>
  /** Revokes contracts with their licenses. Those that do not exist or are revoked are left out of the result. */
  revoke(ids: readonly ContractId[], by: string): Promise<readonly ContractId[]>
}

/** Reports the consumption of a contract against its quota. */
export interface QuotaUsage {
  /**
   * Returns the consumption in the current calendar month, in the unit of the contract's metric; undefined if nothing
   * was reported.
   */
  usedThisMonth(contract: Contract, now: Date): Promise<number | undefined>
}
export const QuotaUsagePort = portKey<QuotaUsage>('contracts.QuotaUsage')
