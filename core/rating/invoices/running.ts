import { left, right } from 'fp-ts/lib/Either.js'
import type { ContractId } from '../../contracts/types.ts'
import type { Caches } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { BilledUse } from '../../usage/overview-ports.ts'
import type { MonthKey } from '../../usage/types.ts'
import { decimal, digitsOf, minorText } from '../money.ts'
import { monthOf, monthText } from '../months.ts'
import type { CustomerStore } from '../ports.ts'
import type { Customer } from '../types.ts'
import type { InvoiceUnitOfWork } from './ports.ts'
import type { PriceReads, RatedGroup } from './rate-account.ts'
import { rateAccount } from './rate-account.ts'

/** The account has too many objects to rate the running month while a client waits. */
export const PreviewTooLarge = defineFailure(
  'PreviewTooLarge',
  'Unprocessable',
  'The account has too many objects to be rated while a client waits.',
)

/** What the running month costs so far. */
export interface MonthPreview {
  readonly month: MonthKey
  readonly computedAt: Date
  readonly groups: readonly RatedGroup[]
  readonly unpriced: readonly ContractId[]
}

interface RunningDeps extends PriceReads {
  readonly clock: Clock
  readonly use: Pick<BilledUse, 'running'>
}

const mostObjects = 20_000
const passMilliseconds = 300_000
const keptPasses = 1_000

/** The use of an account, as it was computed for a read. */
interface Pass {
  readonly computedAt: Date
  readonly uses: ReturnType<BilledUse['running']>
}

/**
 * Rates the running month of an account so far, as if it were invoiced now. The use is computed once in five minutes;
 * prices are those of now.
 */
export const makePreviewMonth = (deps: RunningDeps & { readonly caches: Caches }) => {
  const passes = deps.caches.make<AccountId, Pass>({ maxEntries: keptPasses })
  const passOf = (ownerId: AccountId, now: Date): Pass => {
    const known = passes.get(ownerId)
    const age = known === undefined ? -1 : now.getTime() - known.computedAt.getTime()
    const isFresh = age >= 0 && age < passMilliseconds
    if (known !== undefined && isFresh && monthOf(known.computedAt) === monthOf(now)) return known
    // It is shared: a client that leaves does not end it.
    const uses = deps.use.running(ownerId, now, new AbortController().signal, mostObjects)
    const pass = { computedAt: now, uses }
    passes.set(ownerId, pass)
    uses.catch(() => passes.get(ownerId) === pass && passes.delete(ownerId))
    return pass
  }
  return async (
    _call: SignedInCall<never>,
    { ownerId }: { readonly ownerId: AccountId },
  ): Outcome<Failure<'PreviewTooLarge'>, MonthPreview> => {
    const { computedAt, uses } = passOf(ownerId, deps.clock.now())
    const read = await uses
    if (read === undefined)
      return left(PreviewTooLarge(`An account with more than ${mostObjects} objects is rated when the month is final.`))
    const month = monthOf(computedAt)
    return right({ month, computedAt, ...(await rateAccount(deps, month, read)) })
  }
}

/** In percent of the limit. */
const thresholds = [50, 80, 100] as const

/** Records the thresholds that an account has reached, and mails about the highest of those that are new. */
const alert = async (
  { unitOfWork, clock }: SpendDeps,
  call: Call,
  { ownerId, emails, spendLimit }: Customer,
  month: MonthKey,
  spent: bigint,
): Promise<void> => {
  if (spendLimit === undefined) return
  const { currency, amount } = spendLimit
  const reached = thresholds.filter((threshold) =>
    decimal(spent)
      .times(decimal('100'))
      .gte(decimal(amount).times(decimal(BigInt(threshold)))),
  )
  if (reached.length === 0) return
  await unitOfWork.run<never, void>(call, async ({ customers, mail }) => {
    const fresh: number[] = []
    for (const threshold of reached)
      if (await customers.markAlerted(ownerId, month, threshold, clock.now())) fresh.push(threshold)
    const highest = fresh.at(-1)
    if (highest === undefined) return right(undefined)
    const text = (minor: bigint): string => `${minorText(minor, digitsOf(currency) ?? 2)} ${currency}`
    for (const to of new Set(emails))
      await mail.post({
        to,
        subject: `${highest}% of the spend limit is reached`,
        paragraphs: [
          `In ${monthText(month)} (UTC), ${text(spent)} of ${text(amount)} were spent so far, before tax.`,
          'Nothing is switched off. The limit is part of the billing details of the account.',
        ],
        accountId: ownerId,
      })
    return right(undefined)
  })
}

interface SpendDeps extends RunningDeps {
  readonly customers: Pick<CustomerStore, 'listLimited'>
  readonly unitOfWork: InvoiceUnitOfWork
  readonly onFailure: (ownerId: AccountId, error: unknown) => void
}

/** Compares what accounts with a spend limit have spent in the running month with it, and mails each threshold once. */
export const makeWatchSpending =
  (deps: SpendDeps) =>
  async (call: Call): Promise<void> => {
    for (const customer of await deps.customers.listLimited()) {
      call.signal.throwIfAborted()
      const { ownerId, spendLimit } = customer
      try {
        const now = deps.clock.now()
        const month = monthOf(now)
        const { groups } = await rateAccount(deps, month, (await deps.use.running(ownerId, now, call.signal)) ?? [])
        const own = groups.filter(({ currency }) => currency === spendLimit?.currency)
        await alert(
          deps,
          call,
          customer,
          month,
          own.reduce((sum, { net }) => sum + net, 0n),
        )
      } catch (error) {
        call.signal.throwIfAborted()
        deps.onFailure(ownerId, error)
      }
    }
  }
