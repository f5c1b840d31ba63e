import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays, laterBySeconds } from '../../kernel/clock.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { rowsById } from '../../kernel/page.ts'
import type { Call } from '../../kernel/principal.ts'
import { certainlyAheadSeconds, laterByMonths, monthBounds, monthOf, monthsBetween, secondOf } from '../month.ts'
import type { MonthKey, UnixSeconds, UsageClusterId } from '../types.ts'
import { keptMonths } from './intervals.ts'
import { carriedFromDay, cutOf, silentBeforeDay } from './plan.ts'
import type {
  SettleMonth,
  UsageCluster,
  UsageClusterStore,
  UsageRetention,
  UsageUpkeepStores,
  UsageUpkeepUnitOfWork,
} from './ports.ts'

export interface UpkeepDeps {
  readonly clock: Clock
  readonly clusters: Pick<UsageClusterStore, 'listAfter'>
  readonly unitOfWork: UsageUpkeepUnitOfWork
}

const atATime = 500

/** Of all owners, or of one. */
const eachCluster = async (
  { clusters }: Pick<UpkeepDeps, 'clusters'>,
  { signal }: Call,
  ownerId: AccountId | undefined,
  visit: (cluster: UsageCluster) => Promise<void>,
): Promise<void> => {
  for await (const cluster of rowsById(atATime, (after, limit) => clusters.listAfter(after, limit, ownerId))) {
    if (signal.aborted) return
    await visit(cluster)
  }
}

/** Runs work on one cluster under its lock. */
const locked = async (
  { unitOfWork }: Pick<UpkeepDeps, 'unitOfWork'>,
  call: Call,
  id: UsageClusterId,
  work: (stores: UsageUpkeepStores) => Promise<void>,
): Promise<void> => {
  const done = await unitOfWork.run<never, void>(call, async (stores) => {
    await stores.clusters.lock([id])
    await work(stores)
    return right(undefined)
  })
  if (isLeft(done)) throw new Error('unreachable: upkeep refuses nothing')
}

/**
 * Continues the intervals of objects that exist in the current month, and in earlier ones for which that was not done.
 * Intervals of later months, from a clock that was ahead, are removed: what is reported until those months begin would
 * not change them. Repeating it changes nothing.
 */
export const makeCarryIntervals =
  (deps: UpkeepDeps) =>
  async (call: Call, ownerId?: AccountId): Promise<void> => {
    const now = deps.clock.now()
    const month = monthOf(secondOf(now))
    const latest = monthOf(secondOf(laterBySeconds(now, certainlyAheadSeconds)))
    await eachCluster(deps, call, ownerId, async ({ id, carriedMonth }) => {
      if (carriedMonth > latest) await locked(deps, call, id, ({ upkeep }) => upkeep.takeBack(id, month))
      if (carriedMonth >= month) return
      await locked(deps, call, id, async ({ upkeep }) => {
        for (const each of monthsBetween(laterByMonths(carriedMonth, 1), month))
          await upkeep.carry(
            id,
            { month: each, before: laterByMonths(each, -1), ...monthBounds(each) },
            carriedFromDay(each),
          )
      })
    })
  }

/**
 * Cuts the intervals of a month of objects that went silent while their cluster was heard, and undoes that for objects
 * that were heard again. Repeating it changes nothing.
 */
export const makeCutSilentObjects =
  (deps: UpkeepDeps) =>
  (call: Call, month: MonthKey, ownerId?: AccountId): Promise<void> =>
    eachCluster(deps, call, ownerId, async ({ id, lastHeard }) => {
      // Nothing of the month can be cut before its second day is over.
      if (lastHeard < monthBounds(month).from) return
      await locked(deps, call, id, async ({ upkeep }) => {
        for (const interval of await upkeep.listToCut(id, month, silentBeforeDay(lastHeard))) {
          const cut = cutOf(interval, lastHeard)
          if (cut !== interval.cut) await upkeep.cut(id, month, { ...interval, cut })
        }
      })
    })

/** Does for one owner what the jobs do for all, however long ago they ran. */
export const makeSettleMonth = (deps: UpkeepDeps): SettleMonth => {
  const [carry, cutSilent] = [makeCarryIntervals(deps), makeCutSilentObjects(deps)]
  return async (call, ownerId, month) => {
    await carry(call, ownerId)
    await cutSilent(call, month, ownerId)
  }
}

const conflictDays = 35
const removedAtATime = 500
const monthsAhead = 3

/**
 * Removes the intervals of months that are no longer kept, objects that were deleted before them, and conflicts after
 * 35 days. Prepares the tables of the next months. How old something is goes by the last event too: a clock that is a
 * year ahead refuses events, and must not remove what cannot be reported again.
 */
export const makeExpireUsage =
  ({ clock, retention }: { readonly clock: Clock; readonly retention: UsageRetention }) =>
  async (signal: AbortSignal): Promise<void> => {
    const heard = await retention.lastHeard()
    const now = new Date(Math.min(clock.now().getTime(), heard === undefined ? Number.POSITIVE_INFINITY : heard * 1000))
    const month = monthOf(secondOf(now))
    const first = laterByMonths(month, 1 - keptMonths)
    await retention.keepMonths(monthsBetween(first, laterByMonths(month, monthsAhead + 1)), signal)
    const oldest = (monthBounds(first).from - conflictDays * 86_400) as UnixSeconds
    while (!signal.aborted && (await retention.removeObjects(oldest, removedAtATime)) === removedAtATime);
    while (
      !signal.aborted &&
      (await retention.removeConflicts(laterByDays(now, -conflictDays), removedAtATime)) === removedAtATime
    );
  }
