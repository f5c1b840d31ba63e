import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { IdentityStores } from './ports.ts'

/** So long after its end a session, or a remembered login, is still kept: whoever looks into something wants to see it. */
const keepOverSessionsDays = 7

export interface DropOverSessionsDeps {
  readonly stores: Pick<IdentityStores, 'sessions'>
  readonly clock: Clock
}

/** Removes remembered logins and sessions that have been over for a week, some at a time. Answers how many. */
export const makeDropOverSessions = (deps: DropOverSessionsDeps) => async (signal: AbortSignal): Promise<number> => {
  const before = laterByDays(deps.clock.now(), -keepOverSessionsDays)
  let dropped = 0
  while (!signal.aborted) {
    const some = await deps.stores.sessions.purge(before)
    if (some === 0) break
    dropped += some
  }
  return dropped
}
