import { Worker } from 'node:worker_threads'
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

interface Waiting {
  readonly job: ChartJob
  readonly settle: (answer: ChartAnswer | ChartWorkStopped) => void
}

/** A build rewrites the extensions of imports, but not those of URLs. */
const program = new URL(`./chart-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)

/** Returns the buffers to transfer rather than copy: this thread does not read them again. */
const movedBy = (job: ChartJob): ArrayBuffer[] => (job.kind === 'read' ? [job.archive.buffer] : job.kind === 'index' ? [job.bytes.buffer] : [])

export const makeChartThreads = ({ threads = 2, maxWaiting = 64, jobMilliseconds = 15_000, heapMegabytes = 512 }: ChartThreadsOptions = {}): ChartThreads => {
  const idle: Worker[] = []
  const all = new Set<Worker>()
  const waiting: Waiting[] = []
  let isClosed = false

  const start = (): Worker => {
    // The thread gets no environment: its jobs process untrusted input.
    const worker = new Worker(program, { env: {}, resourceLimits: { maxOldGenerationSizeMb: heapMegabytes } })
    all.add(worker)
    worker.once('exit', () => {
      all.delete(worker)
      const at = idle.indexOf(worker)
      if (at >= 0) idle.splice(at, 1)
      next()
    })
    worker.on('error', () => undefined)
    worker.unref()
    return worker
  }

  const work = (worker: Worker, { job, settle }: Waiting): void => {
    worker.ref()
    const end = (answer: ChartAnswer | ChartWorkStopped, isReusable: boolean): void => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      worker.unref()
      if (isReusable && !isClosed) idle.push(worker)
      else void worker.terminate()
      settle(answer)
      next()
    }
    const onMessage = (answer: ChartAnswer): void => end(answer, true)
    const onError = (): void => end(new ChartWorkStopped('It takes more memory than it may.'), false)
    const onExit = (): void => end(new ChartWorkStopped('The service stops.'), false)
    const timer = setTimeout(() => end(new ChartWorkStopped('It takes too long.'), false), jobMilliseconds)
    worker.once('message', onMessage).once('error', onError).once('exit', onExit)
    worker.postMessage(job, movedBy(job))
  }

  /** Busy threads that are being ended do not count, so a new one may start. */
  const next = (): void => {
    if (waiting.length === 0) return
    const worker = idle.pop() ?? (all.size < threads ? start() : undefined)
    if (worker === undefined) return
    const first = waiting.shift()
    if (first === undefined) idle.push(worker)
    else work(worker, first)
  }

  const ask = (job: ChartJob): Promise<ChartAnswer | ChartWorkStopped> =>
    new Promise((settle) => {
      if (isClosed || waiting.length >= maxWaiting) return settle(new ChartWorkStopped(isClosed ? 'The service stops.' : 'Too many charts are being read; try again later.'))
      waiting.push({ job, settle })
      next()
    })

  return {
    async run(job) {
      const answer = await ask(job)
      if (answer instanceof ChartWorkStopped) throw answer
      if ('refused' in answer) throw new ChartWorkRefused(answer.refused)
      if ('failure' in answer) throw new Error(`a chart thread failed: ${answer.failure}`)
      return answer.result as Extract<ChartResult, { kind: typeof job.kind }>
    },
    async close() {
      isClosed = true
      await Promise.all([...all].map((worker) => worker.terminate()))
    },
  }
}
