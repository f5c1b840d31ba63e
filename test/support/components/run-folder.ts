import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

const ownerFile = 'owner.pid'
const open = new Set<string>()
let hooked = false

/** A private temporary folder for one running component; it goes away with this process. */
export function createRunFolder(name: string): string {
  sweepAbandonedRuns()
  mkdirSync(parentFolder(), { recursive: true, mode: 0o700 })
  const folder = mkdtempSync(join(parentFolder(), `${name}-`))
  writeFileSync(join(folder, ownerFile), String(process.pid))
  open.add(folder)
  if (!hooked) {
    hooked = true
    process.on('exit', () => {
      for (const each of open) removeRunFolder(each)
    })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) leaveOn(signal)
  }
  return folder
}

/** A signal would end the process without its exit hooks; whoever handles it already decides instead. */
function leaveOn(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 0) process.once(signal, () => process.exit(1))
}

/** Ends what still runs in the folder and deletes it. */
export function removeRunFolder(folder: string): void {
  open.delete(folder)
  for (const pid of recordedProcesses(folder)) killIfOurs(pid, folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Remembers that this process belongs to the folder, so that a later run can end it. */
export function recordProcess(folder: string, pid: number): void {
  writeFileSync(join(folder, `${pid}.child`), '')
}

/** True when a process with this number runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Ends components whose owner died without stopping them (it was killed, or the machine was busy). */
function sweepAbandonedRuns(): void {
  for (const name of entries(parentFolder())) {
    const folder = join(parentFolder(), name)
    const owner = readNumber(join(folder, ownerFile))
    if (owner !== undefined && !isAlive(owner)) removeRunFolder(folder)
  }
}

function parentFolder(): string {
  // Short, because a unix socket's path may have no more than 107 bytes.
  return join(tmpdir(), `moorage-test-${userInfo().uid}`)
}

function recordedProcesses(folder: string): number[] {
  return entries(folder)
    .filter((name) => name.endsWith('.child'))
    .map((name) => Number.parseInt(name, 10))
}

function killIfOurs(pid: number, folder: string): void {
  // A process number may have been given to someone else since: its arguments name our folder.
  try {
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder)) process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

/** The names in a folder; none when it does not exist. */
export function entries(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readNumber(path: string): number | undefined {
  try {
    const value = Number(readFileSync(path, 'utf8'))
    return value > 0 ? value : undefined
  } catch {
    return undefined
  }
}
