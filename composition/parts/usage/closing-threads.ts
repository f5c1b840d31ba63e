import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { threadEnvironment } from '../../../adapters/system/processes.ts'
import type { Gathered, MonthWork } from '../../../core/usage/months/month-work.ts'
import type { ClosingPlace, Stoppable } from './closing-thread.ts'
import type { Ended } from './closing-work.ts'
import { resultOf } from './closing-work.ts'

/** A build rewrites the extensions of imports, but not those of URLs. */
const program = new URL(`./closing-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)

/**
 * The most that JavaScript may take on one thread. A month of 10^7 intervals in 100 clusters takes a tenth of it; each
 * further cluster takes its sums of days.
 */
const heapMegabytes = 1024
/** For what is young. With less, the intervals of a cluster are copied before they are passed on. */
const youngMegabytes = 32

/** The views of so many objects take ten seconds and more. */
const manyObjects = 250_000

/**
 * Two threads read, which is short and mostly waits for the database. Writing takes longest: it leaves a core to
 * requests, but for months of many objects on a database server, for which each thread waits a part of the time. With
 * SQLite, requests wait for the thread that writes.
 *
 * @internal
 */
export const closingLanes = (databaseUrl: string, cores = availableParallelism()): MonthWork['lanes'] => {
  const all = Math.min(2, cores)
  const polite = Math.min(2, Math.max(1, cores - 1))
  const isServer = !databaseUrl.startsWith('sqlite:')
  return { gather: all, views: (objectCount) => (isServer && objectCount >= manyObjects ? all : polite) }
}

/** The work of closing months on threads. */
export interface ClosingThreads extends MonthWork {
  close(): Promise<void>
}

/**
 * Does the work of closing months on threads, each with its own connections to the database, so that requests do not
 * wait for it. Threads start when they are first needed and end when nothing is closed. A task that is stopped ends by
 * itself, soon: it may be in the middle of a file or of a statement.
 */
export const makeClosingThreads = (place: ClosingPlace, lanes = closingLanes(place.databaseUrl)): ClosingThreads => {
  let pool: Piscina | undefined
  const start = (): Piscina =>
    new Piscina({
      filename: program.href,
      minThreads: 0,
      maxThreads: Math.max(lanes.gather, lanes.views(Number.POSITIVE_INFINITY)),
      idleTimeout: 10_000,
      env: threadEnvironment(),
      workerData: place,
      resourceLimits: { maxOldGenerationSizeMb: heapMegabytes, maxYoungGenerationSizeMb: youngMegabytes },
      atomics: 'disabled',
      recordTiming: false,
    }).on('error', () => undefined)
  const run = async <Result>(name: 'gather' | 'writeViews', task: unknown, signal: AbortSignal): Promise<Result> => {
    signal.throwIfAborted()
    pool ??= start()
    const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const stop = (): void => void Atomics.store(stopped, 0, 1)
    signal.addEventListener('abort', stop, { once: true })
    try {
      return resultOf((await pool.run({ task, stopped } satisfies Stoppable<unknown>, { name })) as Ended<Result>)
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
  return {
    lanes,
    gather: (task, signal) => run<Gathered>('gather', task, signal),
    writeViews: (task, signal) => run<void>('writeViews', task, signal),
    async close() {
      await pool?.destroy()
      pool = undefined
    },
  }
}
