import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { recordProcess } from '../support/components/run-folder.ts'

/** A server under test in a process of its own so that its CPU time is its own. */
export interface StartedProcess {
  readonly name: string
  readonly port: number
  readonly pid: number
  readonly child: ChildProcess
  stop(): Promise<void>
}

export interface ProcessToStart {
  readonly name: string
  readonly arguments: readonly string[]
  readonly environment?: NodeJS.ProcessEnv
  /** Where its standard error goes; kept short, since an access log of some gigabytes helps nobody. */
  readonly folder: string
  /** Finds the port in a line of its standard output. */
  readonly portOf: (line: string) => number | undefined
  readonly program?: string
  readonly withMessages?: boolean
  readonly timeoutMilliseconds?: number
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** The first line of a twin. */
export const portOfTwin = (line: string): number | undefined => {
  try {
    return (JSON.parse(line) as { port?: number }).port
  } catch {
    return undefined
  }
}

export async function startServerProcess(start: ProcessToStart): Promise<StartedProcess> {
  const logPath = join(start.folder, `${start.name.replaceAll(/[^a-z0-9]+/gi, '-')}.log`)
  const log = openSync(logPath, 'a')
  const child = spawn(start.program ?? process.execPath, start.arguments, {
    stdio: ['pipe', 'pipe', log, ...(start.withMessages === true ? (['ipc'] as const) : [])],
    env: start.environment ?? process.env,
  })
  closeSync(log)
  running.add(child)
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => {
      running.delete(child)
      resolve()
    }),
  )
  const words = (): string => readFileSync(logPath, 'utf8').split('\n').slice(-20).join('\n')
  const port = await firstPort(child, start, words)
  if (child.pid !== undefined) recordProcess(start.folder, child.pid)
  const trimming = setInterval(() => truncateSync(logPath, 0), 1000).unref()
  return {
    name: start.name,
    port,
    pid: child.pid ?? 0,
    child,
    stop: async () => {
      clearInterval(trimming)
      child.stdin?.end()
      child.kill('SIGTERM')
      const hard = setTimeout(() => child.kill('SIGKILL'), 5000)
      await ended
      clearTimeout(hard)
    },
  }
}

function firstPort(child: ChildProcess, start: ProcessToStart, words: () => string): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      child.kill('SIGKILL')
      reject(new Error(`${start.name} ${why}:\n${words()}`))
    }
    const timeout = start.timeoutMilliseconds ?? 30_000
    const timer = setTimeout(() => fail(`did not listen after ${timeout / 1000} s`), timeout)
    child.once('error', (error) => fail(`cannot be started (${error.message})`))
    const endedEarly = (code: number | null, signal: string | null): void => {
      clearTimeout(timer)
      fail(`ended ${signal === null ? `with status ${code}` : `by ${signal}`} before it listened`)
    }
    child.once('exit', endedEarly)
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).on('line', (line) => {
      const port = start.portOf(line)
      if (port === undefined) return
      clearTimeout(timer)
      child.off('exit', endedEarly)
      resolve(port)
    })
  })
}
