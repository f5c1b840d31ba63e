import type { MessagePort } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import { definedFields } from '../../core/kernel/json.ts'
import { threadEnvironment } from './processes.ts'

export interface ThreadsOptions {
  /** The module of the threads. Its exported functions do the jobs. */
  readonly program: URL
  /** By default one. */
  readonly threads?: number
  /** After this time without a job a thread ends, and its memory is given back. Without it a thread stays. */
  readonly idleMilliseconds?: number
  /** The most that JavaScript may take on one thread. A thread that exceeds it ends, and fails its job. */
  readonly heapMegabytes?: number
  /** The part of the heap for what is young. */
  readonly youngMegabytes?: number
  /** Passed to each thread at its start. */
  readonly data?: unknown
}

interface ThreadJob {
  /** Ends the thread of the job, and no other. */
  readonly signal?: AbortSignal
  /** What is transferred rather than copied: this thread does not use it again. */
  readonly moved?: readonly (ArrayBuffer | MessagePort)[]
}

/** Threads that run a module. They are started when they are first needed. A limiter belongs before them. */
export interface Threads {
  /** Runs an exported function of the module with a job. Throws what it throws, or if its thread ends. */
  run(name: string, job: unknown, how?: ThreadJob): Promise<unknown>
  /** Ends all threads. A later job starts new ones. */
  close(): Promise<void>
}

export const makeThreads = (options: ThreadsOptions): Threads => {
  let pool: Promise<Piscina> | undefined
  const start = async (): Promise<Piscina> => {
    // The library is loaded only here, since loading it takes time.
    const { Piscina: Pool } = await import('piscina')
    const { program, threads = 1, idleMilliseconds = Infinity, heapMegabytes, youngMegabytes, data } = options
    const started = new Pool({
      filename: program.href,
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: idleMilliseconds,
      // The thread gets no variable of the service: its jobs may process untrusted input.
      env: threadEnvironment(),
      workerData: data,
      resourceLimits: definedFields({
        maxOldGenerationSizeMb: heapMegabytes,
        maxYoungGenerationSizeMb: youngMegabytes,
      }),
      // An idle thread would otherwise block its event loop, and what a job left open would close during the next one.
      atomics: 'disabled',
      recordTiming: false,
    })
    // A thread that fails without a job is replaced at the next one.
    return started.on('error', () => undefined)
  }
  return {
    run: async (name, job, { signal, moved = [] } = {}) => {
      pool ??= start()
      return (await pool).run(job, { name, signal: signal ?? null, transferList: [...moved] })
    },
    async close() {
      const last = pool
      pool = undefined
      await (await last)?.destroy()
    },
  }
}
