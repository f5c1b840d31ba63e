import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'

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
