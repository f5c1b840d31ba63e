import { token } from '../../../kernel/token.ts'

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
  amountsOf(hour: Date): Promise<UsedAmounts>
}
export const UsedHoursToken = token<UsedHours>('metering.UsedHours')

/**
 * An hour of a dimension. Its quantity is fixed before it is sent, so that it is sent again as it was. `lost`: the
 * provider has not recorded it and does not take it any more.
 */
export interface MeteredHour {
  readonly dimension: string
  /** The start of the hour. */
  readonly hour: Date
  readonly state: 'pending' | 'reported' | 'lost'
  readonly quantity: number
  /** What is less than one unit, which the next hour adds: milli-core-seconds or MiB-seconds. */
  readonly rest: number
  /** Why the hour is not reported; empty if it is, or was not tried. */
  readonly reason: string
}

/** The hours that were reported, or are to be. */
export interface MeteredHourStore {
  /** Returns the newest hour of a dimension. */
  newest(dimension: string): Promise<MeteredHour | undefined>
  /** Returns the pending hours of a dimension, the oldest first. */
  pending(dimension: string): Promise<readonly MeteredHour[]>
  /** Adds a pending hour. Does nothing if there is one. */
  add(hour: MeteredHour, at: Date): Promise<void>
  setState(hour: MeteredHour, state: MeteredHour['state'], reason: string, at: Date): Promise<void>
  /**
   * Returns the numbers of hours that are not reported, by reason. Pending ones that were not tried are not counted.
   */
  unreported(): Promise<Readonly<Record<string, number>>>
}
export const MeteredHourStoreToken = token<MeteredHourStore>('metering.MeteredHourStore')

/** What this deployment reports by itself. */
export interface HourlySettings {
  /** The product code of cloud A, or the name of the service of cloud C; undefined if nothing is reported. */
  readonly product: string | undefined
  readonly dimensions: readonly MeteredDimension[]
}
export const HourlySettingsToken = token<HourlySettings>('metering.HourlySettings')
