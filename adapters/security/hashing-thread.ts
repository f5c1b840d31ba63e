import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { hashSync, verifySync } from '@node-rs/argon2'
import type { HashingTask } from './argon2-password-hasher.ts'

/** Niceness of the thread, which hashes one password at a time. */
const niceness = 10

/** Linux has a priority for each thread. On other systems the thread has normal priority. */
const yieldToOthers = (): void => {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness)
  } catch {
    // Not Linux, or /proc is hidden: sign-ins then delay other requests more.
  }
}

/** Hashes or verifies one password of the pool. */
export const resultOf = (task: HashingTask): string | boolean =>
  task.kind === 'hash' ? hashSync(task.password, task.parameters) : verifySync(task.phc, task.password)

yieldToOthers()
