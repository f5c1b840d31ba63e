import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import type { Options } from '@node-rs/argon2'
import { parseOptions } from '@node-rs/argon2'
import type * as languageCommon from '@zxcvbn-ts/language-common'
import type { CommonPasswords, PasswordHasher } from '../../core/identity/ports.ts'
import type { PoolLoad } from '../../core/platform/ports.ts'
import { makeAccountLimiter } from '../outbound/account-limiter.ts'
import type { ReadingBudgets } from '../outbound/reading-budgets.ts'
import { programUrl } from '../system/processes.ts'
import { makeThreads } from '../system/threads.ts'

export type HashingTask =
  | { readonly kind: 'hash'; readonly password: string; readonly parameters: Options }
  | { readonly kind: 'verify'; readonly password: string; readonly phc: string }

/** Threads used only for password hashing. */
export interface HashingThreads {
  /** Runs a task on a thread of its own, which is kept. The caller's queue limits concurrency. */
  run(task: HashingTask): Promise<string | boolean>
}

const program = programUrl('./hashing-thread', import.meta.url)

/**
 * Hashes on dedicated threads rather than libuv's: libuv has four, shared with files and DNS, at the priority of the
 * event loop. Measured on two cores with 8 concurrent sign-ins: other requests' p99 was 4 to 18 times that of an idle
 * service on libuv's threads, and 1.1 to 1.4 times on threads of lower priority.
 */
const makeHashingThreads = (): HashingThreads => {
  const threads = makeThreads({ program, threads: hashingConcurrency() })
  return { run: async (task) => (await threads.run('resultOf', task)) as string | boolean }
}

/** OWASP's minimum parameters for argon2id. */
const leastCost: HashingCost = { memoryCost: 19_456, timeCost: 2 }

/** Memory in KiB, and the number of passes over it. */
export interface HashingCost {
  readonly memoryCost: number
  readonly timeCost: number
}

/** `algorithm: 2` is argon2id (the library's enum is type-only). */
const parametersOf = ({ memoryCost, timeCost }: HashingCost) =>
  ({ algorithm: 2, memoryCost, timeCost, parallelism: 1, outputLen: 32 }) as const
type Parameters = ReturnType<typeof parametersOf>

/**
 * A hash takes a core for about 30 ms, and the memory that it fills slows the others. One core is left to requests: on
 * two cores with 8 people who sign in without pause, other requests' p99 was 2.8 to 4 times that of an idle service
 * with one hash at a time, and 4 to 6 times with two.
 *
 * @internal
 */
export const hashingConcurrency = (cores = availableParallelism()): number => Math.min(2, Math.max(1, cores - 1))

/** Of one account or network. */
const waitingPerAccount = 64
const longestWaitMilliseconds = 20_000

/** The turns of hashing. */
export interface HashingQueue {
  /** Throws Busy, and the reason of the signal if the caller leaves before its turn. */
  run<A>(named: number | string | undefined, work: () => Promise<A>): Promise<A>
  load(): PoolLoad
}

export interface HashingQueueOptions {
  /** Returns the part of a limit that this process has; each hashes one at a time at least. */
  readonly share?: (total: number) => number
  /** The caller whose work is queued. */
  readonly caller?: Pick<ReadingBudgets, 'account' | 'signal'>
}

/** An entered name must not be that of a network: the callers of that network would wait for it. */
const placeOfNamed = (named: number | string | undefined): number | string | undefined =>
  typeof named === 'string' ? `name ${named}` : named

/** One queue for the whole process, because the machine's cores are shared. */
export const makeHashingQueue = ({ share = (total) => total, caller }: HashingQueueOptions = {}): HashingQueue => {
  const atOnce = Math.max(1, share(hashingConcurrency()))
  const limiter = makeAccountLimiter({
    pool: 'passwords',
    inAll: atOnce,
    // A hash is short: who comes next waits for no longer than one.
    perAccount: atOnce,
    waitingPerAccount: Math.max(1, share(waitingPerAccount)),
    waitMilliseconds: longestWaitMilliseconds,
  })
  return {
    run: (named, work) =>
      limiter.run({ account: caller?.account(), named: placeOfNamed(named), signal: caller?.signal() }, work),
    load: limiter.load,
  }
}

/**
 * @param cost is lower only in tests; no setting changes it. Only a hash of such a cost may be made without threads.
 */
export const makeArgon2PasswordHasher = (
  queue: HashingQueue = makeHashingQueue(),
  cost: HashingCost = leastCost,
  threads: HashingThreads = makeHashingThreads(),
): PasswordHasher => {
  const parameters = parametersOf(cost)
  const dummy = dummyPhc(parameters)
  return {
    hash: (password) =>
      queue.run(undefined, async () =>
        String(await threads.run({ kind: 'hash', password: password.reveal(), parameters })),
      ),
    verify: async (phc, password, named) =>
      isReadable(phc) &&
      queue.run(named, async () => (await threads.run({ kind: 'verify', password: password.reveal(), phc })) === true),
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

/** Returns a hash with a random salt and tag: verification costs the same, and no password matches it. */
const dummyPhc = ({ memoryCost, timeCost, parallelism, outputLen }: Parameters): string => {
  const encoded = (length: number): string => randomBytes(length).toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${encoded(16)}$${encoded(outputLen)}`
}

const load = createRequire(import.meta.url)

/** For a deployment that does not use the list. */
export const noCommonPasswords: CommonPasswords = { includes: () => false }

/** In lower case. */
let listed: ReadonlySet<string> | undefined

/**
 * The 49,233 leaked passwords of the library's list. The list is loaded on the first check, not at startup, and once
 * for a process.
 */
export const makeListedCommonPasswords = (): CommonPasswords => ({
  includes(password) {
    listed ??= new Set((load('@zxcvbn-ts/language-common') as typeof languageCommon).dictionary['passwords-common'])
    return listed.has(password)
  },
})
