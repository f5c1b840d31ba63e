import { writeSync } from 'node:fs'
import type { ErrorFields } from '../../adapters/logging/error-fields.ts'
import { errorFields } from '../../adapters/logging/error-fields.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { ExitCode } from './command-context.ts'

const lastWords: (() => void)[] = []

/** Has `flush` called before the process dies of an error that nobody caught. */
export const beforeCrash = (flush: () => void): void => void lastWords.push(flush)

/**
 * An error that nobody caught ends the process: its state cannot be trusted. Written once, straight to the descriptor,
 * since a log whose reader has gone would raise the next error and loop for ever.
 */
export const installCrashHandlers = (): void => {
  // A reader of stdout that leaves (`| head`) is no reason to crash.
  process.stdout.on('error', () => undefined)
  process.stderr.on('error', () => undefined)
  process.once('uncaughtException', (error) => die('uncaughtException', error))
  process.once('unhandledRejection', (reason) => die('unhandledRejection', reason))
}

const die = (kind: string, reason: unknown): void => {
  attempt(() => lastWords.forEach((flush) => attempt(flush)))
  attempt(() => writeSync(2, `moorage: ${kind}: ${reason instanceof Error ? described(errorFields(reason)) : 'a value that is no error'}\n`))
  process.exit(1)
}

/** As a stack is printed, of what may be told of an error. */
const described = ({ name, code, message, at = [], cause }: ErrorFields): string =>
  [
    `${name}${message === undefined ? '' : `: ${message}`}${code === undefined ? '' : ` (${code})`}`,
    ...at.map((line) => `    ${line}`),
    ...(cause === undefined ? [] : [`  caused by ${described(cause)}`]),
  ].join('\n')

const attempt = (step: () => void): void => {
  try {
    step()
  } catch {
    // Nothing is left to tell it to.
  }
}

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
