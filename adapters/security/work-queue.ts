import PQueue from 'p-queue'

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
  const queue = new PQueue({ concurrency })
  return {
    tryRun: (work) => (queue.pending >= concurrency && queue.size >= maxWaiting ? undefined : queue.add(work)),
    get waiting() {
      return queue.size
    },
  }
}
