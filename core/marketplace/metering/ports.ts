import { defineFailure } from '../../kernel/failure.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import { portKey } from '../../kernel/port-key.ts'
import type {
  MeteredCloud,
  MeteringCall,
  MeterUsage,
  ProviderResult,
  RecordedCall,
  RecordedUsage,
  RecordFilter,
  ReportAnswer,
  SentUsage,
  ServiceOperation,
  UsageKey,
  UsageState,
} from './types.ts'

/** The provider refuses the usage. The code in the answer is that of the provider. */
export const UsageRefused = defineFailure(
  'UsageRefused',
  'Invalid',
  'The provider refuses the usage; `code` is its own, such as `DuplicateRequestException`.',
)
/** The provider did not answer, or not as it should. */
export const MeteringFailed = defineFailure(
  'MeteringFailed',
  'Upstream',
  'The provider did not answer as it should; `code` is its own, or `RequestTimeout`, `RequestError`, ' +
    '`InvalidProviderResponse` or `ProviderNotConfigured`.',
)
/** The provider answers 429. */
export const MeteringThrottled = defineFailure(
  'MeteringThrottled',
  'Backoff',
  'The provider has too many requests; `code` is its own. Try again after `Retry-After` seconds.',
)
/** The report names no time or no value. */
export const UsageInvalid = defineFailure(
  'UsageInvalid',
  'Unprocessable',
  'The end of the report is not after its start, or it has no value.',
)
/** Other usage of the same metric was reported for a part of the time. */
export const UsageOverlaps = defineFailure(
  'UsageOverlaps',
  'Unprocessable',
  'Other usage of this metric was reported, or may have been, for a part of the same time.',
)

/** Codes of failures that are not the provider's. */
export const ownCodes = {
  timeout: 'RequestTimeout',
  unreachable: 'RequestError',
  badAnswer: 'InvalidProviderResponse',
  notConfigured: 'ProviderNotConfigured',
  throttled: 'ThrottlingException',
} as const

/** The metering service of cloud A. */
export interface CloudAMetering {
  /**
   * Reports usage. Never rejects. It returns within ten seconds. The provider takes two requests with one client token
   * as one.
   */
  report(usage: MeterUsage, clientToken: UsageKey): Promise<ProviderResult<string>>
}
export const CloudAMeteringPort = portKey<CloudAMetering>('metering.CloudAMetering')

/** Why the provider of cloud C takes no usage of a consumer. */
export interface CheckError {
  readonly code: string
  readonly detail: string
}

/** The service control of cloud C. Neither method rejects; each returns within ten seconds. */
export interface ServiceControl {
  /** Asks whether usage of the consumer is taken. Accepted: the errors; none if it is. */
  check(operation: ServiceOperation): Promise<ProviderResult<readonly CheckError[]>>
  /** Reports usage. Accepted: the answer, which may list errors of operations. */
  report(operation: ServiceOperation): Promise<ProviderResult<ReportAnswer>>
}
export const ServiceControlPort = portKey<ServiceControl>('metering.ServiceControl')

/** Makes keys of usage, and digests. */
export interface UsageDigests {
  /** Returns a UUID of version 5: of the same texts the same. */
  key(texts: readonly string[]): UsageKey
  /** Returns a digest, 64 hexadecimal digits. */
  digest(texts: readonly string[]): string
}
export const UsageDigestsPort = portKey<UsageDigests>('metering.UsageDigests')

/** What was found when usage was to be sent. */
export type BegunUsage =
  /** To be sent. Doubtful: it was sent before without an answer, so the provider may have recorded it. */
  | { readonly kind: 'send'; readonly isDoubtful: boolean }
  /** It was accepted before. */
  | { readonly kind: 'accepted'; readonly answer: string }
  /** Other callers had it for longer than one of them takes. */
  | { readonly kind: 'busy' }
  /** Other usage of the same scope covers a part of the time. */
  | { readonly kind: 'overlap'; readonly start: Date; readonly end: Date; readonly state: UsageState }

/** Usage that was sent, and the calls, which are only added to. */
export interface UsageLedger {
  /**
   * Claims usage that is about to be sent, unless it was accepted before. While another caller sends the same usage,
   * waits for it, somewhat longer than a claim lasts, which is half a minute: the claim of a process that ended is
   * taken over. Of several callers at once, also on several instances, one claims usage of a scope first, and the
   * others find it.
   * @param refusesOverlap also returns other usage of the scope that is not refused and covers a part of the time.
   */
  begin(usage: SentUsage, refusesOverlap: boolean, at: Date): Promise<BegunUsage>
  /** Records the state of claimed usage, and the call, and ends the claim. */
  settle(usage: SentUsage, state: UsageState, call: MeteringCall, at: Date): Promise<void>
  /** Returns usage that was sent, the newest first. */
  listUsage(filter: RecordFilter<UsageState>, page: PageRequest): Promise<Page<RecordedUsage>>
  /** Returns the calls, the newest first. */
  listCalls(filter: RecordFilter<MeteringCall['outcome']>, page: PageRequest): Promise<Page<RecordedCall>>
  /** Removes what ended before an instant. Returns how many; at most `limit` of each table. */
  removeBefore(at: Date, limit: number): Promise<number>
}
export const UsageLedgerPort = portKey<UsageLedger>('metering.UsageLedger')

/** The subscription whose usage this deployment reports. */
export interface MeteredSubscriptions {
  /** Returns the reference of the subscription that is bound or running; undefined if there is none, or several. */
  current(): Promise<string | undefined>
  /** Counts usage that the provider accepted. The first makes a subscription that is bound running. */
  reported(ref: string): Promise<void>
}
export const MeteredSubscriptionsPort = portKey<MeteredSubscriptions>('metering.MeteredSubscriptions')

/** Calls since the start of this process, by what became of them. */
export interface MeteringCounters {
  count(outcome: MeteringCall['outcome'] | 'partial' | 'repeated'): void
  counts(): Readonly<Record<string, number>>
}
export const MeteringCountersPort = portKey<MeteringCounters>('metering.Counters')

export interface MeteringSettings {
  /** The cloud of this deployment; undefined if its marketplace takes no usage here. */
  readonly cloud: MeteredCloud | undefined
  /** Cloud C: the consumer to whom usage is charged; undefined if it is not configured. */
  readonly consumerId: string | undefined
  /** Cloud C: an answer that lists errors of operations is a failure. */
  readonly isStrict: boolean
}
export const MeteringSettingsPort = portKey<MeteringSettings>('metering.Settings')
