import { availableParallelism } from 'node:os'
import { sumOfTimes } from '../../../adapters/system/helper-processes.ts'
import { programUrl } from '../../../adapters/system/processes.ts'
import { makeThreads } from '../../../adapters/system/threads.ts'
import type { Gathered, MonthWork } from '../../../core/usage/months/month-work.ts'
import type { OpenSpan, PoolLoad, Tracing } from '../../../core/platform/ports.ts'
import { noTracing } from '../../../core/platform/ports.ts'
import { makeAccountLimiter } from '../../../adapters/outbound/account-limiter.ts'
import type { StatementCounts } from '../../runtime/service/tracing.ts'
import type { ClosingPlace, Stoppable, ThreadEnd } from './closing-thread.ts'
import { resultOf } from './closing-work.ts'

const program = programUrl('./closing-thread', import.meta.url)

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
  /** What the threads did since the start. What a thread did that was ended in its task is not in it. */
  counts(): { readonly statements: StatementCounts; readonly waits: StatementCounts; readonly load: PoolLoad }
  close(): Promise<void>
}

export interface ClosingThreadsOptions {
  readonly lanes?: MonthWork['lanes']
  readonly tracing?: Tracing
}

const nothing: StatementCounts = { count: 0, seconds: 0 }

/**
 * Does the work of closing months on threads, each with its own connections to the database, so that requests do not
 * wait for it. Threads start when they are first needed and end when nothing is closed. A task that is stopped ends by
 * itself, soon: it may be in the middle of a file or of a statement.
 */
export const makeClosingThreads = (
  place: ClosingPlace,
  { lanes = closingLanes(place.databaseUrl), tracing = noTracing }: ClosingThreadsOptions = {},
): ClosingThreads => {
  const count = Math.max(lanes.gather, lanes.views(Number.POSITIVE_INFINITY))
  const threads = makeThreads({
    program,
    threads: count,
    idleMilliseconds: 10_000,
    heapMegabytes,
    youngMegabytes,
    data: place,
  })
  const limiter = makeAccountLimiter({
    pool: 'closing-threads',
    inAll: count,
    perAccount: count,
    waitingPerAccount: Number.POSITIVE_INFINITY,
  })
  let [statements, waits]: [StatementCounts, StatementCounts] = [nothing, nothing]
  const note = (done: ThreadEnd<unknown>, span: OpenSpan): void => {
    statements = sumOfTimes(statements, done.statements)
    waits = sumOfTimes(waits, done.waits)
    span.set({
      'moorage.statements': done.statements.count,
      'moorage.statement_seconds': done.statements.seconds,
      'moorage.wait_seconds': done.waits.seconds,
    })
  }
  const runOnThread = async <Result>(
    name: 'gather' | 'writeViews',
    task: unknown,
    signal: AbortSignal,
    span: OpenSpan,
  ): Promise<Result> => {
    const stopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const stop = (): void => void Atomics.store(stopped, 0, 1)
    signal.addEventListener('abort', stop, { once: true })
    try {
      const stoppable: Stoppable<unknown> = { task, stopped }
      const done = await limiter.run(
        { account: undefined, signal },
        async () => (await threads.run(name, stoppable)) as ThreadEnd<Result>,
      )
      note(done, span)
      return resultOf(done.ended)
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
  const run = async <Result>(name: 'gather' | 'writeViews', task: unknown, signal: AbortSignal): Promise<Result> => {
    signal.throwIfAborted()
    return tracing.span({ name: `thread ${name}` }, (span) => runOnThread<Result>(name, task, signal, span))
  }
  return {
    lanes,
    gather: (task, signal) => run<Gathered>('gather', task, signal),
    writeViews: (task, signal) => run<void>('writeViews', task, signal),
    counts: () => ({ statements, waits, load: limiter.load() }),
    close: threads.close,
  }
}
