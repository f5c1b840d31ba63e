import { daySeconds } from '../month.ts'
import type { UnixSeconds } from '../types.ts'
import type { CutInterval } from './ports.ts'

/** Returns the day on or after which an object must have been heard, so that none of its intervals is cut. */
export const silentBeforeDay = (clusterLastHeard: UnixSeconds): number => Math.floor(clusterLastHeard / daySeconds) - 1

/**
 * Returns where an interval of an object that sends heartbeats ends: at the end of the day on which the object was last heard, if its
 * cluster was heard 24 hours later or after that; otherwise where the interval ends.
 */
export const cutOf = ({ from, to, lastHeardDay }: Omit<CutInterval, 'cut'>, clusterLastHeard: UnixSeconds): UnixSeconds => {
  const silentFrom = (lastHeardDay + 1) * daySeconds
  if (clusterLastHeard < silentFrom + daySeconds) return to
  return Math.min(to, Math.max(from, silentFrom)) as UnixSeconds
}
