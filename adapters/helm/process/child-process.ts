import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import type { HelperProcesses } from '../../system/helper-processes.ts'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'

const longestLine = 500
const mostLines = 2_000
const tailCharacters = 64 * 1024

/** Removes escape sequences and control characters. */
export const cleanLine = (line: string): string =>
  line
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trimEnd()

/** Splits the output of a process into lines of bounded length and keeps the last of them. @internal */
export class StderrLines {
  readonly #decoder = new StringDecoder('utf8')
  readonly #onLine: (line: string) => void
  #open = ''
  #tail = ''
  #count = 0

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  add(chunk: Buffer): void {
    this.#take(this.#decoder.write(chunk))
  }

  end(): void {
    this.#take(this.#decoder.end())
    if (this.#open !== '') this.#say(this.#open)
    this.#open = ''
  }

  /** Returns the last lines, cleaned. */
  tail(): string {
    return this.#tail.split('\n').map(cleanLine).join('\n')
  }

  #take(text: string): void {
    this.#tail = (this.#tail + text).slice(-tailCharacters)
    const lines = (this.#open + text).split('\n')
    // A line without an end must not grow without limit.
    this.#open = (lines.pop() ?? '').slice(0, 4 * longestLine)
    for (const line of lines) this.#say(line)
  }

  #say(line: string): void {
    const cleaned = cleanLine(line).slice(0, longestLine)
    if (cleaned === '') return
    this.#count += 1
    if (this.#count < mostLines) this.#onLine(cleaned)
    else if (this.#count === mostLines) this.#onLine('Helm says more than is kept.')
  }
}

/** Why the service ended a process. */
export type EndReason = 'cancelled' | 'time' | 'output'

export interface ChildPlan {
  readonly command: string
  readonly words: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  /** Bytes of stdout that are kept. More output ends the process, or is discarded if `isPatient`. */
  readonly outputLimitBytes: number
  /** More output or a cancellation must not end the process at once. */
  readonly isPatient: boolean
  /** Seconds after which the process is ended in any case. */
  readonly wallSeconds: number
  /** Seconds that a cancelled process may continue before SIGTERM. */
  readonly finishSeconds: number
  /** Seconds between SIGTERM and SIGKILL. */
  readonly graceSeconds: number
  readonly onLine: (line: string) => void
  readonly helpers: Pick<HelperProcesses, 'watch'>
}

export interface ChildEnd {
  /** Undefined if the program could not be started; `error` has the reason. */
  readonly exitCode: number | null | undefined
  readonly signal: NodeJS.Signals | null
  readonly stdout: Buffer
  readonly isCutShort: boolean
  /** The last lines of stderr, cleaned. */
  readonly stderr: string
  readonly ended: EndReason | undefined
  /** The process did not end within the grace period. */
  readonly wasKilled: boolean
  readonly error: NodeJS.ErrnoException | undefined
}

/** Niceness of the process: rendering must not slow down the service. */
const politeness = 5

const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {
    // The process has just ended.
  }
}

/** Runs a program in its own process group and waits until it has ended. Never throws. */
export const runChild = (plan: ChildPlan, signal: AbortSignal): Promise<ChildEnd> => {
  const child = spawn(plan.command, plan.words, {
    cwd: plan.cwd,
    env: plan.environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const watched = plan.helpers.watch('helm', child)
  const stderr = new StderrLines(plan.onLine)
  const kept: Buffer[] = []
  let keptBytes = 0
  let isCutShort = false
  let ended: EndReason | undefined
  let wasKilled = false
  const gone = new AbortController()

  const end = async (reason: EndReason, afterSeconds: number): Promise<void> => {
    if (ended !== undefined) return
    if (afterSeconds > 0) await sleep(afterSeconds * 1000, undefined, { signal: gone.signal })
    if (ended !== undefined) return
    ended = reason
    signalGroup(child, 'SIGTERM')
    await sleep(plan.graceSeconds * 1000, undefined, { signal: gone.signal })
    wasKilled = true
    signalGroup(child, 'SIGKILL')
  }
  /** The wait is cancelled when the process has ended. */
  const endQuietly = (reason: EndReason, afterSeconds: number): void =>
    void end(reason, afterSeconds).catch(() => undefined)

  // What it made is whole when it begins to write it.
  child.stdout.once('data', watched.look)
  child.stdout.on('data', (chunk: Buffer) => {
    keptBytes += chunk.byteLength
    if (keptBytes <= plan.outputLimitBytes) return void kept.push(chunk)
    isCutShort = true
    if (!plan.isPatient) endQuietly('output', 0)
  })
  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk))
  const onAbort = (): void => endQuietly('cancelled', plan.finishSeconds)

  return new Promise((resolve) => {
    const settle = (
      exitCode: number | null | undefined,
      by: NodeJS.Signals | null,
      error?: NodeJS.ErrnoException,
    ): void => {
      gone.abort()
      signal.removeEventListener('abort', onAbort)
      stderr.end()
      resolve({
        exitCode,
        signal: by,
        stdout: Buffer.concat(kept),
        isCutShort,
        stderr: stderr.tail(),
        ended,
        wasKilled,
        error,
      })
    }
    child.once('error', (error) => settle(undefined, null, error))
    child.once('close', (exitCode, by) => settle(exitCode, by))
    child.once('spawn', () => {
      try {
        setPriority(child.pid ?? 0, politeness)
      } catch {
        // The process has already ended, or the system does not permit it.
      }
      endQuietly('time', plan.wallSeconds)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort)
    })
  })
}
