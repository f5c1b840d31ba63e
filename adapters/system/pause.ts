import type { Pause } from '../../core/packages/release-task-ports.ts'

/** Pause by a timer, which keeps no process alive. */
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
