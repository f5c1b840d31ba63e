import type { Clock } from '../../core/kernel/clock.ts'

/** The time sources of this machine. */
export interface LocalClock {
  /** Returns milliseconds since the epoch by this machine's clock. It steps when the clock is set. */
  wallMs(): number
  /** Returns milliseconds since an arbitrary moment. It never steps. */
  steadyMs(): number
}

export const localClock: LocalClock = { wallMs: () => Date.now(), steadyMs: () => performance.now() }

/** This machine's clock, for values that no store keeps. */
export const systemClock: Clock = { now: () => new Date() }

/**
 * Counts from the start of the process, so that setting the clock has no effect. For values that only this process
 * keeps.
 */
export const steadyClock: Clock = { now: () => new Date(performance.timeOrigin + performance.now()) }
