import type { Contract, ContractId } from '../contracts/types.ts'
import type { AccountId } from '../kernel/ids.ts'
import { portKey } from '../kernel/port-key.ts'
import type { MonthBounds } from './month.ts'
import type { MonthKey, UsageMonth, UsageProduct, UsedAmount } from './types.ts'

/** How many events of a cluster arrived on a day. */
export interface IntakeCounts {
  readonly accepted: number
  readonly repeated: number
  readonly refused: number
  /** Of the accepted ones: those that arrived more than 24 hours after their time. */
  readonly late: number
}

export interface IntakeSum extends IntakeCounts {
  readonly ownerId: AccountId
  readonly clusterUid: string
  /** The day of arrival, in days since the epoch. */
  readonly day: number
}

/** An event that was refused. */
export interface RefusedEvent {
  readonly ownerId: AccountId
  readonly clusterUid: string
  readonly eventId: string
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly receivedAt: Date
}

/** A month of an account with the totals of its products, as the views have them. */
export interface CustomerMonth {
  readonly accountName: string
  readonly month: UsageMonth
  /** The end of the JSON text of each product's view of clusters, in which its totals are. */
  readonly products: readonly { readonly product: UsageProduct; readonly tail: string }[]
}

/** A contract in force, with what was billed to it in a month so far; undefined if that was not computed yet. */
export interface RunningContract {
  readonly contract: Contract
  readonly used: (UsedAmount & { readonly computedAt: Date }) | undefined
}

/** What administrators see of the usage of accounts beside the views of one month. */
export interface UsageOverviewStore {
  /** Returns the newest revisions of all months of an account, ascending. */
  monthsOf(ownerId: AccountId): Promise<readonly UsageMonth[]>
  /** Returns the newest revisions of a month of all accounts that exist, by name. */
  customersIn(month: MonthKey): Promise<readonly CustomerMonth[]>
  /** Returns the contracts of an account whose terms at an instant are in force at some time of a month, by id. */
  runningContracts(
    ownerId: AccountId,
    month: MonthKey,
    bounds: MonthBounds,
    at: Date,
  ): Promise<readonly RunningContract[]>
  /** Adds counts to those that are stored. */
  addIntake(sum: IntakeSum): Promise<void>
  addRefused(events: readonly RefusedEvent[]): Promise<void>
  /** Returns the sums of an account from one day to another, both included, by day and cluster. */
  intakeOf(ownerId: AccountId, from: number, to: number): Promise<readonly IntakeSum[]>
  /** Returns the newest refused events of an account, at most `limit`. */
  refusedOf(ownerId: AccountId, limit: number): Promise<readonly RefusedEvent[]>
  /** Removes sums of days before one, and events that were refused before an instant. */
  removeIntake(beforeDay: number, refusedBefore: Date): Promise<void>
}
export const UsageOverviewStorePort = portKey<UsageOverviewStore>('usage.UsageOverviewStore')

/** What is billed of a product to a contract in a month, in units of the month with three decimals: `12.340`. */
export interface BilledProductUse {
  readonly contractId: ContractId
  readonly contractName: string
  readonly product: UsageProduct
  /** In which the contract covered the product, within the month and until now. */
  readonly seconds: number
  readonly prod: { readonly cpu: string; readonly memory: string }
  readonly nonProd: { readonly cpu: string; readonly memory: string }
}

/** What is billed of months, by contract and product. */
export interface BilledUse {
  /** Returns what the newest revision of a month says, with the figures of its report; undefined if there is none. */
  closed(
    ownerId: AccountId,
    month: MonthKey,
  ): Promise<{ readonly month: UsageMonth; readonly uses: readonly BilledProductUse[] } | undefined>
  /**
   * Computes the running month so far. Undefined if the account has more than `mostObjects` objects. Throws the reason
   * of the signal if it is aborted.
   */
  running(
    ownerId: AccountId,
    now: Date,
    signal: AbortSignal,
    mostObjects?: number,
  ): Promise<readonly BilledProductUse[] | undefined>
}
export const BilledUsePort = portKey<BilledUse>('usage.BilledUse')
