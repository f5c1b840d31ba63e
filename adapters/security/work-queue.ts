/** Runs expensive work with bounded concurrency. Work that cannot wait is refused at once. */
export interface WorkQueue {
  /** Returns undefined if the queue is full; then nothing was started. */
  tryRun<A>(work: () => Promise<A>): Promise<A> | undefined
  readonly waiting: number
}

export interface WorkQueueOptions {
  readonly concurrency: number
  readonly maxWaiting: number
}

export const makeWorkQueue = ({ concurrency, maxWaiting }: WorkQueueOptions): WorkQueue => {
  const waiting: (() => void)[] = []
  let running = 0

  const runNow = async <A>(work: () => Promise<A>): Promise<A> => {
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }

  return {
    tryRun: <A>(work: () => Promise<A>) => {
      if (running < concurrency) return runNow(work)
      if (waiting.length >= maxWaiting) return undefined
      return new Promise<A>((resolve, reject) => {
        waiting.push(() => void runNow(work).then(resolve, reject))
      })
    },
    get waiting() {
      return waiting.length
    },
  }
}
