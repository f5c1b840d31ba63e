import type { PoolLoad } from '../../core/platform/ports.ts'
import { makeThreads, type ThreadsOptions } from '../system/threads.ts'
import type { AccountLimits, AskedTurn } from './account-limiter.ts'
import { makeAccountLimiter } from './account-limiter.ts'

export interface BoundedThreadsOptions extends Omit<AccountLimits, 'inAll'>, Omit<ThreadsOptions, 'data'> {
  /** The module of the threads. It exports `answerTo`, which does one job. */
  readonly program: URL
  readonly threads: number
  /** From the start of a job. */
  readonly jobMilliseconds: number
  readonly heapMegabytes: number
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
   * Throws WorkStopped, what the limiter throws, and what the job throws. Jobs with fewer bytes come before those with
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
  const threads = makeThreads(options)
  // Each running job has a thread, so the time of a job starts when it gets one.
  const limiter = makeAccountLimiter({ ...options, inAll: options.threads })
  let isClosed = false

  const start = async (job: object, moved: readonly ArrayBuffer[]): Promise<unknown> => {
    if (isClosed) throw stopped()
    const signal = AbortSignal.timeout(options.jobMilliseconds)
    try {
      return await threads.run('answerTo', job, { signal, moved })
    } catch {
      if (isClosed) throw stopped()
      throw new WorkStopped(signal.aborted ? 'It takes too long.' : 'It takes more memory than it may.')
    }
  }

  return {
    run({ moved = [], bytes = moved.reduce((sum, { byteLength }) => sum + byteLength, 0), ...asked }, job) {
      return limiter.run({ ...asked, bytes, length: 1 + bytes / bytesOfUnit }, () => start(job, moved))
    },
    load: () => limiter.load(),
    async close() {
      isClosed = true
      await threads.close()
    },
  }
}
