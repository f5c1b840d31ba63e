import type { Clock } from '../../core/kernel/clock.ts'

/** What this machine knows of the time by itself. */
export interface LocalClock {
  /** Milliseconds since the epoch, as this machine believes. Steps when it is set. */
  wallMs(): number
  /** Milliseconds since some moment. Never steps. */
  steadyMs(): number
}

export const localClock: LocalClock = { wallMs: () => Date.now(), steadyMs: () => performance.now() }

/** This machine's clock. For what no store keeps. */
export const systemClock: Clock = { now: () => new Date() }

/** Counts on from the start of the process, so that no step of a clock moves it. For what one process remembers. */
export const steadyClock: Clock = { now: () => new Date(performance.timeOrigin + performance.now()) }
