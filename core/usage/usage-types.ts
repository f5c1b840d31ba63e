import type {
  ClusterMode,
  MonthKey,
  UnixSeconds,
  UsageClass,
  UsageKind,
  UsageObject,
  UsageProduct,
  UsedAmount,
} from './types.ts'

/** What was used for one contract in one class. */
export interface UsagePart extends UsedAmount {
  readonly use: UsageClass
  /** 0 for the classes that are free for want of a contract. */
  readonly contractId: number
}

/** A change of what an object occupies, clipped to a month. */
export interface ObjectSegment {
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  readonly milliCpu: number
  readonly memoryMib: number
  readonly replicas: number
  readonly generation: number
}

/**
 * What an object occupied in a time of a month. `cutAt` is at most `to`: where it ends because the object was not heard
 * any more.
 */
export interface CutInterval extends ObjectSegment {
  readonly cutAt: UnixSeconds
}

/** What one object used in a month. */
export interface ObjectUsage {
  readonly object: UsageObject
  readonly clusterUid: string
  /** One for each contract and class; empty if the object did not exist while its cluster counted. */
  readonly parts: readonly UsagePart[]
  /** The number of changes of the object that were reported on each day of the month. */
  readonly dailyEvents: readonly number[]
  /** What the object occupied while its cluster counted, in the order of time: what is used, by time. */
  readonly segments: readonly ObjectSegment[]
  /** What the object used while its cluster was in each mode, in the order of time. */
  readonly modes: readonly ({
    readonly from: UnixSeconds
    readonly to: UnixSeconds
    readonly mode: ClusterMode
  } & UsedAmount)[]
}

/** What the objects of one kind used on one day, in one cluster or in all of them. */
export interface DayUsage extends UsageKind, UsedAmount {
  /** 1 to 31. */
  readonly day: number
  readonly use: UsageClass
}

/** A namespace that a cluster has reported as that of a client organization. */
export interface ClientNamespace {
  readonly namespaceUid: string
  /** The name of the organization. */
  readonly clientOrg: string
}

/** A cluster in a month. */
export interface ClusterInMonth {
  readonly clusterUid: string
  /** Of the cluster's record or binding; the UID if there is neither. */
  readonly displayName: string
  readonly modes: readonly { readonly from: UnixSeconds; readonly to: UnixSeconds; readonly mode: ClusterMode }[]
  /** In which the cluster was heard, or is taken for heard. */
  readonly heardSeconds: number
  /** Ascending; those to which it was bound for a product in the month. */
  readonly contractIds: readonly number[]
  readonly clientNamespaces: readonly ClientNamespace[]
}

/** Terms of a contract that covered a product in a part of a month. */
export interface TermsInMonth {
  /** Of the version; as `UsageSegment.termsNumber`. */
  readonly number: number
  /** In which they were in force, within the month. */
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  readonly product: string
  readonly features: readonly string[]
  /** Of the contract, as these terms have them. */
  readonly startsAt: Date
  readonly endsAt: Date
  readonly quota: { readonly metric: 'memory_gib_month' | 'cpu_core_month'; readonly limit: number } | undefined
}

/** A contract that was in force in a month. */
export interface ContractInMonth {
  readonly id: number
  readonly name: string
  /** Of the last terms in the month. */
  readonly product: string
  readonly features: readonly string[]
  /**
   * From when it is in force, and just after the last second: its end, or its revocation. Of the last terms in the
   * month.
   */
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  /** Of the month, if limits were changed in it. */
  readonly quota: { readonly metric: 'memory_gib_month' | 'cpu_core_month'; readonly limit: number } | undefined
  /** Ascending by time. */
  readonly terms: readonly TermsInMonth[]
}

/** Everything from which the views of one product in one month of an owner are built. */
export interface ProductMonth {
  readonly product: UsageProduct
  readonly month: MonthKey
  /** Ascending by cluster UID and object UID. May be read once. */
  readonly objects: AsyncIterable<readonly ObjectUsage[]>
  /** Of all clusters together. */
  readonly days: readonly DayUsage[]
  /** Returns the days of one cluster. */
  daysOf(clusterUid: string): Promise<readonly DayUsage[]>
  readonly clusters: readonly ClusterInMonth[]
  readonly contracts: readonly ContractInMonth[]
}
