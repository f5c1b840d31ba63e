interface Running<A> {
  readonly outcome: Promise<A>
  readonly stop: AbortController
  waiting: number
}

/** Does for all who ask at once what one of them asked for. */
export type SharedWork<A> = (key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<A>) => Promise<A>

/**
 * Work under the same key is done once while it lasts, and everybody is given its outcome. Who leaves is told so at once;
 * the work itself is stopped when the last one has left.
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
