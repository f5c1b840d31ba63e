import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import PQueue from 'p-queue'
import type { PoolLoad } from '../../core/platform/ports.ts'

/** A wait for a place in a bounded pool that has ended. Times are milliseconds since 1970. */
export interface EndedWait {
  readonly pool: string
  readonly since: number
  readonly until: number
}

/** Gets an `EndedWait` in the asynchronous context of the caller who waited. */
export const endedWaits = channel('moorage.wait')

const now = (): number => performance.timeOrigin + performance.now()
const nothing = (): void => undefined

/** Begins a wait, and returns what ends it. Without a subscriber it does nothing. */
export const startWait = (pool: string): (() => void) => {
  if (!endedWaits.hasSubscribers) return nothing
  const since = now()
  // A place is given by the caller who leaves it, in the context of that one.
  const inContext = AsyncLocalStorage.snapshot()
  return () => inContext(() => endedWaits.publish({ pool, since, until: now() } satisfies EndedWait))
}

/** Runs expensive work with bounded concurrency. Work that cannot wait is refused at once. */
export interface WorkQueue {
  /** Returns undefined if the queue is full; then nothing was started. */
  tryRun<A>(work: () => Promise<A>): Promise<A> | undefined
  load(): PoolLoad
}

export interface WorkQueueOptions {
  /** The name of the pool in traces. */
  readonly pool: string
  readonly concurrency: number
  readonly maxWaiting: number
}

export const makeWorkQueue = ({ pool, concurrency, maxWaiting }: WorkQueueOptions): WorkQueue => {
  const queue = new PQueue({ concurrency })
  let [waits, waitSeconds] = [0, 0]
  const timed = <A>(work: () => Promise<A>): Promise<A> => {
    const since = performance.now()
    const endWait = queue.pending < concurrency ? nothing : startWait(pool)
    return queue.add(() => {
      endWait()
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
