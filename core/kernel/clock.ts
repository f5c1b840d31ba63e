import { portKey } from './port-key.ts'

/**
 * The time of the whole deployment: the database's time, regardless of this machine's clock. Cut-offs and lifetimes of
 * stored rows use it. Reading it costs no query.
 */
export interface Clock {
  /** Now, in UTC. */
  now(): Date
}
export const ClockPort = portKey<Clock>('kernel.Clock')

/** Reports whether the clock is reliable. An irreversible operation waits until it is. */
export interface TimeTrust {
  /**
   * False while this machine's clock and the database's differ, and for a while after the database's clock has jumped.
   */
  isTrusted(): boolean
}
export const TimeTrustPort = portKey<TimeTrust>('kernel.TimeTrust')

export const dayMilliseconds = 24 * 3600 * 1000

/** Returns the instant that many seconds later. Negative seconds give an earlier instant. */
export const laterBySeconds = (at: Date, seconds: number): Date => new Date(at.getTime() + seconds * 1000)

/** Returns the instant that many days later. Negative days give an earlier instant. A day is 24 hours. */
export const laterByDays = (at: Date, days: number): Date => new Date(at.getTime() + days * dayMilliseconds)

/**
 * Returns whole seconds since the epoch, rounded down; 0 if the instant is undefined, which means never on the wire.
 */
export const unixSeconds = (at: Date | undefined): number => (at === undefined ? 0 : Math.floor(at.getTime() / 1000))

const rfc3339 = /^(\d{4}-\d{2}-(\d{2}))T([01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

/** Parses an RFC 3339 instant. Returns undefined if the text is not valid, or names a day that does not exist. */
export const parseInstant = (text: string): Date | undefined => {
  const [, date, day] = rfc3339.exec(text) ?? []
  const at = new Date(date === undefined ? Number.NaN : text)
  // `Date` takes 30 February for 2 March.
  return Number.isNaN(at.getTime()) || new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day) ? undefined : at
}

/** Waits. Resolves early when the signal is aborted; never rejects. */
export interface Pause {
  (milliseconds: number, signal: AbortSignal): Promise<void>
}
export const PausePort = portKey<Pause>('kernel.Pause')

/**
 * Lets the event loop turn between the steps of work that takes long, so that other requests are answered. Accounts
 * share it: one that has used more than its share of a turn waits, and rests while others are there.
 */
export interface PauseInLongTurn {
  /**
   * Returns undefined while the present turn of the event loop has lasted at most `milliseconds`, else a promise that
   * resolves in a later turn. Without a number it is a little longer than an ordinary request takes; background work
   * gives 0, and does one step in each turn. Those that wait resume in their order, one account after the other.
   */
  (milliseconds?: number): Promise<void> | undefined
}

/** For a step that may share a turn of any length, such as the start of a request. */
export const anyTurn = Number.POSITIVE_INFINITY
export const PauseInLongTurnPort = portKey<PauseInLongTurn>('kernel.PauseInLongTurn')

/** Runs short synchronous tasks one after the other, and yields to the event loop between them. */
export interface TimeSlices {
  /** Rejects with the error that the task throws. */
  run<A>(work: () => A): Promise<A>
}

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
]

/** Returns the elapsed time in the largest whole unit: `3d`, `43m`, `8s`. */
export const shortAge = (from: Date, now: Date): string => {
  const seconds = Math.max(0, Math.floor((now.getTime() - from.getTime()) / 1000))
  const [unit, size] = units.find(([, length]) => seconds >= length) ?? ['s', 1]
  return `${Math.floor(seconds / size)}${unit}`
}
