import { unixSeconds } from '../../kernel/clock.ts'
import type { MonthKey, UsageMonth } from '../types.ts'
import { monthEnd } from '../month.ts'

/** A month is computed from 00:30 UTC of the next one on, */
export const provisionalDelaySeconds = 30 * 60
/** and for good 72 hours after its end; a reopened one 72 hours after that. */
export const finalDelaySeconds = 72 * 3600

/** Reports whether a month becomes final now. `newest` is its newest revision. */
export const isFinalDue = (newest: UsageMonth | undefined, month: MonthKey, now: Date): boolean => {
  const reopened = newest !== undefined && newest.revision > 1 ? unixSeconds(newest.generatedAt) : 0
  return unixSeconds(now) >= Math.max(monthEnd(month), reopened) + finalDelaySeconds
}
