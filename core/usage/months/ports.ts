import type { Contract } from '../../contracts/types.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId, Brand } from '../../kernel/ids.ts'
import type { Call } from '../../kernel/principal.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { MailOutbox } from '../../mail/ports.ts'
import type { FinalMonthOutbox } from '../final-months/ports.ts'
import type {
  BilledContract,
  MonthKey,
  TrialClaim,
  UnixSeconds,
  UsageClusterId,
  UsageMonth,
  UsageMonthId,
  UsageMonthStatus,
  UsageObject,
  UsageProduct,
  UsageSegment,
} from '../types.ts'
import type { BindingTime } from './coverage.ts'
import type { Span } from './presence.ts'
import type { ModeChange } from './segments.ts'
import type { ClientNamespace, CutInterval, DayUsage } from '../usage-types.ts'

/** The month has not ended, or no usage was reported in it. */
export const UsageMonthNotClosable = defineFailure(
  'UsageMonthNotClosable',
  'Invalid',
  'The month has not ended, or its events are no longer kept.',
)
/** Another process closes the month. */
export const UsageMonthBusy = defineFailure('UsageMonthBusy', 'Conflict', 'Another process closes the month.')
/** The month has no revision, or no such revision. */
export const UsageMonthMissing = defineFailure(
  'UsageMonthMissing',
  'NotFound',
  'The month was not closed yet, or no cluster with this UID reports usage.',
)

/** What is known of a cluster that divides its time. */
export interface ClusterFacts {
  readonly id: UsageClusterId
  readonly uid: string
  /**
   * Of the record of the cluster or its binding; if there is neither, the last one that was known, and the UID without
   * one.
   */
  readonly displayName: string
  /** The hours in which it was heard, as bits, ascending by month. */
  readonly presence: readonly { readonly month: MonthKey; readonly bits: Uint8Array }[]
  readonly outages: readonly Span[]
  readonly modeChanges: readonly ModeChange[]
  readonly bindings: readonly BindingTime[]
  /** The namespaces of client organizations, ascending by UID. */
  readonly clientNamespaces: readonly ClientNamespace[]
}

/** What is known of an owner whose usage is computed. */
export interface OwnerFacts {
  /** Ascending by UID. */
  readonly clusters: readonly ClusterFacts[]
  /** All contracts of the owner, ascending by id. */
  readonly contracts: readonly BilledContract[]
  /** The objects that were reported as trials, whether they are ones or not. In any order. */
  readonly trialClaims: readonly TrialClaim[]
}

/** An object with its intervals in a month. */
export interface ReportedObject {
  readonly object: UsageObject
  /** In the order of time, without overlaps. */
  readonly intervals: readonly CutInterval[]
}

/** What is read of the tables of events for one month. */
export interface ReadWindow {
  readonly month: MonthKey
  readonly from: UnixSeconds
  readonly to: UnixSeconds
  /** Of the presence: a silence of up to 35 days may begin before the month and end after it. */
  readonly firstPresence: MonthKey
  readonly lastPresence: MonthKey
  /** Outages that ended before are left out. */
  readonly outagesFrom: UnixSeconds
}

/**
 * Reads what was reported. Each call of an iterator returns within a few milliseconds of work, so that it holds up
 * nothing else.
 */
export interface UsageInputs {
  factsOf(ownerId: AccountId, window: ReadWindow): Promise<OwnerFacts>
  /** Returns the objects of all products in a cluster that have intervals in the month, ascending by UID. */
  objectsOf(clusterId: UsageClusterId, window: ReadWindow): AsyncIterable<readonly ReportedObject[]>
}
export const UsageInputsPort = portKey<UsageInputs>('usage.UsageInputs')

/** Names a spool within this process. */
export type SpoolId = Brand<number, 'SpoolId'>

/** A part of a spool, in bytes. */
export interface SpoolRange {
  readonly spool: SpoolId
  readonly from: number
  readonly to: number
}

/** Appends to a spool what is read of one cluster and product. One writer at a time. */
export interface SpoolWriter {
  /** Throws `Unavailable` if there is no space, as the other methods do. */
  addObjects(objects: readonly ReportedObject[]): Promise<void>
  addDays(days: readonly DayUsage[]): Promise<void>
  /** Returns where that is what this writer added, and a digest of it that is equal for equal values. */
  end(): Promise<{ readonly range: SpoolRange; readonly digest: string }>
}

/** What is kept outside of memory while a month is closed. All threads of the process see the same spools. */
export interface Spools {
  open(): Promise<SpoolId>
  writer(spool: SpoolId): SpoolWriter
  /** Returns the objects of a range, which are of this cluster and product, in order. */
  objects(range: SpoolRange, of: Pick<UsageObject, 'clusterId' | 'product'>): AsyncIterable<readonly ReportedObject[]>
  /** Returns the days of a range, which are of this product. */
  days(range: SpoolRange, product: UsageProduct): Promise<readonly DayUsage[]>
  /** No thread uses the spool any more. */
  remove(spool: SpoolId): Promise<void>
}

