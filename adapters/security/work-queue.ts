import PQueue from 'p-queue'
import type { PoolLoad } from '../../core/platform/ports.ts'

/** Runs expensive work with bounded concurrency. Work that cannot wait is refused at once. */
export interface WorkQueue {
  /** Returns undefined if the queue is full; then nothing was started. */
  tryRun<A>(work: () => Promise<A>): Promise<A> | undefined
  load(): PoolLoad
}

export interface WorkQueueOptions {
  readonly concurrency: number
  readonly maxWaiting: number
}

export const makeWorkQueue = ({ concurrency, maxWaiting }: WorkQueueOptions): WorkQueue => {
  const queue = new PQueue({ concurrency })
  let [waits, waitSeconds] = [0, 0]
  const timed = <A>(work: () => Promise<A>): Promise<A> => {
    const since = performance.now()
    return queue.add(() => {
      waits += 1
      waitSeconds += (performance.now() - since) / 1000
      return work()
    })
  }
  return {
    tryRun: (work) => (queue.pending >= concurrency && queue.size >= maxWaiting ? undefined : timed(work)),
    load: () => ({ running: queue.pending, waiting: queue.size, waits, waitSeconds }),
  }
}
