import type { Either } from 'fp-ts/lib/Either.js'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { UserId } from '../kernel/ids.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'
import type { CloudCredentialId, CredentialContent, CredentialFilter, ServiceAccount, StorageKey, StoredCredential } from './types.ts'

/** The caller has no credential of that name. */
export const CredentialMissing = defineFailure('CredentialMissing', 'NotFound')
/** The caller has a credential of that name already. */
export const CredentialNameTaken = defineFailure('CredentialNameTaken', 'Unprocessable')
/** The body is no credential: an unknown type, a missing or foreign block, a field that is wrong. It never repeats what was sent. */
export const CloudCredentialRefused = defineFailure('CloudCredentialRefused', 'Unprocessable')
/** The credential was changed by another request at the same moment. */
export const CredentialChanged = defineFailure('CredentialChanged', 'Conflict')

/** The request names no source of a key, more than one, or one that does not fit the cloud. */
export const BucketSourceRefused = defineFailure('BucketSourceRefused', 'Unprocessable')
/** The cluster does not let the caller read the secret. */
export const SecretForbidden = defineFailure('SecretForbidden', 'Forbidden')
/** The cluster has no such secret. */
export const SecretMissing = defineFailure('SecretMissing', 'NotFound')
/** The cloud does not accept the key. */
export const CloudKeyRefused = defineFailure('CloudKeyRefused', 'Unprocessable')
/** The cloud did not answer, or not in a way that can be read. */
export const CloudUnreachable = defineFailure('CloudUnreachable', 'Upstream')
/** The vendor's package, which is optional, is not installed beside this service. */
export const CloudSdkMissing = defineFailure('CloudSdkMissing', 'Unavailable')

/** Cloud credentials of people. Every method stays with the given user: another's credential does not exist. */
export interface CloudCredentialStore {
  /** By name. */
  list(userId: UserId, filter: CredentialFilter, page: PageRequest): Promise<Page<StoredCredential>>
  find(userId: UserId, name: string): Promise<StoredCredential | undefined>
  /** How many the user has; in a transaction others wait until it ends. */
  lockCount(userId: UserId): Promise<number>
  /** Inserts with version 1. Failures: CredentialNameTaken (by the unique key, so two at once cannot both succeed). */
  insert(userId: UserId, name: string, content: CredentialContent, at: Date): Outcome<Failure<'CredentialNameTaken'>, CloudCredentialId>
  /** Compare-and-set on the version. False when the row is gone or was changed. */
  replace(userId: UserId, id: CloudCredentialId, version: number, content: CredentialContent, at: Date): Promise<boolean>
  /** The id of what was removed; undefined when there was nothing. */
  remove(userId: UserId, name: string): Promise<CloudCredentialId | undefined>
}
export const CloudCredentialStoreToken = token<CloudCredentialStore>('clouds.CloudCredentialStore')

/** What a change to credentials is made of, in one transaction. */
export interface CloudStores {
  readonly credentials: CloudCredentialStore
  readonly audit: AuditTrail
}
export type CloudUnitOfWork = UnitOfWork<CloudStores>
export const CloudUnitOfWorkToken = token<CloudUnitOfWork>('clouds.UnitOfWork')

/**
 * Reads the JSON text of a service account's key file. Only type `service_account` with a private key that can be read;
 * files that fetch a credential elsewhere or run a program are refused. The message repeats nothing of the text.
 */
export interface ServiceAccountReader {
  read(text: Secret): Either<Failure<'CloudCredentialRefused'>, ServiceAccount>
}
export const ServiceAccountReaderToken = token<ServiceAccountReader>('clouds.ServiceAccountReader')

export type BucketFailure = Failure<'CloudKeyRefused'> | Failure<'CloudUnreachable'> | Failure<'CloudSdkMissing'>

/** Asks clouds for the buckets (containers) that a key can list. */
export interface BucketDirectory {
  /** Names in the vendor's order, at most `maxBuckets`, within ten seconds. Nothing but the given key is used. */
  list(key: StorageKey, signal: AbortSignal): Outcome<BucketFailure, readonly string[]>
}
export const BucketDirectoryToken = token<BucketDirectory>('clouds.BucketDirectory')

/** Buckets that are named at most; what comes after is left out. */
export const maxBuckets = 10_000
