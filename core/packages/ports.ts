import type { Either } from 'fp-ts/lib/Either.js'
import type { MemberCluster, MemberFailure } from '../clusters/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import { token } from '../kernel/token.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { Release, ReleaseHeader, ReleaseRecordRef, StorageDriver } from './types.ts'

/** There is no release of that name, or not that revision of it. */
export const ReleaseMissing = defineFailure('ReleaseMissing', 'NotFound')
/** Several namespaces hold a release of that name; the message names them. */
export const ReleaseAmbiguous = defineFailure('ReleaseAmbiguous', 'Invalid')
/** The cluster does not let the caller read or write the records; the message says what it said. */
export const RecordsRefused = defineFailure('RecordsRefused', 'Forbidden')
/** A record is no release record, or too large to be one. */
export const RecordUnreadable = defineFailure('RecordUnreadable', 'Upstream')
/** The record was changed meanwhile. */
export const RecordChanged = defineFailure('RecordChanged', 'Conflict')

export type RecordFailure = MemberFailure | Failure<'RecordsRefused'> | Failure<'RecordUnreadable'>

/** Release records of one member cluster, read and written as the caller, in the format of Helm 3 and 4. */
export interface ReleaseStore {
  /**
   * The labels of all records: by pages of metadata, no content. Asked from the cluster each time, as the caller: that
   * is what authorizes the caches behind `headers`. Any order.
   */
  index(cluster: MemberCluster, driver: StorageDriver, where: { readonly namespace?: string; readonly name?: string }, signal: AbortSignal): Outcome<RecordFailure, readonly ReleaseRecordRef[]>
  /** In the order of `refs`; those that went away meanwhile are left out. Kept by cluster, uid and resourceVersion. */
  headers(cluster: MemberCluster, driver: StorageDriver, refs: readonly ReleaseRecordRef[], signal: AbortSignal): Outcome<RecordFailure, readonly ReleaseHeader[]>
  /** Failure beside those of reading: ReleaseMissing when it went away. */
  read(cluster: MemberCluster, driver: StorageDriver, ref: ReleaseRecordRef, signal: AbortSignal): Outcome<RecordFailure | Failure<'ReleaseMissing'>, Release>
  /** Rewrites status or description of one record, label and content, where it is still the one of `ref` (compare-and-set on its resourceVersion). */
  amend(
    cluster: MemberCluster,
    driver: StorageDriver,
    ref: ReleaseRecordRef,
    change: { readonly status?: ReleaseRecordRef['status']; readonly description?: string },
    signal: AbortSignal,
  ): Outcome<RecordFailure | Failure<'ReleaseMissing'> | Failure<'RecordChanged'>, void>
}
export const ReleaseStoreToken = token<ReleaseStore>('packages.ReleaseStore')

/** ConsoleConfig of the specification: which driver an account uses on a cluster. `id` 0: nothing was stored, these are the defaults. */
export interface DriverConfiguration {
  readonly id: number
  readonly userId: AccountId
  readonly clusterUid: string
  readonly driver: StorageDriver
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** Driver settings, one row for each account and cluster UID. */
export interface DriverConfigurationStore {
  find(accountId: AccountId, clusterUid: string): Promise<DriverConfiguration | undefined>
  /** Inserts, or replaces the driver of the row that is there; of several at once the last one stands. */
  put(accountId: AccountId, clusterUid: string, driver: StorageDriver, at: Date): Promise<DriverConfiguration>
}
export const DriverConfigurationStoreToken = token<DriverConfigurationStore>('packages.DriverConfigurationStore')

/** The driver that reads and tasks of this cluster use: the stored one of its owner, else Secret. One query. */
export type StorageDriverOf = (cluster: Pick<MemberCluster, 'ownerId' | 'uid'>) => Promise<StorageDriver>
export const StorageDriverOfToken = token<StorageDriverOf>('packages.StorageDriverOf')

/** The text is no YAML or JSON, or more than may be read (aliases that grow, depth, size). */
export const TextUnreadable = defineFailure('TextUnreadable', 'Unprocessable')

/** YAML 1.1 as Kubernetes and Helm read it, by a library. Bounded in size, depth and alias growth. */
export interface YamlText {
  /** One document; empty text is undefined. JSON is YAML too. */
  parse(text: string): Either<Failure<'TextUnreadable'>, Json | undefined>
  /** All documents that are not empty. */
  parseAll(text: string): Either<Failure<'TextUnreadable'>, readonly Json[]>
  /** Keys in their order; block style; strings quoted wherever a reader might take them for something else. */
  print(value: Json): string
}

/** A JSON patch (RFC 6902) is malformed, or does not fit the document; the message says at which operation. */
export const PatchRefused = defineFailure('PatchRefused', 'Unprocessable')

/** RFC 6902, by a library. Documents that are given stay as they are. */
export interface JsonPatches {
  /** `tolerateMissing`: a `remove` of a path that is not there is skipped. */
  apply(document: Json, patch: Json, options?: { readonly tolerateMissing?: boolean }): Either<Failure<'PatchRefused'>, Json>
  /** Operations that turn `from` into `to`. */
  between(from: Json, to: Json): readonly Json[]
}
export const JsonPatchesToken = token<JsonPatches>('packages.JsonPatches')

/** The `filter` is no regular expression, or one that is too large. */
export const FilterRefused = defineFailure('FilterRefused', 'Unprocessable')
/** An option of a list is not one of its words. */
export const ListOptionRefused = defineFailure('ListOptionRefused', 'Unprocessable')
/** Not a driver that this service works with. */
export const DriverRefused = defineFailure('DriverRefused', 'Unprocessable')

/** Regular expressions as Go has them (RE2): time grows with the text alone, whatever the pattern. */
export interface NamePatterns {
  compile(pattern: string): Either<Failure<'FilterRefused'>, NameFilter>
}
/** Answers the names in which the pattern occurs anywhere. However many there are, everything else has its turn in between. */
export type NameFilter = (names: ReadonlySet<string>) => Promise<ReadonlySet<string>>
export const NamePatternsToken = token<NamePatterns>('packages.NamePatterns')

/** What a change of the driver is made of, in one transaction. */
export interface DriverStores {
  readonly drivers: DriverConfigurationStore
  readonly audit: AuditTrail
}
export type DriverUnitOfWork = UnitOfWork<DriverStores>
export const DriverUnitOfWorkToken = token<DriverUnitOfWork>('packages.DriverUnitOfWork')
