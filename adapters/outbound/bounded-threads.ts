import PQueue, { TimeoutError } from 'p-queue'
import { Piscina } from 'piscina'
import type { PoolLoad } from '../../core/platform/ports.ts'
import { threadEnvironment } from '../system/processes.ts'
import type { AccountTurnLimits, AskedTurn } from './account-turns.ts'
import { makeAccountTurns } from './account-turns.ts'

export interface BoundedThreadsOptions extends Omit<AccountTurnLimits, 'inAll'> {
  /** The module of the threads. It exports `answerTo`, which does one job. */
  readonly program: URL
  readonly threads: number
  /** From the start of a job. */
  readonly jobMilliseconds: number
  readonly heapMegabytes: number
  /** After this time without a job a thread ends, and its memory is given back. Without it a thread stays. */
  readonly idleMilliseconds?: number
}

/** The job was ended: it took too long or too much memory. The message is for people. */
export class WorkStopped extends Error {}

interface AskedJob extends Pick<AskedTurn, 'account' | 'signal' | 'bytes'> {
  /** Buffers to transfer rather than copy: this thread does not read them again. */
  readonly moved?: readonly ArrayBuffer[]
}

/**
 * Threads that read untrusted input. A job that does not end is ended together with its thread. Accounts get the
 * threads in turn.
 */
export interface BoundedThreads {
  /**
   * Throws WorkStopped, what AccountTurns throws, and what the job throws. Jobs with fewer bytes come before those with
   * more. `bytes` is the size of the moved buffers unless it is given.
   */
  run(asked: AskedJob, job: object): Promise<unknown>
  load(): PoolLoad
  close(): Promise<void>
}

/** About as long as the call of a thread takes. */
const bytesOfUnit = 64 * 1024

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
  const turns = makeAccountTurns({ ...options, inAll: options.threads })
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
    run({ moved = [], bytes = moved.reduce((sum, { byteLength }) => sum + byteLength, 0), ...asked }, job) {
      return turns.run({ ...asked, bytes, length: 1 + bytes / bytesOfUnit }, () => start(job, moved))
    },
    load: () => turns.load(),
    async close() {
      isClosed = true
      await pool.destroy()
    },
  }
}
