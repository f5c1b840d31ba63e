import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Contract } from '../../contracts/types.ts'
import type { Caches } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { monthBounds, monthName, monthOf, secondOf, yearOf } from '../month.ts'
import { perCoreMonth, perGibMonth, thousandthsOf } from '../amounts.ts'
import { consumptionOf } from './consumption.ts'
import type { UsageInputs } from './ports.ts'
import type { CloseFailure, CloseInput, CloseMonth } from './close.ts'
import type { ViewTotals } from '../reports/view-items.ts'
import type { MonthKey, UsageMonth, UsageProduct, UsedAmount } from '../types.ts'
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
  /** Those that were computed. */
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

interface RunningDeps {
  readonly overview: Pick<UsageOverviewStore, 'runningContracts'>
  readonly inputs: UsageInputs
  readonly clock: Clock
  readonly caches: Caches
}

/** A pass over the use of an account. */
interface Pass {
  readonly month: MonthKey
  readonly computedAt: Date
  /** Undefined if the account has too many objects. */
  readonly used: Promise<ReadonlyMap<number, UsedAmount> | undefined>
  readonly contractIds: ReadonlySet<number>
}

const passMilliseconds = 300_000
/** The figures of larger accounts are those of the hourly job. */
const mostObjectsOfRead = 20_000
const keptPasses = 1_000

/**
 * Returns what was billed to the contracts of an account in the running month so far. Of an account with at most 20,000
 * objects it is computed when it is read, once in five minutes; of a larger one, each hour by the job.
 */
export const makeReadRunningMonth = ({ overview, inputs, clock, caches }: RunningDeps) => {
  const passes = caches.make<AccountId, Pass>({ maxEntries: keptPasses })
  const passOf = (ownerId: AccountId, contracts: readonly Contract[], month: MonthKey, now: Date): Pass => {
    const known = passes.get(ownerId)
    const age = known === undefined ? NaN : now.getTime() - known.computedAt.getTime()
    const isFresh = known?.month === month && age >= 0 && age < passMilliseconds
    if (isFresh && contracts.every(({ id }) => known.contractIds.has(id))) return known
    // It is shared: a client that leaves does not end it.
    const { signal } = new AbortController()
    const used = consumptionOf(inputs, { contracts, month, now, signal }, mostObjectsOfRead)
    const pass = { month, computedAt: now, used, contractIds: new Set<number>(contracts.map(({ id }) => id)) }
    passes.set(ownerId, pass)
    used.catch(() => passes.get(ownerId) === pass && passes.delete(ownerId))
    return pass
  }
  return async (
    _call: SignedInCall<never>,
    { ownerId }: { readonly ownerId: AccountId },
  ): Outcome<never, RunningMonth> => {
    const now = clock.now()
    const month = monthOf(secondOf(now))
    const running = await overview.runningContracts(ownerId, month, monthBounds(month), now)
    const pass = passOf(
      ownerId,
      running.map(({ contract }) => contract),
      month,
      now,
    )
    const computed = await pass.used
    const newest = ({ contract, used }: RunningContract): RunningContract => {
      const own = computed?.get(contract.id)
      const isStoredNewer = used !== undefined && used.computedAt > pass.computedAt
      return own === undefined || isStoredNewer
        ? { contract, used }
        : { contract, used: { ...own, computedAt: pass.computedAt } }
    }
    return right({ month, contracts: running.flatMap((each) => figuresOf(newest(each), month)) })
  }
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
