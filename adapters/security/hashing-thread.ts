import { hashSync, verifySync } from '@node-rs/argon2'
import type { HashingTask } from './passwords.ts'
import { lowerThreadPriority } from '../system/processes.ts'

/** Hashes or verifies one password of the pool. */
export const resultOf = (task: HashingTask): string | boolean =>
  task.kind === 'hash' ? hashSync(task.password, task.parameters) : verifySync(task.phc, task.password)

lowerThreadPriority()
