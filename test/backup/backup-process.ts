import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { cleanEnvironment, mainFile } from '../support/service-process.ts'

interface Ended {
  readonly code: number | string
  readonly err: string
  /** The most memory that it had, in MiB. */
  readonly peak: number
}

/** `moorage backup …` as a process, killed after some milliseconds if it has not ended. */
export const runBackup = async (
  environment: Readonly<Record<string, string>>,
  words: readonly string[],
  {
    killAfter,
    killWhen = () => false,
    enter = [],
  }: { readonly killAfter?: number; readonly killWhen?: () => boolean; readonly enter?: readonly string[] } = {},
): Promise<Ended> => {
  const [file = process.execPath, ...args] = [...enter, process.execPath, mainFile, 'backup', ...words]
  const child = spawn(file, args, { env: cleanEnvironment(environment), stdio: ['ignore', 'ignore', 'pipe'] })
  let peak = 0
  const watching = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
    } catch {
      // It has ended.
    }
    if (killWhen()) child.kill('SIGKILL')
  }, 20)
  const killing = killAfter === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfter)
  const err = text(child.stderr)
  const code = await new Promise<number | string>((resolve) =>
    child.once('exit', (exit, signal) => resolve(exit ?? signal ?? '')),
  )
  clearInterval(watching)
  clearTimeout(killing)
  return { code, err: await err, peak }
}
