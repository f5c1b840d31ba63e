import PQueue, { TimeoutError } from 'p-queue'
import { Piscina } from 'piscina'
import type { PoolLoad } from '../../core/platform/ports.ts'
import { threadEnvironment } from '../system/thread-environment.ts'
import type { AccountKey } from './account-turns.ts'
import { makeAccountTurns, TurnRefused } from './account-turns.ts'

export interface BoundedThreadsOptions {
  /** The module of the threads. It exports `answerTo`, which does one job. */
  readonly program: URL
  /** The name of the pool in traces. */
  readonly pool: string
  readonly threads: number
  /** Threads that the jobs of one account use at the same time. */
  readonly perAccount: number
  readonly waitingPerAccount: number
  readonly waitMilliseconds: number
  /** From the start of a job. */
  readonly jobMilliseconds: number
  readonly heapMegabytes: number
  /** After this time without a job a thread ends, and its memory is given back. Without it a thread stays. */
  readonly idleMilliseconds?: number
}

/**
 * The job was ended or refused: it took too long or too much memory, or too many jobs wait. The message is for people.
 */
export class WorkStopped extends Error {}

/**
 * Threads that read untrusted input. A job that does not end is ended together with its thread. Accounts get the
 * threads in turn.
 */
export interface BoundedThreads {
  /**
   * Throws WorkStopped, and what the job throws.
   * @param moved buffers to transfer rather than copy: this thread does not read them again.
   */
  run(account: AccountKey, job: object, moved?: readonly ArrayBuffer[]): Promise<unknown>
  load(): PoolLoad
  close(): Promise<void>
}

const stopped = (): WorkStopped => new WorkStopped('The service stops.')

export const makeBoundedThreads = (options: BoundedThreadsOptions): BoundedThreads => {
  const pool = new Piscina({
    filename: options.program.href,
    name: 'answerTo',
    minThreads: 0,
    maxThreads: options.threads,
    idleTimeout: options.idleMilliseconds ?? Infinity,
    // The thread gets no variable of the service: its jobs process untrusted input.
    env: threadEnvironment(),
    resourceLimits: { maxOldGenerationSizeMb: options.heapMegabytes },
    atomics: 'disabled',
    recordTiming: false,
  })
  // A thread that fails without a job is replaced at the next one.
  pool.on('error', () => undefined)
  const turns = makeAccountTurns({ inAll: options.threads, ...options })
  // Each running job has a thread, so the time of a job starts when it gets one. The pool ends the thread of an aborted
  // job.
  const timed = new PQueue({ concurrency: options.threads, timeout: options.jobMilliseconds })
  let isClosed = false

  const asStopped = (error: unknown): WorkStopped => {
    if (isClosed) return stopped()
    return new WorkStopped(error instanceof TimeoutError ? 'It takes too long.' : 'It takes more memory than it may.')
  }

  const start = async (job: object, moved: readonly ArrayBuffer[]): Promise<unknown> => {
    try {
      return await timed.add(({ signal }) =>
        isClosed ? Promise.reject(stopped()) : pool.run(job, { transferList: [...moved], signal: signal ?? null }),
      )
    } catch (error) {
      throw asStopped(error)
    }
  }

  return {
    async run(account, job, moved = []) {
      try {
        return await turns.run(account, () => start(job, moved))
      } catch (error) {
        throw error instanceof TurnRefused ? new WorkStopped(error.message) : error
      }
    },
    load: () => turns.load(),
    async close() {
      isClosed = true
      await pool.destroy()
    },
  }
}
