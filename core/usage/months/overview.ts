import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { monthBounds, monthName, monthOf, secondOf, yearOf } from '../month.ts'
import { perCoreMonth, perGibMonth, thousandthsOf } from '../amounts.ts'
import type { CloseFailure, CloseInput, CloseMonth } from './close.ts'
import type { ViewTotals } from '../reports/view-items.ts'
import type { MonthKey, UsageMonth, UsageProduct } from '../types.ts'
import type { RunningContract, UsageOverviewStore } from '../overview-ports.ts'

export interface GeneratedMonths {
  /** The names of the months by year. */
  readonly names: Readonly<Record<string, readonly string[]>>
  readonly months: readonly UsageMonth[]
}

/** Returns the generated months of an account, with the newest revision of each. */
export const makeListGeneratedMonths =
  ({ overview }: { readonly overview: Pick<UsageOverviewStore, 'monthsOf'> }) =>
  async (_call: SignedInCall<never>, { ownerId }: { readonly ownerId: AccountId }): Outcome<never, GeneratedMonths> => {
    const months = await overview.monthsOf(ownerId)
    const names: Record<string, string[]> = {}
    for (const { month } of months) (names[String(yearOf(month))] ??= []).push(monthName(month))
    return right({ names, months })
  }

/** The totals of a product in a month of a customer. */
export interface CustomerTotals extends ViewTotals {
  readonly product: UsageProduct
}
export interface Customer {
  readonly accountName: string
  readonly month: UsageMonth
  readonly products: readonly CustomerTotals[]
}

/** Returns a month of all customers, as their newest revisions have it. */
export const makeListCustomers =
  ({ overview }: { readonly overview: Pick<UsageOverviewStore, 'customersIn'> }) =>
  async (_call: SignedInCall<never>, { month }: { readonly month: MonthKey }): Outcome<never, readonly Customer[]> => {
    const customers = await overview.customersIn(month)
    return right(
      customers.map(({ products, ...customer }) => ({
        ...customer,
        products: products
          .map(({ product, tail }) => ({
            product,
            ...(JSON.parse(`{"items":[${tail}`) as { readonly totals: ViewTotals }).totals,
          }))
          .filter(({ objectCount }) => objectCount > 0),
      })),
    )
  }

/** What was billed to a contract in the running month so far, in its units. */
export interface RunningFigures {
  readonly contract: RunningContract['contract']
  readonly cpu: number
  readonly memory: number
  readonly computedAt: Date
  /** Undefined without a quota. */
  readonly quota:
    | { readonly limit: number; readonly billed: number; readonly excess: number; readonly usedPercent: number }
    | undefined
}

export interface RunningMonth {
  readonly month: MonthKey
  /** Those that were computed; a job does that each hour. */
  readonly contracts: readonly RunningFigures[]
}

const figuresOf = ({ contract, used }: RunningContract, month: MonthKey): readonly RunningFigures[] => {
  if (used === undefined) return []
  const cpu = Number(thousandthsOf(used.milliCpuSeconds, perCoreMonth(month))) / 1000
  const memory = Number(thousandthsOf(used.mebibyteSeconds, perGibMonth(month))) / 1000
  const { enabled, limit, metric } = contract.quota
  const billed = metric === 'cpu_core_month' ? cpu : memory
  const excess = Math.max(0, Math.round(billed * 1000) - Math.round(limit * 1000)) / 1000
  const quota = enabled
    ? { limit, billed, excess, usedPercent: limit > 0 ? Math.round((billed / limit) * 100_000) / 1000 : 0 }
    : undefined
  return [{ contract, cpu, memory, computedAt: used.computedAt, quota }]
}

/** Returns what was billed to the contracts of an account in the running month so far. */
export const makeReadRunningMonth =
  ({ overview, clock }: { readonly overview: Pick<UsageOverviewStore, 'runningContracts'>; readonly clock: Clock }) =>
  async (_call: SignedInCall<never>, { ownerId }: { readonly ownerId: AccountId }): Outcome<never, RunningMonth> => {
    const month = monthOf(secondOf(clock.now()))
    return right({
      month,
      contracts: (await overview.runningContracts(ownerId, month, monthBounds(month), clock.now())).flatMap((each) =>
        figuresOf(each, month),
      ),
    })
  }

export interface ChangedMonth {
  readonly month: UsageMonth
  readonly isNew: boolean
}

/**
 * Closes or reopens a month for a request. A client that leaves does not end the work: it is as if a command did it.
 */
export const makeChangeMonth =
  ({ close }: { readonly close: CloseMonth }) =>
  async (
    { keyed: _, ...call }: SignedInCall<never>,
    input: Pick<CloseInput, 'ownerId' | 'month' | 'as'>,
  ): Outcome<CloseFailure, ChangedMonth> => {
    const closed = await close({ ...call, signal: new AbortController().signal }, input)
    return isLeft(closed) ? closed : right({ month: closed.right.month, isNew: closed.right.isNew })
  }
