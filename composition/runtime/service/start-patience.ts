import { setTimeout as delay } from 'node:timers/promises'
import { isAway } from '../../../adapters/sql/kit/driver-errors.ts'
import type { Log } from '../../../core/kernel/log.ts'
import { StartRefused, StartStopped } from '../../part/boot.ts'

export interface StartPatienceDeps {
  /** How long the start waits for a database that is away; 0 for not at all. */
  readonly waitSeconds: number
  readonly log: Log
  /** Aborted when the process is asked to stop. */
  readonly stopping?: AbortSignal | undefined
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<unknown>
  readonly nowMs?: () => number
}

/** Repeats the steps of a start that need the database while it is away. */
export interface StartPatience {
  /**
   * Runs a step, which may run again. Throws its error when the database is there, or has been away for too long.
   * Throws StartStopped when the process is asked to stop.
   */
  run<A>(step: () => Promise<A>): Promise<A>
  /** Returns what the start waits for. */
  waitsFor(): string | undefined
}

const [firstPauseMs, longestPauseMs] = [500, 10_000] as const

const abortableDelay = (ms: number, signal: AbortSignal | undefined): Promise<unknown> =>
  delay(ms, undefined, signal === undefined ? {} : { signal })

export const makeStartPatience = ({
  waitSeconds,
  log,
  stopping,
  pause = abortableDelay,
  nowMs = () => performance.now(),
}: StartPatienceDeps): StartPatience => {
  let waitsFor: string | undefined
  const waitFor = async (error: unknown, pauseMs: number, leftMs: number): Promise<void> => {
    waitsFor = error instanceof StartRefused ? error.problems.join(' ') : (error as Error).message
    log.warn(
      { reason: waitsFor, secondsLeft: Math.round(leftMs / 1000) },
      'the database is away: the start waits for it (MOORAGE_DATABASE_WAIT_SECONDS)',
    )
    try {
      await pause(pauseMs, stopping)
    } catch {
      throw new StartStopped()
    }
  }
  return {
    waitsFor: () => waitsFor,
    async run(step) {
      let awaySinceMs: number | undefined
      for (let pauseMs: number = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
        try {
          const done = await step()
          waitsFor = undefined
          return done
        } catch (error) {
          const cause = error instanceof StartRefused ? error.cause : error
          awaySinceMs ??= nowMs()
          const leftMs = waitSeconds * 1000 - (nowMs() - awaySinceMs)
          if (!isAway(cause) || leftMs <= 0) throw error
          await waitFor(error, Math.min(pauseMs, leftMs), leftMs)
        }
      }
    },
  }
}
