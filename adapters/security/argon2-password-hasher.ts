import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Options } from '@node-rs/argon2'
import { parseOptions } from '@node-rs/argon2'
import { left, right } from 'fp-ts/lib/Either.js'
import type { PasswordHasher } from '../../core/identity/ports.ts'
import { TooManyAttempts } from '../../core/identity/ports.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { WorkQueue } from './work-queue.ts'
import { makeWorkQueue } from './work-queue.ts'

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

/** OWASP's least parameters for argon2id. */
const leastCost: HashingCost = { memoryCost: 19_456, timeCost: 2 }

/** Memory in KiB, and passes over it. */
export interface HashingCost {
  readonly memoryCost: number
  readonly timeCost: number
}

/** `algorithm: 2` is argon2id (the library's enum is type-only). */
const parametersOf = ({ memoryCost, timeCost }: HashingCost) => ({ algorithm: 2, memoryCost, timeCost, parallelism: 1, outputLen: 32 }) as const
type Parameters = ReturnType<typeof parametersOf>

/** A hash takes a core for some 30 ms; more than two at once would leave small machines nothing. */
export const hashingConcurrency = (cores = availableParallelism()): number => Math.min(2, cores)

const maxWaiting = 64

const saturated = () => left(TooManyAttempts('Too many sign-ins at this moment, try again in a second.', { retryAfterSeconds: 1 }))

/** One for the whole process, since it is the machine's cores that are shared. */
export const makeHashingQueue = (): WorkQueue => makeWorkQueue({ concurrency: hashingConcurrency(), maxWaiting })

/** A lower `cost` is for tests alone: no setting leads here. */
export const makeArgon2PasswordHasher = (queue: WorkQueue = makeHashingQueue(), cost: HashingCost = leastCost): PasswordHasher => {
  const parameters = parametersOf(cost)
  const threads = makeHashingThreads()
  const queued = async <A>(work: () => Promise<A>): Outcome<ReturnType<typeof TooManyAttempts>, A> => {
    const started = queue.tryRun(work)
    return started === undefined ? saturated() : right(await started)
  }
  const dummy = dummyPhc(parameters)
  return {
    hash: (password) => queued(async () => String(await threads.run({ kind: 'hash', password: password.reveal(), parameters }))),
    verify: (phc, password) =>
      isReadable(phc)
        ? queued(async () => (await threads.run({ kind: 'verify', password: password.reveal(), phc })) === true)
        : Promise.resolve(right(false)),
    needsRehash: (phc) => !isReadable(phc) || !isCurrent(phc, parameters),
    dummyPhc: () => Promise.resolve(dummy),
  }
}

const isReadable = (phc: string): boolean => {
  try {
    return parseOptions(phc).memoryCost > 0
  } catch {
    return false
  }
}

const isCurrent = (phc: string, parameters: Parameters): boolean => {
  const made = parseOptions(phc)
  const names = ['memoryCost', 'timeCost', 'parallelism', 'outputLen'] as const
  return phc.startsWith('$argon2id$v=19$') && names.every((name) => made[name] === parameters[name])
}

/** Random salt and tag: verifying costs the same, and no password gives this tag. */
const dummyPhc = ({ memoryCost, timeCost, parallelism, outputLen }: Parameters): string => {
  const encoded = (length: number): string => randomBytes(length).toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${encoded(16)}$${encoded(outputLen)}`
}
