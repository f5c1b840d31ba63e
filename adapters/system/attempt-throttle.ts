import { createHmac } from 'node:crypto'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import { LRUCache } from 'lru-cache'
import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import type {
  Attempt,
  AttemptCounters,
  AttemptKind,
  AttemptThrottle,
  Guarded,
} from '../../core/identity/attempt-ports.ts'
import type { Background } from '../../core/identity/ports.ts'
import { getOrMake } from '../../core/kernel/cache.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import type { Limit } from './allowances.ts'
import { insuredPoints, makeSharedLimiter, networkOf } from './allowances.ts'
import { toWireJson } from '../../core/kernel/json.ts'

/** Bounds how long a block is cached, so that an administrator's unlock on another instance takes effect soon. */
const maxMilliseconds = 5_000
const maxKeys = 10_000

/** Caches briefly which keys are blocked, so that a flood of attempts on one of them costs no query. */
const makeBlockedKeys = (clock: Clock) => {
  const blocked = new LRUCache<string, { readonly until: number; readonly forgottenAt: number }>({ max: maxKeys })
  return {
    /** Returns the milliseconds for which the key is still blocked, according to the cache. */
    millisecondsLeft(key: string): number | undefined {
      const found = blocked.get(key)
      if (found === undefined) return undefined
      const now = clock.now().getTime()
      if (now < Math.min(found.until, found.forgottenAt)) return found.until - now
      blocked.delete(key)
      return undefined
    },
    remember(key: string, milliseconds: number): void {
      const now = clock.now().getTime()
      blocked.set(key, { until: now + milliseconds, forgottenAt: now + maxMilliseconds })
    },
    forgetAll(prefix: string): void {
      for (const key of blocked.keys()) if (key.startsWith(prefix)) blocked.delete(key)
    },
  }
}

/** The state of a subject: the number of failures that it has left, or a refusal. */
type ThrottleState<R> =
  | { readonly kind: 'open'; readonly left: number }
  | { readonly kind: 'refused'; readonly refusal: R }

interface Place {
  /** Callers that hold or wait for a place. Without callers the place is removed. */
  callers: number
  underWay: number
  /** Increases with each counted failure, so that a standing read before it is known to be outdated. */
  failures: number
  readonly waiting: (() => void)[]
}

/**
 * Limits the concurrent guesses at one subject in this process to the failures that the subject has left. Otherwise
 * many concurrent guesses would all be admitted by the same old count. `left` of an open standing is at least 1, so
 * that a waiting caller always waits for a running one.
 */
const makeUnderWay = () => {
  const places = new Map<string, Place>()

  const placeOf = (key: string): Place =>
    getOrMake(places, key, () => ({ callers: 0, underWay: 0, failures: 0, waiting: [] }))

  const leave = (key: string, place: Place): void => {
    place.callers -= 1
    place.waiting.shift()?.()
    if (place.callers === 0) places.delete(key)
  }

  /** Returns undefined if a place was taken, or the refusal. The caller gives the place back. */
  const enter = async <R>(place: Place, read: () => Promise<ThrottleState<R>>): Promise<R | undefined> => {
    for (;;) {
      const { failures } = place
      const standing = await read()
      if (standing.kind === 'refused') return standing.refusal
      if (place.failures !== failures) continue
      if (place.underWay < standing.left) {
        place.underWay += 1
        return undefined
      }
      await new Promise<void>((resume) => place.waiting.push(resume))
    }
  }

  /** Runs `work` in a place, or returns the refusal. `work` must call `failed` once its failure is counted. */
  return async <R, A>(
    key: string,
    read: () => Promise<ThrottleState<R>>,
    work: (failed: () => void) => Promise<A>,
  ): Promise<R | A> => {
    const place = placeOf(key)
    place.callers += 1
    let isUnderWay = false
    try {
      const refusal = await enter(place, read)
      if (refusal !== undefined) return refusal
      isUnderWay = true
      return await work(() => {
        place.failures += 1
      })
    } finally {
      if (isUnderWay) place.underWay -= 1
      leave(key, place)
    }
  }
}

