import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import type { TimeSlices } from '../../core/kernel/clock.ts'
import type { AccountKey } from '../../core/kernel/fair-queue.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import type { Chart, ChartTexts, ChartTools } from '../../core/packages/charts/ports.ts'
import { ValuesRefused, valuesRefused } from '../../core/packages/charts/ports.ts'
import { TextUnreadable } from '../../core/packages/ports.ts'
import type { PoolLoad } from '../../core/platform/ports.ts'
import type { TextDiff } from '../../core/packages/releases/ports.ts'
import { makeBoundedThreads, WorkStopped } from '../outbound/bounded-threads.ts'
import type { ArchiveLimits } from './archives.ts'
import type { TextJob } from './text-jobs.ts'
import { doTextJob, lineDiff, TextRefused, unpackValues, wholeDiff } from './text-jobs.ts'
import type { PackedSchemas, SchemaTree } from './values-schema.ts'
import { programUrl } from '../system/processes.ts'

export type ChartJob =
  /**
   * `digests`: lower-case hex of SHA-256; the archive must match all of them. The bytes are transferred to the thread.
   */
  | {
      readonly kind: 'read'
      readonly archive: Uint8Array<ArrayBuffer>
      readonly digests: readonly string[]
      readonly limits: ArchiveLimits
    }
  | {
      readonly kind: 'pack'
      readonly chart: Pick<Chart, 'name' | 'metadata' | 'files'>
      readonly annotations: Readonly<Record<string, string>>
    }
  | { readonly kind: 'schemas'; readonly chart: SchemaTree; readonly values: FreeObject }
  /** The bytes are transferred to the thread. */
  | { readonly kind: 'index'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'text'; readonly job: TextJob }
  | { readonly kind: 'diff'; readonly from: string; readonly to: string }

export type ChartResult =
  | { readonly kind: 'read'; readonly chart: Chart; readonly digest: string; readonly size: number }
  | { readonly kind: 'pack'; readonly archive: Uint8Array }
  | { readonly kind: 'schemas'; readonly packed: PackedSchemas }
  | { readonly kind: 'index'; readonly parts: readonly string[] }
  /** Documents are packed (see `packValues`). */
  | { readonly kind: 'text'; readonly made: readonly Uint8Array[] | string }
  | { readonly kind: 'diff'; readonly lines: string }

export type ChartAnswer = { readonly result: ChartResult } | { readonly refused: string } | { readonly failure: string }

/** The input breaks a rule. The message is for people. */
export class ChartWorkRefused extends Error {}

/**
 * Threads that read untrusted input: archives, indexes, schemas. A job that does not end is ended together with its
 * thread.
 */
export interface ChartThreads {
  /**
   * Throws ChartWorkRefused, WorkStopped, and what the limiter throws.
   * @param signal ends the wait for a thread; by default the one of the surrounding request.
   */
  run<Kind extends ChartJob['kind']>(
    job: Extract<ChartJob, { kind: Kind }>,
    signal?: AbortSignal,
  ): Promise<Extract<ChartResult, { kind: Kind }>>
  load(): PoolLoad
  close(): Promise<void>
}

export interface ChartThreadsOptions {
  readonly threads?: number
  /** The account for which a job runs. Accounts get the threads in turn. */
  readonly account?: () => AccountKey
  /** The signal of the request that surrounds the call. */
  readonly requestSignal?: () => AbortSignal | undefined
  /** Jobs of one account. */
  readonly maxWaiting?: number
  readonly waitMilliseconds?: number
  readonly jobMilliseconds?: number
  readonly heapMegabytes?: number
}

const program = programUrl('./chart-thread', import.meta.url)

/** Returns the buffers to transfer rather than copy: this thread does not read them again. */
const movedBy = (job: ChartJob): ArrayBuffer[] =>
  job.kind === 'read' ? [job.archive.buffer] : job.kind === 'index' ? [job.bytes.buffer] : []

