import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Call } from '../../kernel/principal.ts'
import type { MonthStore } from '../../usage/months/ports.ts'
import type { BilledProductUse, BilledUse } from '../../usage/overview-ports.ts'
import type { MonthKey, UsageMonth } from '../../usage/types.ts'
import { decimal } from '../money.ts'
import { monthOf, periodOf } from '../months.ts'
import { measures } from '../types.ts'
import type { NewSinkEvent, QuantityKey, Sink, SinkStore, SinkUnitOfWork } from './ports.ts'

type Quantity = QuantityKey & { readonly thousandths: bigint }

const keyOf = ({ contractId, product, measure, use }: QuantityKey): string =>
  `${contractId}.${product}.${measure}.${use}`

const thousandthsOf = (quantity: string): bigint => BigInt(decimal(quantity).times(decimal('1000')).toFixed(0))

const quantitiesOf = (uses: readonly BilledProductUse[]): readonly Quantity[] =>
  uses.flatMap(({ contractId, product, prod, nonProd }) =>
    measures.flatMap((measure) => [
      { contractId, product, measure, use: 'prod' as const, thousandths: thousandthsOf(prod[measure]) },
      { contractId, product, measure, use: 'non-prod' as const, thousandths: thousandthsOf(nonProd[measure]) },
    ]),
  )

/** Returns what is to be added to one set of quantities to give another. Equal ones are left out. */
const differencesOf = (before: readonly Quantity[], after: readonly Quantity[]): readonly Quantity[] => {
  const sums = new Map<string, Quantity>()
  const add = (quantity: Quantity, change: bigint): void => {
    const key = keyOf(quantity)
    sums.set(key, { ...quantity, thousandths: (sums.get(key)?.thousandths ?? 0n) + change })
  }
  for (const each of before) add(each, -each.thousandths)
  for (const each of after) add(each, each.thousandths)
  return [...sums.values()].filter(({ thousandths }) => thousandths !== 0n)
}

export interface CollectDeps {
  readonly clock: Clock
  readonly months: Pick<MonthStore, 'listSince'>
  readonly sinks: Pick<SinkStore, 'list' | 'collectedSince'>
  readonly unitOfWork: SinkUnitOfWork
  readonly use: Pick<BilledUse, 'closed'>
  readonly onFailure: (sink: string, month: UsageMonth, error: unknown) => void
}

/** Puts a month into the outbox of a sink: its quantities, or the differences to what the outbox has of it. */
const collectMonth = async (
  { clock, unitOfWork }: Pick<CollectDeps, 'clock' | 'unitOfWork'>,
  call: Call,
  sinkId: Sink['id'],
  { ownerId, month, revision }: UsageMonth,
  uses: readonly BilledProductUse[],
): Promise<void> => {
  await unitOfWork.run<never, void>(call, async ({ sinks }) => {
    // Of two processes, the second one finds what the first has added.
    if ((await sinks.lock(sinkId)) === undefined) return right(undefined)
    const at = clock.now()
    const before = await sinks.sumsOf(sinkId, ownerId, month)
    const state = (await sinks.customerOf(sinkId, ownerId)) === undefined ? 'unmapped' : 'pending'
    // An engine has closed the month of a correction, so that counts in the running one.
    const datedAt = before.length === 0 ? new Date(periodOf(month).to.getTime() - 1000) : at
    const events = differencesOf(before, quantitiesOf(uses)).map((quantity): NewSinkEvent => ({
      ...quantity,
      ref: `moorage.${ownerId}.${month}.${revision}.${keyOf(quantity)}`,
      sinkId,
      ownerId,
      month,
      revision,
      datedAt,
      state,
      createdAt: at,
    }))
    await sinks.add(events)
    await sinks.setCollected(sinkId, ownerId, month, revision)
    return right(undefined)
  })
}

/** How many months back a month that was reopened is found. */
const monthsBack = 12

const markOf = (of: { readonly ownerId: AccountId; readonly month: MonthKey }): string => `${of.ownerId} ${of.month}`

/** Puts all months that have become final since the last run into the outboxes of the sinks, each revision once. */
export const makeCollectUsage =
  (deps: CollectDeps) =>
  async (call: Call): Promise<void> => {
    const now = deps.clock.now()
    const first = monthOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsBack)))
    const sinks = (await deps.sinks.list()).filter(({ isEnabled }) => isEnabled)
    if (sinks.length === 0) return
    const months = (await deps.months.listSince(first)).filter(({ status }) => status === 'final')
    for (const { id, name, fromMonth } of sinks) {
      const collected = new Map(
        (await deps.sinks.collectedSince(id, first)).map((each) => [markOf(each), each.revision]),
      )
      for (const month of months) {
        call.signal.throwIfAborted()
        if (month.month < fromMonth || (collected.get(markOf(month)) ?? 0) >= month.revision) continue
        try {
          const closed = await deps.use.closed(month.ownerId, month.month)
          // A month that was reopened since is collected when it is final again.
          if (closed?.month.status === 'final') await collectMonth(deps, call, id, closed.month, closed.uses)
        } catch (error) {
          deps.onFailure(name, month, error)
        }
      }
    }
  }
