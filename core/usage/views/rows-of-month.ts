import type { ClusterInMonth, ObjectUsage, ProductMonth } from '../months/usage-types.ts'
import type { UsageMonthId } from '../types.ts'
import type { Rounding } from './measures.ts'
import type { UsageViewStore } from './ports.ts'

/** The part of the store that writes views. */
export type UsageViewSink = Pick<UsageViewStore, 'begin' | 'addPiece' | 'complete'>

/** What a writer of rows gets. */
export interface RowsGiven {
  readonly views: UsageViewSink
  readonly monthId: UsageMonthId
  readonly month: ProductMonth
  readonly rounding: Rounding
}

/** Writes the rows of one or more views while the objects of a month are read, in their order. */
export interface RowsOfMonth {
  /** The objects of this cluster follow. */
  startCluster?(cluster: ClusterInMonth): void
  /** `amounts` are the sums of the parts of the object. */
  add(usage: ObjectUsage, amounts: readonly bigint[]): Promise<void> | void
  endCluster?(): Promise<void>
  /** Writes what was not written yet, and completes the views. */
  finish(): Promise<void>
}
