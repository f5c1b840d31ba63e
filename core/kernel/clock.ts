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

export const dayMilliseconds = 24 * 3600 * 1000

/** Negative seconds for an earlier instant. */
export const laterBySeconds = (at: Date, seconds: number): Date => new Date(at.getTime() + seconds * 1000)

/** Negative days for an earlier instant; a day is 24 hours. */
export const laterByDays = (at: Date, days: number): Date => new Date(at.getTime() + days * dayMilliseconds)

/** Whole seconds since the epoch, rounded down; 0, as the wire says never, for an instant that there is not. */
export const unixSeconds = (at: Date | undefined): number => (at === undefined ? 0 : Math.floor(at.getTime() / 1000))

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

/** The instant that an RFC 3339 text names; undefined when it names none. */
export const parseInstant = (text: string): Date | undefined => {
  const at = new Date(rfc3339.test(text) ? text : Number.NaN)
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** Runs short synchronous pieces of work one after the other, and lets the event loop turn in between. */
export interface TimeSlices {
  /** Rejects with what the work throws. */
  run<A>(work: () => A): Promise<A>
}
