import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as sleep } from 'node:timers/promises'

const longestLine = 500
const mostLines = 2_000
const tailCharacters = 64 * 1024

/** Without escape sequences and control characters. */
export const cleanLine = (line: string): string =>
  line
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trimEnd()

/** Cuts what a process says into bounded lines, and keeps the last of it. */
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

  /** As lines, cleaned. */
  tail(): string {
    return this.#tail.split('\n').map(cleanLine).join('\n')
  }

  #take(text: string): void {
    this.#tail = (this.#tail + text).slice(-tailCharacters)
    const lines = (this.#open + text).split('\n')
    // A line without an end must not grow for ever.
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

/** Why we ended a process. */
export type EndReason = 'cancelled' | 'time' | 'output'

export interface ChildPlan {
  readonly command: string
  readonly words: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  /** Bytes of stdout that are kept; more ends the process, or is thrown away when `isPatient`. */
  readonly outputLimitBytes: number
  /** More output, or a cancellation, must not end what is under way. */
  readonly isPatient: boolean
  /** Seconds after which it is ended in any case. */
  readonly wallSeconds: number
  /** Seconds that a cancelled one may still work before it is told to end. */
  readonly finishSeconds: number
  /** Seconds between SIGTERM and SIGKILL. */
  readonly graceSeconds: number
  readonly onLine: (line: string) => void
}

export interface ChildEnd {
  /** Undefined when the program could not be started; `error` says why. */
  readonly exitCode: number | null | undefined
  readonly signal: NodeJS.Signals | null
  readonly stdout: Buffer
  readonly isCutShort: boolean
  /** The last of what it said, cleaned. */
  readonly stderr: string
  readonly ended: EndReason | undefined
  /** It outlived its grace. */
  readonly wasKilled: boolean
  readonly error: NodeJS.ErrnoException | undefined
}

/** A process below others in the machine's favour: rendering must not slow down the service. */
const politeness = 5

const signalGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {
    // It has just ended.
  }
}

/** Runs one program in a process group of its own, and waits until it has gone. Never throws. */
export const runChild = (plan: ChildPlan, signal: AbortSignal): Promise<ChildEnd> => {
  const child = spawn(plan.command, plan.words, { cwd: plan.cwd, env: plan.environment, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
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
  /** The wait is given up when the process has gone. */
  const endQuietly = (reason: EndReason, afterSeconds: number): void => void end(reason, afterSeconds).catch(() => undefined)

  child.stdout.on('data', (chunk: Buffer) => {
    keptBytes += chunk.byteLength
    if (keptBytes <= plan.outputLimitBytes) return void kept.push(chunk)
    isCutShort = true
    if (!plan.isPatient) endQuietly('output', 0)
  })
  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk))
  const onAbort = (): void => endQuietly('cancelled', plan.finishSeconds)

  return new Promise((resolve) => {
    const settle = (exitCode: number | null | undefined, by: NodeJS.Signals | null, error?: NodeJS.ErrnoException): void => {
      gone.abort()
      signal.removeEventListener('abort', onAbort)
      stderr.end()
      resolve({ exitCode, signal: by, stdout: Buffer.concat(kept), isCutShort, stderr: stderr.tail(), ended, wasKilled, error })
    }
    child.once('error', (error) => settle(undefined, null, error))
    child.once('close', (exitCode, by) => settle(exitCode, by))
    child.once('spawn', () => {
      try {
        setPriority(child.pid ?? 0, politeness)
      } catch {
        // It has ended already, or the machine does not let us.
      }
      endQuietly('time', plan.wallSeconds)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort)
    })
  })
}
