import type { AttemptThrottle } from '../../../core/identity/attempt-ports.ts'
import { token } from '../../../core/kernel/token.ts'
import type { Counts } from '../../http/gauges.ts'
import { defineGauges, makeCounts } from '../../http/gauges.ts'

/** Counts of refused attempts to prove a secret, and of locks, since the start of this process. */
export interface AttemptTally {
  readonly refused: Counts
  readonly locks: Counts
}
export const AttemptTallyToken = token<AttemptTally>('identity.AttemptTally')

/** The labels are closed lists: the kinds of secrets, and three reasons. */
const mostKinds = 10

export const makeAttemptTally = (): AttemptTally => ({
  refused: makeCounts(['kind', 'reason'], mostKinds),
  locks: makeCounts(['kind'], mostKinds),
})

/** Counts what a throttle refuses. */
export const countedThrottle = (throttle: AttemptThrottle, { refused, locks }: AttemptTally): AttemptThrottle => ({
  ...throttle,
  async guard(attempt, check) {
    const guarded = await throttle.guard(attempt, check)
    if (guarded.kind === 'judged') return guarded
    refused.add(attempt.kind, guarded.kind)
    if (guarded.kind === 'wrong' && guarded.hasLocked) locks.add(attempt.kind)
    return guarded
  },
})

export const attemptGauges = defineGauges(
  {
    moorage_sign_in_refusals_total: {
      type: 'counter',
      help:
        'Attempts to prove a secret that were refused here, by the kind of secret and the reason: wrong, ' +
        'subject-locked, address-blocked.',
      label: ['kind', 'reason'],
    },
    moorage_account_locks_total: {
      type: 'counter',
      help: 'Attempts that locked an account or an unknown name, by the kind of secret.',
      label: 'kind',
    },
  },
  { tally: AttemptTallyToken },
  ({ tally }) =>
    () => ({
      moorage_sign_in_refusals_total: tally.refused.samples(),
      moorage_account_locks_total: tally.locks.samples(),
    }),
)
