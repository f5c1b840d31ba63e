import { writeSync } from 'node:fs'
import type { ErrorFields } from '../../adapters/logging/error-fields.ts'
import { errorFields } from '../../adapters/logging/error-fields.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { ExitCode } from './command-context.ts'

const lastWords: (() => void)[] = []

/** Registers `flush` to be called before the process exits because of an uncaught error. */
export const beforeCrash = (flush: () => void): void => void lastWords.push(flush)

let outputFault: string | undefined

/** Returns why a part of the result could not be written, or undefined. A reader that closed its pipe is no fault. */
export const unwrittenOutput = (): string | undefined => outputFault

/**
 * Ends the process on an uncaught error, since its state cannot be trusted. The error is written once, directly to the file
 * descriptor: a log whose reader has closed would raise another error and loop forever.
 */
export const installCrashHandlers = (): void => {
  // A reader of stdout that closes (`| head`) must not crash the process. A full disk must not look like a success.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => void (outputFault ??= code === 'EPIPE' ? undefined : (code ?? 'unknown')))
  process.stderr.on('error', () => undefined)
  process.once('uncaughtException', (error) => die('uncaughtException', error))
  process.once('unhandledRejection', (reason) => die('unhandledRejection', reason))
}

const die = (kind: string, reason: unknown): void => {
  attempt(() => lastWords.forEach((flush) => attempt(flush)))
  attempt(() => writeSync(2, `moorage: ${kind}: ${reason instanceof Error ? described(errorFields(reason)) : 'a value that is no error'}\n`))
  process.exit(1)
}

/** Formats an error like a stack trace, limited to the fields that may be shown. */
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
    // There is nowhere left to report the error.
  }
}

/**
 * Ends the process on SIGTERM, until `serve` stops in order. Without a handler, process 1 of a container would ignore the signal.
 * The code is that of a shell for a process that SIGTERM ended.
 */
export const endAtOnce = (): never => process.exit(143)

/** The parts of the process that a stop uses. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown
}

export interface LifecycleDeps {
  readonly signals: SignalSource
  readonly log: Log
  /** Stops the service. Reports whether everything closed in order. With `drains`, traffic must first be directed elsewhere. */
  readonly stop: (how: { readonly drains: boolean }) => Promise<boolean>
  /** Ends the process immediately. */
  readonly exitNow: (code: ExitCode) => void
  readonly hardLimitMs?: number
}

/** Kubernetes kills the process after 30 s by default. */
const defaultHardLimitMs = 25_000

/**
 * Waits for SIGTERM or SIGINT, then stops the service and returns the exit code. SIGINT comes from a terminal, so the stop
 * does not wait for a load balancer. A second signal, or a stop that exceeds the limit, ends the process immediately with
 * code 1.
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
