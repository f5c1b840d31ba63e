import { token } from './token.ts'

/**
 * The time of the whole deployment: that of its database, whatever this machine's own clock says. Cut-offs and
 * lifetimes that touch stored rows go by it. Asking costs no query.
 */
export interface Clock {
  /** Now, in UTC. */
  now(): Date
}
export const ClockToken = token<Clock>('kernel.Clock')

/** Whether the clock is beyond doubt. What cannot be undone waits until it is. */
export interface TimeTrust {
  /** False while the clocks of this machine and of the database differ, and for a while after the database's jumped. */
  isTrusted(): boolean
}
export const TimeTrustToken = token<TimeTrust>('kernel.TimeTrust')