export interface GatherInput {
  readonly call: Call
  readonly ownerId: AccountId
  readonly month: MonthKey
  /** Now. */
  readonly asOf: UnixSeconds
  readonly onProgress: (done: number, of: number) => void
}

/** What was read of a month, before anything of it is written. */
export interface GatheredMonth {
  /** Of everything that was read. */
  readonly inputHash: string
  readonly segments: readonly UsageSegment[]
  /** How many objects were read. */
  readonly objectCount: number
  /** Writes the views of all products. */
  writeViews(monthId: UsageMonthId, signal: AbortSignal, onProgress: (done: number, of: number) => void): Promise<void>
  /** Removes what is kept outside of memory. */
  remove(): Promise<void>
}

/**
 * Completes the intervals of a month and reads everything that was reported of it, once. Throws if it is aborted, and
 * `Unavailable` if the database cannot be reached or the work was ended from outside.
 */
export type GatherMonth = (input: GatherInput) => Promise<GatheredMonth>

/** An owner to whom usage was reported. */
export interface ReportingOwner {
  readonly ownerId: AccountId
  readonly firstHeard: UnixSeconds
}

/** A revision that is being written. It is visible once it is published. */
export interface NewRevision {
  readonly ownerId: AccountId
  readonly month: MonthKey
  readonly revision: number
  readonly status: UsageMonthStatus
  /** Up to when events were considered. */
  readonly watermark: Date
  readonly inputHash: string
  readonly codeVersion: number
  readonly generatedAt: Date
}

/** The revisions of months. All reads but `abandoned` see published revisions only. */
export interface MonthStore {
  /** Returns the newest revision. In a transaction, locks it until that ends. */
  newest(ownerId: AccountId, month: MonthKey): Promise<(UsageMonth & { readonly codeVersion: number }) | undefined>
  /** Returns the newest revisions of months from `first` on, of all owners. */
  listSince(first: MonthKey): Promise<readonly UsageMonth[]>
  owners(): Promise<readonly ReportingOwner[]>
  /** Adds a revision that is not visible. */
  begin(revision: NewRevision): Promise<UsageMonthId>
  addSegments(monthId: UsageMonthId, segments: readonly UsageSegment[]): Promise<void>
  /** Returns the segments of a product in a cluster from which a revision was computed, ascending. */
  segmentsOf(monthId: UsageMonthId, clusterId: UsageClusterId, product: UsageProduct): Promise<readonly UsageSegment[]>
  /** Returns revisions of a month that were never published, or were replaced. */
  abandoned(ownerId: AccountId, month: MonthKey): Promise<readonly UsageMonthId[]>
  /** Makes a published revision invisible, so that another one with the same number can take its place. */
  withdraw(id: UsageMonthId): Promise<void>
  /** Makes a revision visible. Returns false if it does not exist any more, or is being removed. */
  publish(id: UsageMonthId): Promise<boolean>
  /**
   * Removes a revision with all that belongs to it, in short transactions; nothing if it is visible. From then on it
   * cannot be published.
   */
  remove(id: UsageMonthId): Promise<void>
}
export const MonthStorePort = portKey<MonthStore>('usage.MonthStore')

/** What it takes to tell people of a month, in the transaction that publishes it. */
export interface AnnounceStores {
  readonly mail: MailOutbox
  readonly events: Pick<FinalMonthOutbox, 'add'>
  /** Returns the contracts of the account that are in force at some time of the month. */
  readonly contractsIn: (
    ownerId: UsageMonth['ownerId'],
    month: MonthKey,
  ) => Promise<readonly Pick<Contract, 'ownerName' | 'emails'>[]>
}

export interface MonthStores extends AnnounceStores {
  readonly months: MonthStore
  readonly audit: AuditTrail
}
export type MonthUnitOfWork = UnitOfWork<MonthStores>
export const MonthUnitOfWorkPort = portKey<MonthUnitOfWork>('usage.MonthUnitOfWork')

/** Writes the report of a revision that is not visible yet, of its views. */
export interface MonthReport {
  write(month: UsageMonth, signal: AbortSignal): Promise<void>
}
export const MonthReportPort = portKey<MonthReport>('usage.MonthReport')

/** What contracts have used so far in a month. */
export interface ConsumptionStore {
  /**
   * Returns the contracts of all accounts whose present terms have a start and an end around a time between two
   * instants.
   */
  listInForce(from: Date, to: Date, now: Date): Promise<readonly Contract[]>
  find(
    contractId: number,
    month: MonthKey,
  ): Promise<{ readonly milliCpuSeconds: bigint; readonly mebibyteSeconds: bigint } | undefined>
  set(
    contractId: number,
    month: MonthKey,
    used: { readonly milliCpuSeconds: bigint; readonly mebibyteSeconds: bigint },
    at: Date,
  ): Promise<void>
  /** Returns false if the threshold was recorded as reached before. */
  markAlerted(contractId: number, month: MonthKey, threshold: number, at: Date): Promise<boolean>
}
export const ConsumptionStorePort = portKey<ConsumptionStore>('usage.ConsumptionStore')
