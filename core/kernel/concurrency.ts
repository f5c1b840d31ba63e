import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'

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
