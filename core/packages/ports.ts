import type { Either } from 'fp-ts/lib/Either.js'
import type { MemberCluster, MemberFailure } from '../clusters/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Release, ReleaseHeader, ReleaseRecordRef, StorageDriver } from './types.ts'

/** The release does not exist, or not that revision of it. */
export const ReleaseMissing = defineFailure('ReleaseMissing', 'NotFound', 'The release or its revision does not exist.')
/** Several namespaces contain a release of that name; the message lists them. */
export const ReleaseAmbiguous = defineFailure(
  'ReleaseAmbiguous',
  'Invalid',
  'Several namespaces have a release of this name; `namespace` must say which is meant.',
)
/** The cluster does not allow the caller to read or write the records; the message quotes the cluster. */
export const RecordsRefused = defineFailure(
  'RecordsRefused',
  'Forbidden',
  'The cluster does not let the caller read or change release records.',
)
/** A record is not a release record, or is too large. */
export const RecordUnreadable = defineFailure(
  'RecordUnreadable',
  'Upstream',
  'The record of the release cannot be read, or the answer would be too large.',
)
/** The record was changed concurrently. */
export const RecordChanged = defineFailure(
  'RecordChanged',
  'Conflict',
  'Another request changed the record of the release.',
)

export type RecordFailure = MemberFailure | Failure<'RecordsRefused'> | Failure<'RecordUnreadable'>

/** Release records of one member cluster in the format of Helm 3 and 4, read and written as the caller. */
export interface ReleaseStore {
  /**
   * Returns the labels of all records, from paged metadata without content, in any order. Each call queries the cluster
   * as the caller, which authorizes the caches behind `headers`.
   */
  index(
    cluster: MemberCluster,
    driver: StorageDriver,
    where: { readonly namespace?: string; readonly name?: string },
    signal: AbortSignal,
  ): Outcome<RecordFailure, readonly ReleaseRecordRef[]>
  /**
   * Returns headers in the order of `refs`; records that no longer exist are omitted. Cached by cluster, uid and
   * resourceVersion.
   */
  headers(
    cluster: MemberCluster,
    driver: StorageDriver,
    refs: readonly ReleaseRecordRef[],
    signal: AbortSignal,
  ): Outcome<RecordFailure, readonly ReleaseHeader[]>
  /** Failures: ReleaseMissing if the record no longer exists, read failures. */
  read(
    cluster: MemberCluster,
    driver: StorageDriver,
    ref: ReleaseRecordRef,
    signal: AbortSignal,
  ): Outcome<RecordFailure | Failure<'ReleaseMissing'>, Release>
  /**
   * Rewrites the status or description of one record, in label and content, if it is unchanged since `ref`
   * (compare-and-set on its resourceVersion).
   */
  amend(
    cluster: MemberCluster,
    driver: StorageDriver,
    ref: ReleaseRecordRef,
    change: { readonly status?: ReleaseRecordRef['status']; readonly description?: string },
    signal: AbortSignal,
  ): Outcome<RecordFailure | Failure<'ReleaseMissing'> | Failure<'RecordChanged'>, void>
}
export const ReleaseStorePort = portKey<ReleaseStore>('packages.ReleaseStore')

/**
 * ConsoleConfig of the specification: the driver that an account uses on a cluster. `id` 0 marks the defaults, when
 * nothing is stored.
 */
export interface DriverConfiguration {
  readonly id: number
  readonly userId: AccountId
  readonly clusterUid: string
  readonly driver: StorageDriver
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Driver settings, one row per account and cluster UID. */
export interface DriverConfigurationStore {
  find(accountId: AccountId, clusterUid: string): Promise<DriverConfiguration | undefined>
  /** Inserts a row, or replaces the driver of the existing one; the last of several concurrent writes wins. */
  put(accountId: AccountId, clusterUid: string, driver: StorageDriver, at: Date): Promise<DriverConfiguration>
}
export const DriverConfigurationStorePort = portKey<DriverConfigurationStore>('packages.DriverConfigurationStore')

/** Returns the driver for reads and tasks on this cluster: the one stored by its owner, else Secret. One query. */
export type StorageDriverOf = (cluster: Pick<MemberCluster, 'ownerId' | 'uid'>) => Promise<StorageDriver>
export const StorageDriverOfPort = portKey<StorageDriverOf>('packages.StorageDriverOf')

/** The text is not YAML or JSON, or exceeds a limit (alias growth, depth, size). */
export const TextUnreadable = defineFailure(
  'TextUnreadable',
  'Unprocessable',
  'The text is too long, or it is not one document of YAML.',
)

/** YAML 1.1 as Kubernetes and Helm read it, implemented by a library. Size, depth and alias growth are limited. */
export interface YamlText {
  /** Parses one document; returns undefined for empty text. JSON is valid YAML. */
  parse(text: string): Either<Failure<'TextUnreadable'>, Json | undefined>
  /** Returns all non-empty documents. */
  parseAll(text: string): Either<Failure<'TextUnreadable'>, readonly Json[]>
  /** Keeps the order of keys; uses block style; quotes strings that a reader could parse as another type. */
  print(value: Json): string
}
export const YamlTextPort = portKey<YamlText>('packages.YamlText')

/** A JSON patch (RFC 6902) is malformed, or does not apply to the document; the message names the operation. */
export const PatchRefused = defineFailure(
  'PatchRefused',
  'Unprocessable',
  'The patch is not a list of operations, or it does not apply.',
)

/** RFC 6902, implemented by a library. Input documents are not modified. */
export interface JsonPatches {
  /** With `tolerateMissing`, a `remove` of a missing path is skipped. */
  apply(
    document: Json,
    patch: Json,
    options?: { readonly tolerateMissing?: boolean },
  ): Either<Failure<'PatchRefused'>, Json>
  /** Returns the operations that turn `from` into `to`. */
  between(from: Json, to: Json): readonly Json[]
}
export const JsonPatchesPort = portKey<JsonPatches>('packages.JsonPatches')

/** The `filter` is not a regular expression, or is too large. */
export const FilterRefused = defineFailure(
  'FilterRefused',
  'Unprocessable',
  'The filter is not a regular expression, or it is too large.',
)
/** A list option is not one of the accepted words. */
export const ListOptionRefused = defineFailure(
  'ListOptionRefused',
  'Unprocessable',
  'An option of the list is not valid.',
)
/** The driver is not supported by this service. */
export const DriverRefused = defineFailure(
  'DriverRefused',
  'Unprocessable',
  'The storage driver is neither Secret nor ConfigMap.',
)

/** Regular expressions in Go syntax (RE2): matching takes linear time for every pattern. */
export interface NamePatterns {
  compile(pattern: string): Either<Failure<'FilterRefused'>, NameFilter>
}
/** Returns the names that the pattern matches anywhere. Long lists do not block the event loop. */
export type NameFilter = (names: ReadonlySet<string>) => Promise<ReadonlySet<string>>
export const NamePatternsPort = portKey<NamePatterns>('packages.NamePatterns')

/** The stores that a change of the driver needs, in one transaction. */
export interface DriverStores {
  readonly drivers: DriverConfigurationStore
  readonly audit: AuditTrail
}
export type DriverUnitOfWork = UnitOfWork<DriverStores>
export const DriverUnitOfWorkPort = portKey<DriverUnitOfWork>('packages.DriverUnitOfWork')