/** Returns the size of what a job reads. Charts and values that are objects count as none. */
const bytesOf = (job: ChartJob): number => {
  switch (job.kind) {
    case 'read':
      return job.archive.byteLength
    case 'index':
      return job.bytes.byteLength
    case 'text':
      return 'bytes' in job.job ? job.job.bytes.byteLength : 0
    case 'diff':
      return 2 * (job.from.length + job.to.length)
    case 'pack':
      return [...job.chart.files.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
    case 'schemas':
      return 0
  }
}

const mebibyte = 1024 * 1024

export const makeChartThreads = (options: ChartThreadsOptions = {}): ChartThreads => {
  const {
    threads = 2,
    account = () => undefined,
    requestSignal = () => undefined,
    maxWaiting = 32,
    waitMilliseconds = 60_000,
    jobMilliseconds = 15_000,
    heapMegabytes = 512,
  } = options
  // One thread is left for others.
  const perAccount = Math.max(1, threads - 1)
  const pool = makeBoundedThreads({
    program,
    pool: 'charts',
    threads,
    perAccount,
    waitingPerAccount: maxWaiting,
    bytesPerAccount: 128 * mebibyte,
    bytesInAll: 384 * mebibyte,
    waitMilliseconds,
    jobMilliseconds,
    heapMegabytes,
  })
  return {
    async run(job, signal = requestSignal()) {
      const asked = { account: account(), signal, moved: movedBy(job), bytes: bytesOf(job) }
      const answer = (await pool.run(asked, job)) as ChartAnswer
      if ('refused' in answer) throw new ChartWorkRefused(answer.refused)
      if ('failure' in answer) throw new Error(`a chart thread failed: ${answer.failure}`)
      return answer.result as Extract<ChartResult, { kind: typeof job.kind }>
    },
    load: () => pool.load(),
    close: () => pool.close(),
  }
}

const schemaFile = 'values.schema.json'

const hasSchema = ({ files, subcharts }: Chart): boolean => files.has(schemaFile) || subcharts.some(hasSchema)

/** Returns the parts of a chart that the thread needs, without the files. */
const treeOf = ({ name, version, metadata, values, files, subcharts }: Chart): SchemaTree => ({
  name,
  version,
  metadata,
  values,
  schema: files.get(schemaFile),
  subcharts: subcharts.map(treeOf),
})

/** ChartTools in separate threads: schemas are part of charts, and charts are untrusted. */
export const makeChartTools = (threads: ChartThreads): ChartTools => ({
  async pack(chart, changes = {}) {
    const { name, metadata, files } = chart
    const { archive } = await threads.run<'pack'>({
      kind: 'pack',
      chart: { name, metadata, files },
      annotations: changes.annotations ?? {},
    })
    return archive
  },
  async packSchemas(chart, values) {
    if (!hasSchema(chart)) return right(undefined)
    try {
      const { packed } = await threads.run<'schemas'>({ kind: 'schemas', chart: treeOf(chart), values })
      return 'archive' in packed ? right(packed) : left(valuesRefused(packed.lines))
    } catch (error) {
      if (error instanceof WorkStopped)
        return left(ValuesRefused(`The values could not be checked against the chart's schema. ${error.message}`))
      throw error
    }
  },
})

// Texts below these sizes are read inline: that takes less time than a call to a thread.
const inlineBytes = 32 * 1024
const inlineValues = 1000

/** Reports whether a value contains at most the allowed number of values. Counting stops at that number. */
const isSmall = (value: Json): boolean => {
  let room = inlineValues
  const count = (each: Json | undefined): boolean => {
    room -= typeof each === 'string' ? 1 + Math.floor(each.length / 64) : 1
    if (room < 0) return false
    return typeof each !== 'object' || each === null || Object.values(each).every(count)
  }
  return count(value)
}

/** ChartTexts in threads. Short texts are read inline, in time slices. */
export const makeChartTexts = (threads: Pick<ChartThreads, 'run'>, slices: TimeSlices): ChartTexts => {
  const runAside = async (job: TextJob): Promise<readonly Json[] | string> => {
    const { made } = await threads.run<'text'>({ kind: 'text', job })
    return typeof made === 'string' ? made : unpackValues(made, slices)
  }
  const run = async <A>(job: TextJob, isInline: boolean): Promise<Either<Failure<'TextUnreadable'>, A>> => {
    try {
      return right((await (isInline ? slices.run(() => doTextJob(job)) : runAside(job))) as A)
    } catch (error) {
      if (error instanceof TextRefused || error instanceof ChartWorkRefused || error instanceof WorkStopped)
        return left(TextUnreadable(error.message))
      throw error
    }
  }
  return {
    parseAll: (bytes) => run({ do: 'parse', bytes }, bytes.length <= inlineBytes),
    convert: (bytes, to) => run({ do: 'convert', bytes, to }, bytes.length <= inlineBytes),
    pick: async (bytes, keys) =>
      map(([members = {}]: readonly FreeObject[]) => members)(
        await run<readonly FreeObject[]>({ do: 'pick', bytes, keys }, bytes.length <= inlineBytes),
      ),
    print: async (value) => {
      const printed = await run<string>({ do: 'print', value }, isSmall(value))
      // A value that was parsed from a text can always be printed as one.
      if (isLeft(printed)) throw new Error(printed.left.message)
      return printed.right
    },
  }
}

/** Up to this many characters in both texts, an inline comparison takes less time than a call to a thread. */
const inlineChars = 4 * 1024

/**
 * TextDiff in threads; short texts are compared inline. A comparison that takes too long returns both texts in full.
 */
export const makeTextDiff = (threads: Pick<ChartThreads, 'run'>, slices: TimeSlices): TextDiff => ({
  async lines(from, to) {
    if (from.length + to.length <= inlineChars) return slices.run(() => lineDiff(from, to))
    try {
      return (await threads.run<'diff'>({ kind: 'diff', from, to })).lines
    } catch (error) {
      if (error instanceof WorkStopped) return wholeDiff(from, to)
      throw error
    }
  },
})
