import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Pause } from './clock.ts'
import type { Failure, Outcome } from './failure.ts'

interface Running<A> {
  readonly outcome: Promise<A>
  readonly stop: AbortController
  waiting: number
}

/** Runs work once for all concurrent callers with the same key. */
export type SharedWork<A> = (key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<A>) => Promise<A>

/**
 * Concurrent work under the same key runs once, and all callers receive its result. A caller that aborts is released at
 * once; the work itself is aborted when the last caller has left.
 */
export const makeSharedWork = <A>(): SharedWork<A> => {
  const running = new Map<string, Running<A>>()

  const begin = (key: string, work: (signal: AbortSignal) => Promise<A>): Running<A> => {
    const stop = new AbortController()
    const outcome = work(stop.signal).finally(() => {
      if (running.get(key) === begun) running.delete(key)
    })
    const begun: Running<A> = { outcome, stop, waiting: 0 }
    running.set(key, begun)
    return begun
  }

  return async (key, signal, work) => {
    signal.throwIfAborted()
    const shared = running.get(key) ?? begin(key, work)
    shared.waiting += 1
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        shared.waiting -= 1
        if (shared.waiting === 0) {
          running.delete(key)
          shared.stop.abort(signal.reason)
        }
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', leave, { once: true })
      const settled = (settle: () => void): void => {
        signal.removeEventListener('abort', leave)
        settle()
      }
      shared.outcome.then(
        (value) => settled(() => resolve(value)),
        (error: unknown) => settled(() => reject(error as Error)),
      )
    })
  }
}

/**
 * Runs `work` on every item, at most `limit` at a time, and returns the results in the order of the items. `lane` is an
 * integer from 0 to below `limit`; items that run at the same time have different ones. If one throws, no further item
 * is started, and the promise rejects with that error once all that were started have ended.
 */
export const mapWithin = async <A, B>(
  items: readonly A[],
  limit: number,
  work: (item: A, index: number, lane: number) => Promise<B>,
): Promise<readonly B[]> => {
  const results: B[] = []
  const failures: unknown[] = []
  const waiting = items.entries()
  const worker = async (lane: number): Promise<void> => {
    for (const [index, item] of waiting) {
      if (failures.length > 0) return
      try {
        results[index] = await work(item, index, lane)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, (_, lane) => worker(lane)))
  if (failures.length > 0) throw failures[0]
  return results
}

/** Like `mapWithin`, for work that may fail: starts no more work after a Left, and returns the first Left. */
export const atATime = async <A, E, B>(
  items: readonly A[],
  limit: number,
  work: (item: A) => Promise<Either<E, B>>,
): Promise<Either<E, readonly B[]>> => {
  let failed: Either<E, never> | undefined
  const results = await mapWithin(items, limit, async (item) => {
    const result = failed ?? (await work(item))
    if (isLeft(result)) failed ??= result
    return result
  })
  return failed ?? right(results.flatMap((result) => (isLeft(result) ? [] : [result.right])))
}

/**
 * Repeats work that failed because another request changed the same thing at the same time, at most `attempts` times in
 * all. Returns the first Right, the first Left that `isOvertaken` does not recognize, or the last Left.
 */
export const untilNotOvertaken = async <E, A>(
  attempts: number,
  isOvertaken: (failure: E) => boolean,
  work: () => Promise<Either<E, A>>,
): Promise<Either<E, A>> => {
  for (let attempt = 1; ; attempt += 1) {
    const done = await work()
    if (!isLeft(done) || attempt >= attempts || !isOvertaken(done.left)) return done
  }
}

/** What a poll found: an answer, or why there is none yet. */
export type Polled<A> = { readonly isOver: true; readonly answer: A } | { readonly isOver: false; readonly why: string }
export const over = <A>(answer: A): Polled<A> => ({ isOver: true, answer })
export const notYet = (why: string): Polled<never> => ({ isOver: false, why })

const firstPauseMs = 200
const longestPauseMs = 5_000
/** When a wait is long enough to say why. */
const silentMs = 2_000

/** How long to ask, and what to say while there is no answer. */
interface Patience {
  readonly patienceMs: number
  /** Makes the failure of an answer that did not come in time. */
  readonly stuck: (why: string) => Failure
  /** Called once with why there is no answer yet, if that takes some seconds. */
  readonly say: ((why: string) => void) | undefined
}

/**
 * Asks until there is an answer, with growing pauses of at most 5 seconds. A failure counts as no answer until the time
 * is over. Failures: `stuck` with what `why` says, or the last failure.
 */
export const pollWithin = async <A>(
  { pause }: { readonly pause: Pause },
  { signal }: { readonly signal: AbortSignal },
  { patienceMs, stuck, say }: Patience,
  ask: () => Outcome<Failure, Polled<A>>,
): Outcome<Failure, A> => {
  const startMs = performance.now()
  const endMs = startMs + patienceMs
  let isSaid = false
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
    const asked = await ask()
    const polled = isLeft(asked) ? undefined : asked.right
    if (polled?.isOver === true) return right(polled.answer)
    const failure = isLeft(asked) ? asked.left : stuck(polled?.why ?? '')
    if (signal.aborted || performance.now() >= endMs) return left(failure)
    if (!isSaid && performance.now() - startMs >= silentMs) {
      say?.(failure.message)
      isSaid = true
    }
    await pause(Math.min(pauseMs, Math.max(1, endMs - performance.now())), signal)
  }
}
