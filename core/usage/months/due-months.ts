import { isLeft } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { unixSeconds } from '../../kernel/clock.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Call } from '../../kernel/principal.ts'
import type { MonthKey, UnixSeconds } from '../types.ts'
import { laterByMonths, monthEnd, monthOf } from '../month.ts'
import type { CloseMonth } from './close.ts'
import { isFinalDue, provisionalDelaySeconds } from './closing-times.ts'
import type { MonthStore } from './ports.ts'

/** Intervals are kept that long: an older month cannot be computed any more. */
const keptMonths = 13

export interface DueMonth {
  readonly ownerId: AccountId
  readonly month: MonthKey
}

/** Returns the months that must be computed now, the oldest of an owner first. */
export const listDueMonths = async (months: Pick<MonthStore, 'owners' | 'listSince'>, now: Date): Promise<readonly DueMonth[]> => {
  const current = monthOf(unixSeconds(now) as UnixSeconds)
  const oldest = laterByMonths(current, -keptMonths)
  const newest = new Map((await months.listSince(oldest)).map((each) => [`${each.ownerId} ${each.month}`, each]))
  const due: DueMonth[] = []
  for (const { ownerId, firstHeard } of await months.owners()) {
    const first = monthOf(firstHeard)
    for (let month = first > oldest ? first : oldest; month < current; month = laterByMonths(month, 1)) {
      const known = newest.get(`${ownerId} ${month}`)
      const isDue = known === undefined ? unixSeconds(now) >= monthEnd(month) + provisionalDelaySeconds : known.status === 'provisional' && isFinalDue(known, month, now)
      if (isDue) due.push({ ownerId, month })
    }
  }
  return due
}

interface CloseDueDeps {
  readonly months: Pick<MonthStore, 'owners' | 'listSince'>
  readonly close: CloseMonth
  readonly clock: Clock
  /** Called with what was thrown: the other months are closed all the same. */
  readonly onFailure: (due: DueMonth, error: unknown) => void
}

/**
 * Closes all months that are due. Several runs share the owners: a month that another one is closing is left to it. Throws if the call
 * was aborted.
 */
export const makeCloseDueMonths =
  ({ months, close, clock, onFailure }: CloseDueDeps) =>
  async (call: Call): Promise<void> => {
    for (const due of await listDueMonths(months, clock.now())) {
      call.signal.throwIfAborted()
      try {
        const closed = await close(call, due)
        if (isLeft(closed) && closed.left.tag !== 'UsageMonthBusy') onFailure(due, closed.left)
      } catch (error) {
        call.signal.throwIfAborted()
        onFailure(due, error)
      }
    }
  }
