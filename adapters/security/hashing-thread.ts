import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { hashSync, verifySync } from '@node-rs/argon2'
import type { HashingAnswer, HashingTask } from './argon2-password-hasher.ts'

/** The thread's program: hashes one password after the other at low priority. */
const niceness = 10

/** Linux gives each thread a priority of its own; elsewhere the thread runs like any other. */
const yieldToOthers = (): void => {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness)
  } catch {
    // Not Linux, or /proc is hidden: sign-ins then cost other requests more.
  }
}

const resultOf = (task: HashingTask): string | boolean =>
  task.kind === 'hash' ? hashSync(task.password, task.parameters) : verifySync(task.phc, task.password)

yieldToOthers()
parentPort?.on('message', (task: HashingTask) => {
  let answer: HashingAnswer
  try {
    answer = { result: resultOf(task) }
  } catch (error) {
    answer = { failure: (error as Error).message }
  }
  parentPort?.postMessage(answer)
})
