import { portKey } from '../../../kernel/port-key.ts'

/** What the usage of an hour is counted as: core-hours, or GiB-hours of memory. */
export const meteredMeasures = ['cpu', 'memory'] as const
export type MeteredMeasure = (typeof meteredMeasures)[number]

/** A dimension of the product at the provider, and what is reported for it. */
export interface MeteredDimension {
  readonly name: string
  readonly measure: MeteredMeasure
}

/** The usage of all clusters in a time, without trials. */
export interface UsedAmounts {
  readonly milliCpuSeconds: bigint
  readonly mebibyteSeconds: bigint
}

/** Reads what was reported of clusters. */
export interface UsedHours {
  /** Returns the usage of full hours of one month, from the start of the first to the end of the last. */
  amountsBetween(from: Date, to: Date): Promise<UsedAmounts>
}
export const UsedHoursPort = portKey<UsedHours>('metering.UsedHours')

/** Usage of an hour that arrived after its quantity was fixed. Amounts are milli-core-seconds or MiB-seconds. */
export interface LateAmounts {
  /** The amount that is not in a report yet, and can still be reported. */
  readonly late: number
  /** The amount that the provider does not take. */
  readonly lost: number
  /** The quantity of the report that is being sent, fixed as that of the hour; 0 if there is none. */
  readonly difference: number
  /** How many such reports there were: the number of the newest. */
  readonly differences: number
  /** The quantities of those that the provider has recorded. */
  readonly added: number
  /** False while the operator is to be notified of usage that was lost. */
  readonly isMailed: boolean
}

/**
 * An hour of a dimension. Its quantity is fixed before it is sent, so that it is sent again as it was. `lost`: the
 * provider has not recorded it and does not take it any more.
 */
export interface MeteredHour extends LateAmounts {
  readonly dimension: string
  /** The start of the hour. */
  readonly hour: Date
  readonly state: 'pending' | 'reported' | 'lost'
  readonly quantity: number
  /** What is less than one unit, which the next hour adds: milli-core-seconds or MiB-seconds. */
  readonly rest: number
  /** Why the hour is not reported; empty if it is, or was not tried. */
  readonly reason: string
  /** The subscription that was the only one when the quantity was fixed; empty if there was none, or several. */
  readonly subscriptionRef: string
  /** The amount of one unit; 0 of an hour that an earlier release has fixed. */
  readonly unit: number
  /** The amount of the hour when it was last read; undefined of an hour that an earlier release has fixed. */
  readonly seen: number | undefined
  /** The greatest amount of the hour that was read. Usage that becomes less does not take back what was reported. */
  readonly counted: number
}

/** What was made of the usage of a dimension in a month, in units: `used` is the sum of the others. */
export interface MeteredMonth {
  readonly subscriptionRef: string
  readonly dimension: string
  readonly used: number
  readonly metered: number
  /** What the provider has not recorded and does not take any more. */
  readonly lost: number
  /** What is still to be reported. */
  readonly waiting: number
}

/** The sums of a dimension and subscription in a time: quantities, and amounts of late usage. */
export interface MeteredSums {
  readonly subscriptionRef: string
  readonly dimension: string
  readonly unit: number
  readonly metered: number
  readonly lost: number
  readonly pending: number
  readonly lateAmount: bigint
  readonly lostAmount: bigint
}

/** The hours that were reported, or are to be. */
export interface MeteredHourStore {
  /** Returns the newest hour of a dimension. */
  newest(dimension: string): Promise<MeteredHour | undefined>
  /** Returns the pending hours of a dimension, the oldest first. */
  pending(dimension: string): Promise<readonly MeteredHour[]>
  /** Adds a pending hour. Does nothing if there is one. */
  add(hour: MeteredHour, at: Date): Promise<void>
  /** Returns the hours of a dimension from an instant on, the oldest first; at most 1,000. */
  listSince(dimension: string, since: Date): Promise<readonly MeteredHour[]>
  /** Writes what is known of late usage. */
  saveLate(hour: MeteredHour, at: Date): Promise<void>
  /** Returns sums of the hours that start in a time, by subscription and dimension. */
  sums(from: Date, to: Date): Promise<readonly MeteredSums[]>
  /** Returns hours that lost usage of which the operator was not notified, the oldest first; at most 1,000. */
  listUnmailed(): Promise<readonly MeteredHour[]>
  /** Records that the operator was notified of hours, unless more was lost since they were read. */
  setMailed(hours: readonly MeteredHour[]): Promise<void>
  /** A pending hour that becomes lost is one of which the operator is to be notified. */
  setState(hour: MeteredHour, state: MeteredHour['state'], reason: string, at: Date): Promise<void>
  /**
   * Returns the numbers of hours that are not reported, by reason. Pending ones that were not tried are not counted.
   */
  unreported(): Promise<Readonly<Record<string, number>>>
}
export const MeteredHourStorePort = portKey<MeteredHourStore>('metering.MeteredHourStore')

/** What this deployment reports by itself. */
export interface HourlySettings {
  /** The product code of cloud A, or the name of the service of cloud C; undefined if nothing is reported. */
  readonly product: string | undefined
  readonly dimensions: readonly MeteredDimension[]
}
export const HourlySettingsPort = portKey<HourlySettings>('metering.HourlySettings')
