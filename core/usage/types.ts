import type { Contract, TermsVersion } from '../contracts/types.ts'
import type { AccountId, Brand } from '../kernel/ids.ts'

/** The products whose use is reported, as the paths of the reports spell them. */
export const usageProducts = ['dbProduct', 'backupProduct', 'vaultProduct', 'ingressProduct'] as const
export type UsageProduct = (typeof usageProducts)[number]

/** Seconds since the epoch, UTC. All arithmetic of usage is in whole seconds. */
export type UnixSeconds = Brand<number, 'UnixSeconds'>
/** A calendar month in UTC as `year * 100 + month`: 202611. Reports are for the years 2000 to 9998. */
export type MonthKey = Brand<number, 'MonthKey'>

/** The months by their English names, January first. */
export const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

/** The row of a cluster that reports usage to an owner. */
export type UsageClusterId = Brand<number, 'UsageClusterId'>
/** The row of an object whose usage is reported. */
export type UsageObjectId = Brand<number, 'UsageObjectId'>
/** The row of a product with an API group and a kind. */
export type UsageKindId = Brand<number, 'UsageKindId'>
/** The row of one revision of the month of one owner. */
export type UsageMonthId = Brand<number, 'UsageMonthId'>

/** The mode of a cluster. Only a cluster in mode `prod` is production; without an event, a cluster is not. */
export type ClusterMode = 'prod' | 'non-prod'

/**
 * How a second of usage is billed. `trial`: the first month of an object that its creator marked as a trial. `free`: no
 * contract of the owner covers the product on the cluster. Both are free; the others are billed to the contract.
 */
export const usageClasses = ['prod', 'non-prod', 'trial', 'free'] as const
export type UsageClass = (typeof usageClasses)[number]

/** What an object occupies. The product of either with the seconds of a month is below 2^53. */
export interface ResourceAmount {
  /** 0 to 10^9. */
  readonly milliCpu: number
  /** 0 to 10^9. */
  readonly memoryMib: number
}

/** What was used: an amount of resources, multiplied by time. Exact. */
export interface UsedAmount {
  readonly milliCpuSeconds: bigint
  readonly mebibyteSeconds: bigint
}

/** An API group and kind of a product. */
export interface UsageKind {
  readonly product: UsageProduct
  readonly group: string
  readonly kind: string
}

/**
 * An object whose usage is reported. The object of a deleted name that is made again has another UID and is another
 * object.
 */
export interface UsageObject extends UsageKind {
  readonly id: UsageObjectId
  readonly clusterId: UsageClusterId
  readonly uid: string
  readonly namespace: string
  readonly namespaceUid: string
  readonly name: string
  readonly createdAt: UnixSeconds
  readonly deletedAt: UnixSeconds | undefined
  /** The end of its trial; undefined if it is no trial. A trial begins with the creation. */
  readonly trialEndsAt: UnixSeconds | undefined
}

/** An object that was reported as a trial, whether it is one or not. */
export interface TrialClaim extends UsageKind {
  readonly objectId: UsageObjectId
  readonly clusterId: UsageClusterId
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly createdAt: UnixSeconds
}

/** A contract with the versions of its terms, as usage is billed by it. */
export interface BilledContract extends Pick<Contract, 'id' | 'name' | 'revokedAt'> {
  /** Those that are in force at some time: ascending, without gaps, the last one without an end. */
  readonly timeline: readonly TermsVersion[]
}

/**
 * A time in which an object occupied the same resources. Cut at the ends of months, so that a month has all of its
 * rows.
 */
export interface UsageInterval extends ResourceAmount {
  readonly month: MonthKey
  readonly from: UnixSeconds
  /** Just after the last second. */
  readonly to: UnixSeconds
  readonly generation: number
  readonly replicas: number
}

/** The time of a cluster in which the mode and the contract of a product are the same, and the cluster was heard. */
export interface UsageSegment {
  readonly clusterId: UsageClusterId
  readonly product: UsageProduct
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  readonly mode: ClusterMode
  /** 0 if no contract covers the product: the usage is free. */
  readonly contractId: number
  /**
   * The version of the terms of the contract by which it covers the product; 0 without a contract, and in revisions of
   * earlier releases.
   */
  readonly termsNumber: number
}

/** `provisional` from the first day of the next month; `final` 72 hours later. A reopened month has a new revision. */
export type UsageMonthStatus = 'provisional' | 'final'

/** One revision of the month of an owner. A revision never changes once it is final, and remains readable. */
export interface UsageMonth {
  readonly id: UsageMonthId
  readonly ownerId: AccountId
  readonly month: MonthKey
  readonly revision: number
  readonly status: UsageMonthStatus
  readonly generatedAt: Date
  /** A digest of everything from which the revision was computed: 64 hexadecimal digits. */
  readonly inputHash: string
}

/** The names of the views, as the paths of the reports spell them. */
export type UsageViewName =
  | 'objects-usage-view'
  | 'clusters-usage-view'
  | 'namespaces-usage-view'
  | 'gks-usage-view'
  | 'contracts-usage-view'
  | 'object-quota-history-summaries-view'
  | 'objects-cluster-mode-usage-view'

/** `total`: all use. `billable`: divided into production, other and free use. */
export const usageViewTypes = ['total', 'billable'] as const
export type UsageViewType = (typeof usageViewTypes)[number]
