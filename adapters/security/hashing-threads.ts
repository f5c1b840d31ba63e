import { Worker } from 'node:worker_threads'
import type { Options } from '@node-rs/argon2'

export type HashingTask =
  | { readonly kind: 'hash'; readonly password: string; readonly parameters: Options }
  | { readonly kind: 'verify'; readonly password: string; readonly phc: string }

export type HashingAnswer = { readonly result: string | boolean } | { readonly failure: string }

/** Threads of our own for password hashing. */
export interface HashingThreads {
  /** At most as many at once as the caller's queue allows: a thread is made for each, and kept. */
  run(task: HashingTask): Promise<string | boolean>
}

/** A build turns the endings of imports, not those of URLs. */
const program = new URL(`./hashing-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)

/**
 * Not libuv's threads: those are four, shared with files and DNS, and have the priority of the event loop. Measured on two
 * cores with 8 sign-ins at once: other requests' p99 was 4 to 18 times that of an idle service on libuv's threads, and 1.1
 * to 1.4 times on threads of lower priority.
 */
export const makeHashingThreads = (): HashingThreads => {
  const idle: Worker[] = []
  return {
    run: (task) => {
      const thread = idle.pop() ?? startThread(idle)
      thread.ref()
      return new Promise((resolve, reject) => {
        const settle = (step: () => void, isReusable: boolean): void => {
          thread.removeAllListeners()
          thread.unref()
          if (isReusable) idle.push(watched(thread, idle))
          step()
        }
        thread.removeAllListeners()
        thread.once('message', (answer: HashingAnswer) =>
          settle(() => ('result' in answer ? resolve(answer.result) : reject(new Error(answer.failure))), true),
        )
        thread.once('error', (error) => settle(() => reject(error), false))
        thread.once('exit', () => settle(() => reject(new Error('A hashing thread ended.')), false))
        thread.postMessage(task)
      })
    },
  }
}

const startThread = (idle: Worker[]): Worker => watched(new Worker(program), idle)

/** One that dies while it waits is forgotten; without a listener its error would end the process. */
const watched = (thread: Worker, idle: Worker[]): Worker => {
  const forget = (): void => {
    const index = idle.indexOf(thread)
    if (index >= 0) idle.splice(index, 1)
  }
  return thread.once('error', forget).once('exit', forget)
}
