import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Call } from '../../kernel/principal.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type {
  MonthKey,
  UnixSeconds,
  UsageClusterId,
  UsageInterval,
  UsageKind,
  UsageKindId,
  UsageObject,
  UsageObjectId,
} from '../types.ts'
import type { HeardHours } from './presence.ts'
import type { ModeChanged, ObjectChange, ObservedNamespace } from './types.ts'

/** The account has neither a record of the cluster nor a contract to which the cluster is bound. */
export const UsageClusterUnknown = defineFailure(
  'UsageClusterUnknown',
  'NotFound',
  'The account has no cluster with this UID.',
)
/** The request is invalid as a whole. */
export const UsageEventsInvalid = defineFailure(
  'UsageEventsInvalid',
  'Unprocessable',
  'The report has no events, too many of them, or an event that is not valid.',
)

/** A cluster that reports usage. */
export interface UsageCluster {
  readonly id: UsageClusterId
  readonly ownerId: AccountId
  readonly clusterUid: string
  /** The first second of the first and of the last hour in which it was heard. */
  readonly firstHeard: UnixSeconds
  readonly lastHeard: UnixSeconds
  /** The last month into which the intervals of its objects were continued. */
  readonly carriedMonth: MonthKey
}

/** The clusters that report usage. A statement with a UID from a sender also has the owner's id. */
export interface UsageClusterStore {
  /** Reports whether the owner has a record of the cluster, or a contract to which it is bound. */
  isKnown(ownerId: AccountId, clusterUid: string): Promise<boolean>
  /**
   * Returns the row of a cluster, which is inserted if there is none, heard in one hour of a month. Outside of
   * transactions only, since it locks no row.
   */
  ensure(ownerId: AccountId, clusterUid: string, heard: UnixSeconds, month: MonthKey): Promise<UsageClusterId>
  /** Locks rows until the transaction ends, in the order of ids. */
  lock(ids: readonly UsageClusterId[]): Promise<void>
  /** Extends the time from the first to the last heard hour. */
  extend(id: UsageClusterId, from: UnixSeconds, to: UnixSeconds): Promise<void>
  /**
   * Stores the names that records and bindings have for clusters, where they differ: reports show them after both are
   * removed.
   */
  keepNames(): Promise<void>
  /** Returns the clusters after an id, by id: of one owner if it is given. */
  listAfter(after: number, limit: number, ownerId?: AccountId): Promise<readonly UsageCluster[]>
}
export const UsageClusterStorePort = portKey<UsageClusterStore>('usage.UsageClusterStore')

/** Makes the intervals of an owner complete for a month that is about to be closed. Repeating it changes nothing. */
export type SettleMonth = (call: Call, ownerId: AccountId, month: MonthKey) => Promise<void>

/** The kinds of objects. A row never changes. */
export interface UsageKindStore {
  /** Returns the row of a kind, which is inserted if there is none. Outside of transactions only. */
  ensure(kind: UsageKind): Promise<UsageKindId>
}
export const UsageKindStorePort = portKey<UsageKindStore>('usage.UsageKindStore')

/** An object as it is stored. */
export interface StoredObject extends UsageObject {
  readonly kindId: UsageKindId
  /** The last day on which something was heard of it, in days since the epoch. */
  readonly lastHeardDay: number
  readonly sendsHeartbeats: boolean
}
export type NewObject = Omit<StoredObject, 'id' | keyof UsageKind>

/** Names an object by the UIDs. */
export interface ObjectUid {
  readonly clusterId: UsageClusterId
  readonly uid: string
}

/** The objects whose usage is reported. */
export interface UsageObjectStore {
  find(uids: readonly ObjectUid[]): Promise<readonly StoredObject[]>
  /**
   * Inserts objects. Returns their ids in the same order; undefined if one of them exists, and then some of the others
   * may have been inserted, so that the transaction must be rolled back.
   */
  insert(objects: readonly NewObject[]): Promise<readonly UsageObjectId[] | undefined>
  /** Writes what changes of an object: its deletion, trial, last heard day and whether it sends heartbeats. */
  update(objects: readonly StoredObject[]): Promise<void>
}

/** An event that contradicts one that was received before. */
export interface EventConflict {
  readonly clusterId: UsageClusterId
  readonly eventId: string
  /** The event as JSON text. */
  readonly event: string
}

/** What was reported of objects, each change once. */
export interface UsageChangeStore {
  /** Returns the changes of objects, in any order. */
  listOf(ids: readonly UsageObjectId[]): Promise<readonly (ObjectChange & { readonly objectId: UsageObjectId })[]>
  insert(changes: readonly (ObjectChange & { readonly objectId: UsageObjectId })[], at: Date): Promise<void>
  insertConflicts(conflicts: readonly EventConflict[], at: Date): Promise<void>
}

/** An interval with the object that it is of. */
export interface StoredInterval extends UsageInterval {
  readonly clusterId: UsageClusterId
  readonly objectId: UsageObjectId
  readonly kindId: UsageKindId
}

