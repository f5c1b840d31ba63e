import type { Either } from 'fp-ts/lib/Either.js'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { UserId } from '../kernel/ids.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Secret } from '../kernel/secret.ts'
import { portKey } from '../kernel/port-key.ts'
import type {
  CloudCredentialId,
  CredentialContent,
  CredentialFilter,
  ServiceAccount,
  StorageKey,
  StoredCredential,
} from './types.ts'

/** The caller does not have a credential of that name. */
export const CredentialMissing = defineFailure('CredentialMissing', 'NotFound', 'The credential does not exist.')
/** The caller already has a credential of that name. */
export const CredentialNameTaken = defineFailure(
  'CredentialNameTaken',
  'Unprocessable',
  'Another credential of the account has this name.',
)
/**
 * The body is not a valid credential: an unknown type, a missing or wrong block, an invalid field. The message never
 * repeats what was sent.
 */
export const CloudCredentialRefused = defineFailure(
  'CloudCredentialRefused',
  'Unprocessable',
  'A field of the cloud credential is missing or not valid.',
)
/** The credential was changed concurrently by another request. */
export const CredentialChanged = defineFailure(
  'CredentialChanged',
  'Conflict',
  'Another request changed the credential at the same moment; nothing was changed.',
)

/** The request names no source of a key, more than one, or one that does not match the cloud. */
export const BucketSourceRefused = defineFailure(
  'BucketSourceRefused',
  'Unprocessable',
  'The named secret does not describe buckets that this service may list.',
)
/** The cluster does not allow the caller to read the secret. */
export const SecretForbidden = defineFailure(
  'SecretForbidden',
  'Forbidden',
  'The cluster does not let the caller read the secret.',
)
/** The secret does not exist in the cluster. */
export const SecretMissing = defineFailure('SecretMissing', 'NotFound', 'The secret does not exist in the cluster.')
/** The cloud does not accept the key. */
export const CloudKeyRefused = defineFailure(
  'CloudKeyRefused',
  'Unprocessable',
  'The cloud does not accept the key, or not for listing buckets.',
)
/** The cloud did not respond, or its response cannot be parsed. */
export const CloudUnreachable = defineFailure(
  'CloudUnreachable',
  'Upstream',
  'The cloud did not answer in time, or not as it should.',
)
/** The vendor's package, which is optional, is not installed. */
export const CloudSdkMissing = defineFailure(
  'CloudSdkMissing',
  'Unavailable',
  'The installation lacks the optional package of this cloud.',
)

/**
 * Cloud credentials of people. Every method is limited to the given user; credentials of others are reported as
 * missing.
 */
export interface CloudCredentialStore {
  /** Sorted by name. */
  list(userId: UserId, filter: CredentialFilter, page: PageRequest): Promise<Page<StoredCredential>>
  find(userId: UserId, name: string): Promise<StoredCredential | undefined>
  /** Returns the user's number of credentials; in a transaction, blocks other calls until it ends. */
  lockCount(userId: UserId): Promise<number>
  /**
   * Inserts with version 1. Failures: CredentialNameTaken (by the unique key, so two concurrent inserts cannot both
   * succeed).
   */
  insert(
    userId: UserId,
    name: string,
    content: CredentialContent,
    at: Date,
  ): Outcome<Failure<'CredentialNameTaken'>, CloudCredentialId>
  /** Compare-and-set on the version. Returns false if the row does not exist or was changed. */
  replace(
    userId: UserId,
    id: CloudCredentialId,
    version: number,
    content: CredentialContent,
    at: Date,
  ): Promise<boolean>
  /** Returns the id of the removed row; undefined if there was none. */
  remove(userId: UserId, name: string): Promise<CloudCredentialId | undefined>
}
export const CloudCredentialStorePort = portKey<CloudCredentialStore>('clouds.CloudCredentialStore')

/** The stores that a change to credentials needs, in one transaction. */
export interface CloudStores {
  readonly credentials: CloudCredentialStore
  readonly audit: AuditTrail
}
export type CloudUnitOfWork = UnitOfWork<CloudStores>
export const CloudUnitOfWorkPort = portKey<CloudUnitOfWork>('clouds.UnitOfWork')

/**
 * Reads the JSON text of a service account's key file. Only type `service_account` with a readable private key is
 * accepted; files that fetch a credential elsewhere or run a program are rejected. The message repeats nothing of the
 * text.
 */
export interface ServiceAccountReader {
  read(text: Secret): Either<Failure<'CloudCredentialRefused'>, ServiceAccount>
}
export const ServiceAccountReaderPort = portKey<ServiceAccountReader>('clouds.ServiceAccountReader')

export type BucketFailure = Failure<'CloudKeyRefused'> | Failure<'CloudUnreachable'> | Failure<'CloudSdkMissing'>

/** Lists the buckets (containers) that a key can list. */
export interface BucketDirectory {
  /** Returns names in the vendor's order, at most `maxBuckets`, within ten seconds. Uses only the given key. */
  list(key: StorageKey, signal: AbortSignal): Outcome<BucketFailure, readonly string[]>
}
export const BucketDirectoryPort = portKey<BucketDirectory>('clouds.BucketDirectory')

/** Maximum number of returned buckets; the rest is omitted. */
export const maxBuckets = 10_000
