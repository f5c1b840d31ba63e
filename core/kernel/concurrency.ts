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
      shared.outcome.then((value) => settled(() => resolve(value)), (error: unknown) => settled(() => reject(error as Error)))
    })
  }
}

/**
 * Runs the work for each item, `width` at a time, and returns the results in the order of the items. Starts no more work
 * after a Left, and returns the first Left.
 */
export const atATime = async <A, E, B>(items: readonly A[], width: number, work: (item: A) => Promise<Either<E, B>>): Promise<Either<E, readonly B[]>> => {
  const done = new Map<number, B>()
  let next = 0
  let failed: Either<E, never> | undefined
  const worker = async (): Promise<void> => {
    while (next < items.length && failed === undefined) {
      const index = next
      next += 1
      const result = await work(items[index] as A)
      if (isLeft(result)) failed ??= result
      else done.set(index, result.right)
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker))
  return failed ?? right(items.map((_, index) => done.get(index) as B))
}
