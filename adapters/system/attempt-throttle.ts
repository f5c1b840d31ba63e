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
import type { UserId } from '../../core/kernel/ids.ts'
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
    forget: (key: string): void => void blocked.delete(key),
  }
}

/** The state of a subject: the number of failures that it has left, or a refusal. */
type ThrottleState<R> =
  { readonly kind: 'open'; readonly left: number } | { readonly kind: 'refused'; readonly refusal: R }

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
  subject: { points: 5, seconds: 15 * 60 },
  address: { points: 100, seconds: 10 * 60 },
  /** Repeated locks within a quiet day double from the first length to the longest. */
  lock: { firstSeconds: 30, longestSeconds: 3600, quietSeconds: 24 * 3600 },
} as const

const kinds: readonly AttemptKind[] = ['password', 'one-time-code', 'reset-code']
const purgeMilliseconds = 10 * 60_000

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
  const keyOf = (...parts: readonly string[]): string =>
    createHmac('sha256', deps.key.reveal())
      .update(toWireJson(['attempts', ...parts]))
      .digest('hex')
  const failuresKey = (kind: AttemptKind, subject: UserId | string): string =>
    keyOf('failures', kind, typeof subject, String(subject))
  const locksKey = (kind: AttemptKind, subject: UserId | string): string =>
    keyOf('locks', kind, typeof subject, String(subject))
  const addressKey = (sourceIp: string): string => keyOf('address', networkOf(sourceIp))

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

  const lock = async (attempt: Attempt, key: string): Promise<void> => {
    const { lock: times } = attemptLimits
    const ordinal = (await limiters.locks.penalty(locksKey(attempt.kind, attempt.subject))).consumedPoints
    const lockedSeconds = lockSeconds(ordinal)
    await limiters.failures.block(key, lockedSeconds)
    await limiters.locks.set(locksKey(attempt.kind, attempt.subject), ordinal, times.quietSeconds + lockedSeconds)
    blocked.remember(key, lockedSeconds * 1000)
  }

  const countForAddress = async (sourceIp: string): Promise<void> => {
    await limiters.address.penalty(addressKey(sourceIp))
    purgeSometimes()
  }

  /**
   * Returns true for the failure that locks. More than one failure past the limit can be counted; exactly one reaches
   * it.
   */
  const countFailure = async (attempt: Attempt, key: string): Promise<boolean> => {
    const [counted] = await Promise.all([limiters.failures.penalty(key), countForAddress(attempt.sourceIp)])
    if (!hasJustReached(counted, attemptLimits.subject)) return false
    await lock(attempt, key)
    return true
  }

  const guard = async <E, A>(
    attempt: Attempt,
    check: () => Promise<Either<E, A | undefined>>,
  ): Promise<Guarded<E, A>> => {
    const key = failuresKey(attempt.kind, attempt.subject)
    let hadFailures = false
    const read = async (): Promise<ThrottleState<Refused>> => {
      const [address, subject] = await Promise.all([
        leftOf(limiters.address, addressKey(attempt.sourceIp)),
        leftOf(limiters.failures, key),
      ])
      if ('blockedMs' in address) return refusedAs('address-blocked', address.blockedMs)
      if ('blockedMs' in subject) return refusedAs('subject-locked', subject.blockedMs)
      hadFailures = subject.used > 0
      return { kind: 'open', left: subject.left }
    }
    const guarded = await inPlace(key, read, async (failed): Promise<Guarded<E, A>> => {
      const answer = await check()
      if (isLeft(answer)) return { kind: 'judged', answer }
      if (answer.right === undefined) {
        const hasLocked = await countFailure(attempt, key)
        failed()
        return { kind: 'wrong', hasLocked }
      }
      if (hadFailures) await limiters.failures.delete(key)
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
          const key = failuresKey(kind, userId)
          const found = await limiters.failures.get(key)
          await limiters.failures.delete(key)
          await limiters.locks.delete(locksKey(kind, userId))
          blocked.forget(key)
          return found !== null && found.remainingPoints === 0
        }),
      )
      return locked.includes(true)
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
