import type { Log } from '../core/kernel/log.ts'
import type { ExitCode } from './command-context.ts'

/** The process, as far as a stop touches it. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
}

export interface LifecycleDeps {
  readonly signals: SignalSource
  readonly log: Log
  /** Stops the service; answers whether everything closed in order. `drains`: traffic has to be led elsewhere first. */
  readonly stop: (how: { readonly drains: boolean }) => Promise<boolean>
  /** Ends the process at once. */
  readonly exitNow: (code: ExitCode) => void
  readonly hardLimitMs?: number
}

/** Kubernetes kills after 30 s unless told otherwise. */
const defaultHardLimitMs = 25_000

/**
 * Waits for SIGTERM or SIGINT, then stops; answers the exit code. SIGINT comes from a person at a terminal, who waits for no
 * load balancer. A second signal, or a stop that takes longer than the limit, ends the process at once with code 1.
 */
export const untilStopped = async ({ signals, log, stop, exitNow, hardLimitMs = defaultHardLimitMs }: LifecycleDeps): Promise<ExitCode> => {
  const drains = await new Promise<boolean>((resolve) => {
    let isStopping = false
    const onSignal = (isTerm: boolean) => (): void => {
      if (isStopping) return exitNow(1)
      isStopping = true
      resolve(isTerm)
    }
    signals.on('SIGTERM', onSignal(true))
    signals.on('SIGINT', onSignal(false))
  })
  log.info({}, 'stopping: not ready from now on, requests in flight end')
  const limit = setTimeout(() => {
    log.error({ limitMs: hardLimitMs }, 'the stop took too long')
    exitNow(1)
  }, hardLimitMs)
  const allClosed = await stop({ drains })
  clearTimeout(limit)
  return allClosed ? 0 : 1
}