/** The numbers of docs/decisions/lockout.md. */
const attemptLimits = {
  /** Of one secret, or of a password from one network. */
  subject: { points: 5, seconds: 15 * 60 },
  /** Of a password, over all networks from which the account has not signed in lately, and over all others. */
  total: { points: 20, seconds: 15 * 60 },
  address: { points: 100, seconds: 10 * 60 },
  /** Repeated locks within a quiet day double from the first length to the longest. */
  lock: { firstSeconds: 30, longestSeconds: 3600, quietSeconds: 24 * 3600 },
} as const

/** The scopes of the totals of a subject. */
const [familiarScope, unfamiliarScope] = ['familiar networks', 'unfamiliar networks'] as const

const kinds: readonly AttemptKind[] = ['password', 'one-time-code', 'passkey', 'reset-code']
const purgeMilliseconds = 10 * 60_000
/** How long a network is familiar after the last sign-in from it. It is noted again at most once a day. */
const familiarMilliseconds = 90 * 24 * 3_600_000
const notedMilliseconds = 24 * 3_600_000

export interface AttemptThrottleDeps {
  readonly counters: AttemptCounters
  /** 32 bytes. Text typed as a name may have been a password, so keys are not plain digests. */
  readonly key: Secret<Uint8Array>
  /** For the state of this process. The counters use the clock of their store. */
  readonly clock: Clock
  readonly background: Background
  readonly log: Log
}

type Refused = Extract<Guarded<never, never>, { readonly retryAfterSeconds: number }>

/** Returns the length of the nth lock of a day. @internal */
export const lockSeconds = (n: number): number =>
  Math.min(attemptLimits.lock.firstSeconds * 2 ** Math.min(n - 1, 20), attemptLimits.lock.longestSeconds)

const seconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000))

/**
 * Failed attempts and locks on shared counters. The port describes the guarantees, docs/decisions/lockout.md the
 * numbers.
 */
