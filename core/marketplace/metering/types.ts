import type { FreeObject } from '../../kernel/json.ts'

/** The clouds whose marketplaces take usage. */
export type MeteredCloud = 'cloudA' | 'cloudC'

/** A part of the usage of an hour, by tags that the vendor chose. */
export interface UsageAllocation {
  readonly quantity: number
  readonly tags: readonly { readonly key: string; readonly value: string }[]
}

/** The usage of one dimension in one hour, as the marketplace of cloud A takes it. */
export interface MeterUsage {
  readonly productCode: string
  /** An instant in the hour. */
  readonly timestamp: Date
  readonly dimension: string
  /** The provider checks the request and records nothing. */
  readonly isDryRun: boolean
  /** 0 to 2^31-1. Undefined counts as 0 at the provider. */
  readonly quantity: number | undefined
  readonly allocations: readonly UsageAllocation[] | undefined
}

/** The usage of one dimension in a time, as it is reported for the marketplace of cloud C. */
export interface UsageReport {
  /** The name of the operation; empty for the default. */
  readonly name: string
  readonly serviceName: string
  readonly dimension: string
  readonly start: Date
  readonly end: Date
  readonly labels: Readonly<Record<string, string>>
  readonly value: UsageValue
  /**
   * The number of an addition to usage of the same time that was reported before, which the provider adds. Undefined for
   * other reports, which are refused if they overlap.
   */
  readonly difference?: number
}
export type UsageValue = { readonly int64: bigint } | { readonly double: number }

/** A report as the provider of cloud C takes it. */
export interface ServiceOperation extends Pick<UsageReport, 'serviceName' | 'start' | 'end' | 'labels' | 'value'> {
  /** Of the same usage it is the same: the provider counts an id once. */
  readonly operationId: string
  readonly operationName: string
  readonly consumerId: string
  readonly metricName: string
}

/** Identifies usage: of the same usage it is the same. */
export type UsageKey = string

/**
 * What is known of usage that was sent. `sent`: there is no answer yet, or the process ended before. `unknown`: the
 * answer was lost. The provider may have recorded either.
 */
export const usageStates = ['sent', 'accepted', 'refused', 'unknown'] as const
export type UsageState = (typeof usageStates)[number]

/** What usage is, in words: for those who read the record. */
export interface UsageWords {
  /** The product code of cloud A, or the name of the service of cloud C. */
  readonly product: string
  /** The dimension of cloud A, or the name of the metric of cloud C. */
  readonly dimension: string
  readonly quantity: string
  /** Cloud C: the consumer to whom usage is charged; empty for cloud A, which knows the customer by the credentials. */
  readonly consumer: string
}

/** Usage that is being sent. */
export interface SentUsage extends UsageWords {
  readonly key: UsageKey
  readonly cloud: MeteredCloud
  /** What must not be reported twice for one time: the metric with its labels. A digest, 64 hexadecimal digits. */
  readonly scope: string
  readonly start: Date
  readonly end: Date
  /** Who requested it: the login of a user, or the name of the job. */
  readonly askedBy: string
  /** The reference of the subscription that it is usage of; empty if it is not known. */
  readonly subscriptionRef: string
}

/** How a provider took a request. */
export type ProviderResult<Accepted> =
  | { readonly kind: 'accepted'; readonly answer: Accepted; readonly attempts: number }
  /** The provider said no: nothing is recorded. The code is its own. */
  | {
      readonly kind: 'refused'
      readonly code: string
      readonly message: string
      readonly attempts: number
      /** Of a 429 of the provider: how long it wants to be left alone. */
      readonly retryAfterSeconds?: number
    }
  /** There is no usable answer. */
  | {
      readonly kind: 'failed'
      readonly code: string
      readonly message: string
      /** Whether the request may have reached the provider: the usage may be recorded. */
      readonly mayBeRecorded: boolean
      /** The name and the message of an error that is not the provider's. */
      readonly cause?: { readonly name: string; readonly message: string }
      readonly attempts: number
    }

/** The answer of cloud C to a report: its JSON object. */
export type ReportAnswer = FreeObject

/** What became of a call. `failed`: nothing was sent. */
export const callOutcomes = ['accepted', 'refused', 'unknown', 'failed'] as const

/** A call to a provider, as it is recorded. */
export interface MeteringCall {
  readonly outcome: (typeof callOutcomes)[number]
  /** The code of the failure; empty if there is none. */
  readonly code: string
  /** The id of the record at the provider, or its answer as JSON. */
  readonly answer: string
  readonly attempts: number
  readonly milliseconds: number
}

/** Usage as the record has it. */
export interface RecordedUsage extends Omit<SentUsage, 'scope' | 'askedBy'> {
  readonly state: UsageState
  /** Of accepted usage: the id of the record at the provider, or its answer as JSON. */
  readonly answer: string
  readonly changedAt: Date
}

/** A call as the record has it, with the usage that it reported. */
export interface RecordedCall extends MeteringCall, UsageWords {
  readonly id: number
  readonly key: UsageKey
  readonly cloud: MeteredCloud
  readonly at: Date
  readonly askedBy: string
  readonly subscriptionRef: string
}

/** Selects rows of the record. Absent fields select all. */
export interface RecordFilter<Outcome extends string> {
  readonly subscriptionRef?: string
  /** From this instant on: the start of usage, or the instant of a call. */
  readonly since?: Date
  /** Before this instant. */
  readonly until?: Date
  readonly outcome?: Outcome
}
