import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordProcess } from './run-folder.ts'

export interface ProcessToStart {
  /** For the log file and for messages. */
  readonly name: string
  readonly file: string
  /** One of them must name `folder`, by which a later run recognises what was left behind. */
  readonly arguments: readonly string[]
  readonly folder: string
  readonly environment?: NodeJS.ProcessEnv
}

export interface BackgroundProcess {
  readonly name: string
  /** Everything that it has printed so far. */
  output(): string
  hasEnded(): boolean
  /** SIGTERM, then SIGKILL when it has not ended after the grace. */
  stop(graceMilliseconds?: number): Promise<void>
  kill(): Promise<void>
}

/** Starts a component in a session of its own: Ctrl-C reaches the runner, which stops it in order. */
export function startProcess(start: ProcessToStart): BackgroundProcess {
  const logFile = join(start.folder, `${start.name}.log`)
  const log = openSync(logFile, 'a')
  const child = spawn(start.file, start.arguments, {
    cwd: start.folder,
    detached: true,
    env: start.environment ?? process.env,
    stdio: ['pipe', log, log],
  })
  closeSync(log)
  if (child.pid !== undefined) recordProcess(start.folder, child.pid)
  let failedToStart = ''
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', (cause) => {
      failedToStart = cause.message
      resolve()
    })
  })
  // An idle component must not keep a test process alive.
  child.unref()
  const hasEnded = () => failedToStart !== '' || child.exitCode !== null || child.signalCode !== null
  return {
    name: start.name,
    output: () => failedToStart + readFileSync(logFile, 'utf8'),
    hasEnded,
    stop: (grace = 10_000) => end(child, hasEnded, ended, 'SIGTERM', grace),
    kill: () => end(child, hasEnded, ended, 'SIGKILL', 10_000),
  }
}

/** Asks `isReady` until it says yes; fails with the process's last words when it ends or is too slow. */
export async function untilReady(
  started: BackgroundProcess,
  isReady: () => boolean | Promise<boolean>,
  timeoutMilliseconds: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMilliseconds
  while (!(await answers(isReady))) {
    if (started.hasEnded()) throw new Error(`${started.name} ended while it started:\n${lastWords(started)}`)
    if (Date.now() > deadline) {
      throw new Error(`${started.name} was not ready after ${timeoutMilliseconds / 1000} s:\n${lastWords(started)}`)
    }
    await sleep(50)
  }
}

async function answers(isReady: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await isReady()
  } catch {
    return false
  }
}

async function end(
  child: ChildProcess,
  hasEnded: () => boolean,
  ended: Promise<void>,
  signal: NodeJS.Signals,
  graceMilliseconds: number,
): Promise<void> {
  if (hasEnded()) return
  child.ref()
  child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMilliseconds)
  await ended
  clearTimeout(timer)
}

function lastWords(started: BackgroundProcess): string {
  return started.output().split('\n').slice(-30).join('\n')
}