export const makeAttemptThrottle = (deps: AttemptThrottleDeps): AttemptThrottle => {
  const limiters = makeLimiters(deps)
  const blocked = makeBlockedKeys(deps.clock)
  const inPlace = makeUnderWay()
  const purgeSometimes = makePurge(deps)
  const digestOf = (...parts: readonly string[]): Buffer =>
    createHmac('sha256', deps.key.reveal())
      .update(toWireJson(['attempts', ...parts]))
      .digest()
  const keyOf = (...parts: readonly string[]): string => digestOf(...parts).toString('hex')
  const prefixOf = (noun: 'failures' | 'locks', { kind, subject }: Pick<Attempt, 'kind' | 'subject'>): Buffer =>
    digestOf(noun, kind, typeof subject, String(subject)).subarray(0, 16)
  /** The keys of a subject have one prefix, so that an unlock finds them without knowing the networks. */
  const keyUnder = (noun: 'failures' | 'locks', attempt: Attempt, scope: string): string =>
    prefixOf(noun, attempt).toString('hex') + digestOf('scope', scope).toString('hex', 0, 16)
  const addressKey = (sourceIp: string): string => keyOf('address', networkOf(sourceIp))
  const familiar = makeFamiliarNetworks(deps, ({ subject, sourceIp }) =>
    digestOf('familiar', typeof subject, String(subject), networkOf(sourceIp)),
  )

  /** Returns what is left of a limit, and caches a block. */
  const leftOf = async (
    limiter: RateLimiterAbstract,
    key: string,
  ): Promise<{ readonly blockedMs: number } | { readonly left: number; readonly used: number }> => {
    const remembered = blocked.millisecondsLeft(key)
    if (remembered !== undefined) return { blockedMs: remembered }
    const found = await limiter.get(key)
    if (found === null || found.msBeforeNext <= 0) return { left: limiter.points, used: 0 }
    if (found.remainingPoints > 0) return { left: found.remainingPoints, used: found.consumedPoints }
    blocked.remember(key, found.msBeforeNext)
    return { blockedMs: found.msBeforeNext }
  }

  const countersOf = makeCountersOf({
    limiters,
    keyUnder,
    isBlocked: (key) => blocked.millisecondsLeft(key) !== undefined,
    isFamiliar: familiar.has,
  })

  /** Returns whether the owner is notified: of the 1st, 2nd, 4th, 8th lock of a quiet day. */
  const lock = async (attempt: Attempt, { limiter, scope, key }: Counter): Promise<boolean> => {
    const { lock: times } = attemptLimits
    const locks = keyUnder('locks', attempt, scope)
    const ordinal = (await limiters.locks.penalty(locks)).consumedPoints
    const lockedSeconds = lockSeconds(ordinal)
    await limiter.block(key, lockedSeconds)
    await limiters.locks.set(locks, ordinal, times.quietSeconds + lockedSeconds)
    blocked.remember(key, lockedSeconds * 1000)
    const all = (await limiters.locks.penalty(keyUnder('locks', attempt, 'notices'))).consumedPoints
    return (all & (all - 1)) === 0
  }

  const countForAddress = async (sourceIp: string): Promise<void> => {
    await limiters.address.penalty(addressKey(sourceIp))
    purgeSometimes()
  }

  /**
   * Returns true for the failure that locks, if the owner is to be notified. More than one failure past a limit can be
   * counted; exactly one reaches it.
   */
  const countFailure = async (attempt: Attempt, counters: readonly Counter[]): Promise<boolean> => {
    const [counted] = await Promise.all([
      Promise.all(counters.map(({ limiter, key }) => limiter.penalty(key))),
      countForAddress(attempt.sourceIp),
    ])
    const reached = counters.filter(({ limit }, index) => hasJustReached(counted[index] as RateLimiterRes, limit))
    const notices = await Promise.all(reached.map((counter) => lock(attempt, counter)))
    return notices.includes(true)
  }

  const guard = async <E, A>(
    attempt: Attempt,
    check: () => Promise<Either<E, A | undefined>>,
  ): Promise<Guarded<E, A>> => {
    const counters = await countersOf(attempt)
    const [own] = counters
    let hadFailures = false
    const read = async (): Promise<ThrottleState<Refused>> => {
      const [address, ...states] = await Promise.all([
        leftOf(limiters.address, addressKey(attempt.sourceIp)),
        ...counters.map(({ limiter, key }) => leftOf(limiter, key)),
      ])
      if ('blockedMs' in address) return refusedAs('address-blocked', address.blockedMs)
      const open = states.filter((state) => 'left' in state)
      const [locked] = states.filter((state) => 'blockedMs' in state)
      if (locked !== undefined) return refusedAs('subject-locked', locked.blockedMs)
      hadFailures = (open[0]?.used ?? 0) > 0
      return { kind: 'open', left: Math.min(...open.map((state) => state.left)) }
    }
    // Callers from familiar networks do not wait for those from others.
    const guarded = await inPlace((counters.at(-1) ?? own).key, read, async (failed): Promise<Guarded<E, A>> => {
      const answer = await check()
      if (isLeft(answer)) return { kind: 'judged', answer }
      if (answer.right === undefined) {
        const hasLocked = await countFailure(attempt, counters)
        failed()
        return { kind: 'wrong', hasLocked }
      }
      if (hadFailures) await limiters.failures.delete(own.key)
      if (attempt.kind === 'password') familiar.note(attempt)
      return { kind: 'judged', answer: right(answer.right) }
    })
    if (guarded.kind === 'subject-locked') await countForAddress(attempt.sourceIp)
    return guarded
  }

  return {
    guard,
    async unlock(userId, only) {
      const locked = await Promise.all(
        (only === undefined ? kinds : [only]).map(async (kind) => {
          const subject = { kind, subject: userId, sourceIp: '' }
          const totals = [familiarScope, unfamiliarScope].map((scope) => keyUnder('failures', subject, scope))
          const found = await Promise.all(totals.map((key) => limiters.total.get(key)))
          await Promise.all(totals.map((key) => limiters.total.delete(key)))
          await deps.counters.removeAll(prefixOf('locks', subject), 0)
          blocked.forgetAll(prefixOf('failures', subject).toString('hex'))
          const wasReached = await deps.counters.removeAll(prefixOf('failures', subject), attemptLimits.subject.points)
          return wasReached || found.some((total) => total?.remainingPoints === 0)
        }),
      )
      return locked.includes(true)
    },
  }
}

/** A counter that an attempt counts on. */
interface Counter {
  readonly limiter: RateLimiterAbstract
  readonly limit: Limit
  readonly scope: string
  readonly key: string
}

interface CountersDeps {
  readonly limiters: Limiters
  readonly keyUnder: (noun: 'failures' | 'locks', attempt: Attempt, scope: string) => string
  readonly isBlocked: (key: string) => boolean
  readonly isFamiliar: (attempt: Attempt) => Promise<boolean>
}

