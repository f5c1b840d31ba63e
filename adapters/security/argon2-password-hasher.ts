import { randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { parseOptions } from '@node-rs/argon2'
import { left, right } from 'fp-ts/lib/Either.js'
import type { PasswordHasher } from '../../core/identity/ports.ts'
import { TooManyAttempts } from '../../core/identity/ports.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import { makeHashingThreads } from './hashing-threads.ts'
import type { WorkQueue } from './work-queue.ts'
import { makeWorkQueue } from './work-queue.ts'

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
