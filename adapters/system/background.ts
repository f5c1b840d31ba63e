import type { Background } from '../../core/identity/ports.ts'
import type { Pause } from '../../core/kernel/clock.ts'
import type { Log } from '../../core/kernel/log.ts'

export interface StoppableBackground extends Background {
  /** Starts no further work and waits for running work. */
  stop(): Promise<void>
}

/** Runs work in a later turn of the event loop, so that the current response is sent first. */
export const makeBackground = (log: Log): StoppableBackground => {
  const running = new Set<Promise<void>>()
  let stopped = false
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    await new Promise((resume) => setImmediate(resume))
    if (stopped) return
    try {
      await work()
    } catch (error) {
      log.warn({ what, reason: error instanceof Error ? error.message : 'unknown' }, 'background work failed')
    }
  }
  return {
    run(what, work) {
      if (stopped) return
      const done = attempt(what, work).finally(() => running.delete(done))
      running.add(done)
    },
    async stop() {
      stopped = true
      await Promise.all(running)
    },
  }
}

/** Pauses by a timer, which does not keep the process alive. */
export const timerPause: Pause = (milliseconds, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    timer.unref()
    signal.addEventListener('abort', end, { once: true })
  })
