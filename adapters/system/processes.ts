import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { basename, dirname } from 'node:path'

const niceness = 10

/**
 * Lets this thread yield to those that answer requests. Linux has a priority for each thread; on other systems it has
 * normal priority.
 */
export const lowerThreadPriority = (): void => {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness)
  } catch {
    // Not Linux, or /proc is hidden: requests are then delayed more.
  }
}

/**
 * Lets this process, with all its threads, yield to others, and be ended before them if the system runs out of memory.
 * Later threads inherit it.
 */
export const lowerProcessPriority = (): void => {
  try {
    setPriority(niceness)
    for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), niceness)
    writeFileSync('/proc/self/oom_score_adj', '500')
  } catch {
    // Not Linux, or /proc is hidden.
  }
}

/**
 * The environment of a thread that gets none of the service's variables: the folder in which Node keeps compiled code.
 * Without it a thread or a process of the service compiles all its modules at each start.
 */
export const threadEnvironment = (): Readonly<Record<string, string>> => {
  // Node appends its version and architecture to the folder that it is given.
  const folder = getCompileCacheDir()
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) }
}

/** Reports whether a process of this system exists, also one of another user. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Returns the URL of a program that is started by its path, as a thread or a process, from its name without an
 * extension, which is relative to the module at `caller`. A build rewrites the extensions of imports, but not those of
 * URLs.
 */
export const programUrl = (name: string, caller: string): URL =>
  new URL(`${name}${caller.endsWith('.ts') ? '.ts' : '.js'}`, caller)
