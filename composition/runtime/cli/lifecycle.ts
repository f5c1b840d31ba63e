import { writeSync } from 'node:fs'
import type { ErrorFields } from '../../../adapters/logging/bunyan-log.ts'
import { errorFields } from '../../../adapters/logging/bunyan-log.ts'
import type { Log } from '../../../core/kernel/log.ts'
import { StartStopped } from '../../part/boot.ts'
import type { ExitCode } from '../../part/command-context.ts'

const lastWords: (() => void)[] = []

/** Registers `flush` to be called before the process exits because of an uncaught error. */
export const beforeCrash = (flush: () => void): void => void lastWords.push(flush)

let outputFault: string | undefined

/** Returns why a part of the result could not be written, or undefined. A reader that closed its pipe is no fault. */
export const unwrittenOutput = (): string | undefined => outputFault

/**
 * Ends the process on an uncaught error, since its state cannot be trusted. The error is written once, directly to the
 * file descriptor: a log whose reader has closed would raise another error and loop forever.
 */
export const installCrashHandlers = (): void => {
  // A reader of stdout that closes (`| head`) must not crash the process. A full disk must not look like a success.
  process.stdout.on(
    'error',
    ({ code }: NodeJS.ErrnoException) => void (outputFault ??= code === 'EPIPE' ? undefined : (code ?? 'unknown')),
  )
  process.stderr.on('error', () => undefined)
  process.once('uncaughtException', (error) => die('uncaughtException', error))
  process.once('unhandledRejection', (reason) => die('unhandledRejection', reason))
}

const die = (kind: string, reason: unknown): void => {
  attempt(() => lastWords.forEach((flush) => attempt(flush)))
  attempt(() =>
    writeSync(
      2,
      `moorage: ${kind}: ${reason instanceof Error ? described(errorFields(reason)) : 'a value that is no error'}\n`,
    ),
  )
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

/** The signals that stop the service. */
type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** The parts of the process that a stop uses. */
interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown
}

/** A service that can be stopped. */
interface Stoppable {
  /**
   * Stops the service. Reports whether everything closed in order. With `drains`, traffic must first be directed
   * elsewhere.
   */
  stop(how: { readonly drains: boolean }): Promise<boolean>
}

export interface LifecycleDeps {
  readonly signals: SignalSource
  readonly log: Log
  /** `stopping` is aborted at the first signal. A start that gives up for it throws StartStopped. */
  readonly start: (stopping: AbortSignal) => Promise<Stoppable>
  /** Ends the process immediately. */
  readonly exitNow: (code: ExitCode) => void
  readonly hardLimitMs?: number
}

/** Kubernetes kills the process after 30 s by default. */
const defaultHardLimitMs = 25_000
/** A terminal sends a signal to npm and to the service, and npm passes on its own: one request arrives twice. */
const sameRequestMs = 1_000

/**
 * Starts the service, waits for a signal, then stops it and returns the exit code. SIGINT and SIGHUP come from a
 * terminal, so the stop does not wait for a load balancer. It does not either when the start was not complete yet. A
 * second signal, or a stop that exceeds the limit, ends the process immediately with code 1.
 */
export const runUntilStopped = async ({
  start,
  log,
  hardLimitMs = defaultHardLimitMs,
  ...deps
}: LifecycleDeps): Promise<ExitCode> => {
  let limit: NodeJS.Timeout | undefined
  let isStarted = false
  const stopping = new AbortController()
  // Before the start: the first process of a container ignores signals that it does not listen for.
  const requested = stopRequest(deps, () => {
    log.info(
      {},
      isStarted
        ? 'stopping: not ready from now on, requests in flight end'
        : 'stopping: as soon as the start is complete',
    )
    limit = setTimeout(() => {
      log.error({ limitMs: hardLimitMs }, 'the stop took too long')
      deps.exitNow(1)
    }, hardLimitMs)
    stopping.abort()
    return isStarted
  })
  try {
    const service = await start(stopping.signal)
    isStarted = true
    return (await service.stop(await requested)) ? 0 : 1
  } catch (error) {
    if (error instanceof StartStopped) return 0
    throw error
  } finally {
    clearTimeout(limit)
  }
}

/** Resolves at the first request to stop, after `begin`, which reports whether traffic may have been directed here. */
const stopRequest = (
  { signals, exitNow }: Pick<LifecycleDeps, 'signals' | 'exitNow'>,
  begin: () => boolean,
): Promise<{ readonly drains: boolean }> =>
  new Promise((resolve) => {
    let first: { readonly name: StopSignal; readonly atMs: number } | undefined
    const onSignal = (name: StopSignal) => (): void => {
      if (first === undefined) {
        first = { name, atMs: performance.now() }
        const isServing = begin()
        return resolve({ drains: isServing && name === 'SIGTERM' })
      }
      // A terminal that closes, or a launcher that ends, sends SIGHUP to processes that are already stopping.
      if (name === 'SIGHUP' || (name === first.name && performance.now() - first.atMs < sameRequestMs)) return
      exitNow(1)
    }
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) signals.on(name, onSignal(name))
  })