/** The intervals of one object in one month. */
export interface ObjectMonth {
  readonly clusterId: UsageClusterId
  readonly objectId: UsageObjectId
  readonly month: MonthKey
}

/** The intervals of objects, which are derived from their changes. */
export interface UsageIntervalStore {
  insert(intervals: readonly StoredInterval[]): Promise<void>
  /** Deletes the intervals of these objects in these months. */
  remove(months: readonly ObjectMonth[]): Promise<void>
}

/** What is stored of clusters besides their objects. */
export interface ClusterFactStore {
  /** Returns the heard hours of clusters in these months. */
  hoursOf(
    clusterIds: readonly UsageClusterId[],
    months: readonly MonthKey[],
  ): Promise<readonly { readonly clusterId: UsageClusterId; readonly month: MonthKey; readonly hours: HeardHours }[]>
  /** Replaces the heard hours of a cluster in a month. */
  putHours(clusterId: UsageClusterId, month: MonthKey, hours: HeardHours): Promise<void>
  /** Returns the changes of mode of a cluster that have one of these instants and event ids. */
  findModes(
    clusterId: UsageClusterId,
    of: readonly Pick<ModeChanged, 'id' | 'at'>[],
  ): Promise<readonly Pick<ModeChanged, 'id' | 'at' | 'mode'>[]>
  insertModes(clusterId: UsageClusterId, modes: readonly Pick<ModeChanged, 'id' | 'at' | 'mode'>[]): Promise<void>
  namespaces(clusterId: UsageClusterId, uids: readonly string[]): Promise<readonly ObservedNamespace[]>
  /** Replaces what was observed of namespaces. */
  putNamespaces(clusterId: UsageClusterId, namespaces: readonly ObservedNamespace[]): Promise<void>
}

/** The stores that recording events needs, in one transaction. */
export interface UsageEventStores {
  readonly clusters: Pick<UsageClusterStore, 'lock' | 'extend'>
  readonly objects: UsageObjectStore
  readonly changes: UsageChangeStore
  readonly intervals: UsageIntervalStore
  readonly facts: ClusterFactStore
}
export type UsageEventUnitOfWork = UnitOfWork<UsageEventStores>
export const UsageEventUnitOfWorkPort = portKey<UsageEventUnitOfWork>('usage.EventUnitOfWork')

/** An interval of an object that sends heartbeats, with its present cut. */
export interface CutInterval {
  readonly objectId: UsageObjectId
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  readonly cut: UnixSeconds
  readonly lastHeardDay: number
}

/** A month into which intervals are continued, and the one before it. */
export interface CarriedMonth {
  readonly month: MonthKey
  readonly before: MonthKey
  readonly from: UnixSeconds
  readonly to: UnixSeconds
}

/** The work of jobs on the intervals of one cluster, under its lock. */
export interface UsageUpkeepStore {
  /**
   * Continues the intervals of objects that exist in a month, from the month before it, and notes that. Objects that
   * send heartbeats and were not heard from `heardDay` on are left out. Repeating it changes nothing.
   */
  carry(clusterId: UsageClusterId, into: CarriedMonth, heardDay: number): Promise<void>
  /** Removes the intervals of the months after one, and notes that. */
  takeBack(clusterId: UsageClusterId, to: MonthKey): Promise<void>
  /** Returns the intervals of a month that are cut, or whose objects were not heard on `heardDay` or later. */
  listToCut(clusterId: UsageClusterId, month: MonthKey, heardDay: number): Promise<readonly CutInterval[]>
  cut(
    clusterId: UsageClusterId,
    month: MonthKey,
    interval: Pick<CutInterval, 'objectId' | 'from' | 'cut'>,
  ): Promise<void>
}
export interface UsageUpkeepStores {
  readonly clusters: Pick<UsageClusterStore, 'lock'>
  readonly upkeep: UsageUpkeepStore
}
export type UsageUpkeepUnitOfWork = UnitOfWork<UsageUpkeepStores>
export const UsageUpkeepUnitOfWorkPort = portKey<UsageUpkeepUnitOfWork>('usage.UpkeepUnitOfWork')

/** Removes what is no longer needed, a bounded number of rows at a time. */
export interface UsageRetention {
  /** Returns the first second of the last hour in which any cluster was heard; undefined if none was. */
  lastHeard(): Promise<UnixSeconds | undefined>
  /**
   * Prepares tables for consecutive months, the last of which only bounds the one before it, and drops the intervals of
   * earlier months.
   */
  keepMonths(months: readonly MonthKey[], signal: AbortSignal): Promise<void>
  /** Removes conflicts received before an instant, at most `limit`. Returns how many. */
  removeConflicts(before: Date, limit: number): Promise<number>
  /** Removes objects that were deleted before an instant, with their changes, at most `limit`. Returns how many. */
  removeObjects(deletedBefore: UnixSeconds, limit: number): Promise<number>
}
export const UsageRetentionPort = portKey<UsageRetention>('usage.UsageRetention')