/** Returns the counters of an attempt: that of its own scope first. */
const makeCountersOf = ({ limiters, keyUnder, isBlocked, isFamiliar }: CountersDeps) => {
  const counterOf = (attempt: Attempt, scope: string, which: 'subject' | 'total'): Counter => ({
    limiter: which === 'subject' ? limiters.failures : limiters.total,
    limit: attemptLimits[which],
    scope,
    key: keyUnder('failures', attempt, scope),
  })

  return async (attempt: Attempt): Promise<readonly [Counter, ...Counter[]]> => {
    const { kind, sourceIp, provenBy } = attempt
    // The other secrets are requested after another one was proven, and are too short for more guesses.
    if (kind !== 'password') return [counterOf(attempt, 'all', 'subject')]
    if (provenBy !== undefined) return [counterOf(attempt, provenBy, 'subject')]
    const own = counterOf(attempt, `network ${networkOf(sourceIp)}`, 'subject')
    if (isBlocked(own.key)) return [own]
    // Both cost the same, so that the time of an answer does not tell whether the account was used from here.
    return [own, counterOf(attempt, (await isFamiliar(attempt)) ? familiarScope : unfamiliarScope, 'total')]
  }
}

/** Notes from which networks accounts have signed in. Without the store, no network is familiar. */
const makeFamiliarNetworks = (
  { counters, clock, background }: AttemptThrottleDeps,
  keyOf: (attempt: Attempt) => Uint8Array,
) => {
  const noted = new LRUCache<string, number>({ max: maxKeys })
  return {
    async has(attempt: Attempt): Promise<boolean> {
      try {
        return (await counters.find(keyOf(attempt))) !== undefined
      } catch {
        // The limiters report that the store is away.
        return false
      }
    },
    note(attempt: Attempt): void {
      const key = keyOf(attempt)
      const text = Buffer.from(key).toString('hex')
      const now = clock.now().getTime()
      if (now - (noted.get(text) ?? -Infinity) < notedMilliseconds) return
      noted.set(text, now)
      background.run('noting a familiar network', () => counters.put(key, 1, familiarMilliseconds))
    },
  }
}

const refusedAs = (kind: Refused['kind'], milliseconds: number): ThrottleState<Refused> => ({
  kind: 'refused',
  refusal: { kind, retryAfterSeconds: seconds(milliseconds) },
})

/**
 * Counting is atomic, so that exactly one of all failures reaches the limit. While the store is away, the limit is the
 * insured one.
 */
const hasJustReached = ({ consumedPoints, remainingPoints }: RateLimiterRes, limit: Limit): boolean =>
  remainingPoints === 0 && (consumedPoints === limit.points || consumedPoints === insuredPoints(limit))

type Limiters = ReturnType<typeof makeLimiters>

const makeLimiters = ({ counters, clock, log }: AttemptThrottleDeps) => {
  let toldAt = 0
  const onStoreAway = (error: unknown): void => {
    const now = clock.now().getTime()
    if (now - toldAt < 60_000) return
    toldAt = now
    log.error(
      { reason: error instanceof Error ? error.message : 'unknown' },
      'Failed attempts are counted in this process only: the store does not answer',
    )
  }
  return {
    failures: makeSharedLimiter(counters, onStoreAway, attemptLimits.subject),
    total: makeSharedLimiter(counters, onStoreAway, attemptLimits.total),
    // Only counts: the limit of this limiter is not used.
    locks: makeSharedLimiter(counters, onStoreAway, {
      points: Number.MAX_SAFE_INTEGER,
      seconds: attemptLimits.lock.quietSeconds,
    }),
    address: makeSharedLimiter(counters, onStoreAway, attemptLimits.address),
  }
}

/** Failures leave rows behind, so they also trigger the removal of old ones. */
const makePurge = ({ counters, clock, background }: AttemptThrottleDeps): (() => void) => {
  let purgedAt = clock.now().getTime()
  return () => {
    const now = clock.now().getTime()
    if (now - purgedAt < purgeMilliseconds) return
    purgedAt = now
    background.run('purging counters of failed attempts', async () => void (await counters.purge()))
  }
}
