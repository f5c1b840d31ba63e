import PQueue, { TimeoutError } from 'p-queue'
import { Piscina } from 'piscina'
import type { FreeObject } from '../../core/kernel/json.ts'
import type { Chart } from '../../core/packages/charts/ports.ts'
import type { ArchiveLimits } from './archives.ts'
import type { SchemaTree } from './values-schema.ts'
import type { RepositoryIndex } from './repositories/repository-index.ts'
import type { TextJob } from './text-jobs.ts'

export type ChartJob =
  /** `digests`: lower-case hex of SHA-256; the archive must match all of them. The bytes are transferred to the thread. */
  | { readonly kind: 'read'; readonly archive: Uint8Array<ArrayBuffer>; readonly digests: readonly string[]; readonly limits: ArchiveLimits }
  | { readonly kind: 'pack'; readonly chart: Pick<Chart, 'name' | 'metadata' | 'files'>; readonly annotations: Readonly<Record<string, string>> }
  | { readonly kind: 'check'; readonly chart: SchemaTree; readonly values: FreeObject }
  /** The bytes are transferred to the thread. */
  | { readonly kind: 'index'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'text'; readonly job: TextJob }
  | { readonly kind: 'diff'; readonly from: string; readonly to: string }

export type ChartResult =
  | { readonly kind: 'read'; readonly chart: Chart; readonly digest: string; readonly size: number }
  | { readonly kind: 'pack'; readonly archive: Uint8Array }
  | { readonly kind: 'check'; readonly lines: readonly string[] }
  | { readonly kind: 'index'; readonly index: RepositoryIndex }
  /** Documents are packed (see `packValues`). */
  | { readonly kind: 'text'; readonly made: readonly Uint8Array[] | string }
  | { readonly kind: 'diff'; readonly lines: string }

export type ChartAnswer = { readonly result: ChartResult } | { readonly refused: string } | { readonly failure: string }

/** The job was ended or refused: it took too long or too much memory, or too many jobs wait. The message is for people. */
export class ChartWorkStopped extends Error {}
/** The input breaks a rule. The message is for people. */
export class ChartWorkRefused extends Error {}

/** Threads that read untrusted input: archives, indexes, schemas. A job that does not end is ended together with its thread. */
export interface ChartThreads {
  /** Throws ChartWorkRefused and ChartWorkStopped. */
  run<Kind extends ChartJob['kind']>(job: Extract<ChartJob, { kind: Kind }>): Promise<Extract<ChartResult, { kind: Kind }>>
  close(): Promise<void>
}

export interface ChartThreadsOptions {
  readonly threads?: number
  readonly maxWaiting?: number
  readonly jobMilliseconds?: number
  readonly heapMegabytes?: number
}

/** A build rewrites the extensions of imports, but not those of URLs. */
const program = new URL(`./chart-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)

/** Returns the buffers to transfer rather than copy: this thread does not read them again. */
const movedBy = (job: ChartJob): ArrayBuffer[] => (job.kind === 'read' ? [job.archive.buffer] : job.kind === 'index' ? [job.bytes.buffer] : [])

const stopped = (): ChartWorkStopped => new ChartWorkStopped('The service stops.')

export const makeChartThreads = ({ threads = 2, maxWaiting = 64, jobMilliseconds = 15_000, heapMegabytes = 512 }: ChartThreadsOptions = {}): ChartThreads => {
  const pool = new Piscina({
    filename: program.href,
    name: 'answerTo',
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: Infinity,
    // The thread gets no environment: its jobs process untrusted input.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes },
    atomics: 'disabled',
    recordTiming: false,
  })
  // A thread that fails without a job is replaced at the next one.
  pool.on('error', () => undefined)
  // Each running job has a thread, so the time of a job starts when it gets one. The pool ends the thread of an aborted job.
  const turns = new PQueue({ concurrency: threads, timeout: jobMilliseconds })
  let isClosed = false

  const answerTo = async (job: ChartJob, signal: AbortSignal | undefined): Promise<ChartAnswer> => {
    if (isClosed) throw stopped()
    return (await pool.run(job, { transferList: movedBy(job), signal: signal ?? null })) as ChartAnswer
  }

  const asStopped = (error: unknown): ChartWorkStopped => {
    if (isClosed) return stopped()
    return new ChartWorkStopped(error instanceof TimeoutError ? 'It takes too long.' : 'It takes more memory than it may.')
  }

  return {
    async run(job) {
      if (turns.size >= maxWaiting) throw new ChartWorkStopped('Too many charts are being read; try again later.')
      const answer = await turns.add(({ signal }) => answerTo(job, signal)).catch((error: unknown) => {
        throw asStopped(error)
      })
      if ('refused' in answer) throw new ChartWorkRefused(answer.refused)
      if ('failure' in answer) throw new Error(`a chart thread failed: ${answer.failure}`)
      return answer.result as Extract<ChartResult, { kind: typeof job.kind }>
    },
    async close() {
      isClosed = true
      await pool.destroy()
    },
  }
}
