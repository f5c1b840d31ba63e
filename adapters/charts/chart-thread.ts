import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { Chart } from '../../core/packages/charts/ports.ts'
import type { ChartAnswer, ChartJob, ChartResult } from './chart-threads.ts'
import { packSchemas } from './values-schema.ts'
import { packChart, readChart } from './chart-archives.ts'
import { ArchiveRefused, sha256Hex } from './archives.ts'
import type { TextJob } from './text-jobs.ts'
import { lineDiff, packValues, doTextJob, TextRefused } from './text-jobs.ts'
import { IndexRefused, packIndex, readIndex } from './repositories/repository-index.ts'

/** Checks the digests of the archive before it opens it. */
const readChecked = async ({ archive, digests, limits }: Extract<ChartJob, { kind: 'read' }>) => {
  const digest = sha256Hex(archive)
  if (digests.some((expected) => expected !== digest))
    throw new ArchiveRefused('The archive is not the one that its repository describes: its digest differs.')
  return { chart: await readChart(archive, limits), digest, size: archive.length }
}

const madeOf = (job: TextJob): readonly Uint8Array[] | string => {
  const made = doTextJob(job)
  return typeof made === 'string' ? made : packValues(made)
}

/** Runs one job. Jobs run one at a time, and their input is untrusted. */
const resultOf = async (job: ChartJob): Promise<ChartResult> => {
  switch (job.kind) {
    case 'read':
      return { kind: 'read', ...(await readChecked(job)) }
    case 'pack':
      return { kind: 'pack', archive: await packChart(job.chart, job.annotations) }
    case 'schemas':
      return { kind: 'schemas', packed: await packSchemas(job.chart, job.values) }
    case 'index':
      return { kind: 'index', parts: packIndex(readIndex(job.bytes)) }
    case 'text':
      return { kind: 'text', made: madeOf(job.job) }
    case 'diff':
      return { kind: 'diff', lines: lineDiff(job.from, job.to) }
  }
}

const answerOf = async (job: ChartJob): Promise<ChartAnswer> => {
  try {
    return { result: await resultOf(job) }
  } catch (error) {
    if (error instanceof ArchiveRefused || error instanceof IndexRefused || error instanceof TextRefused)
      return { refused: error.message }
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}

const buffersOf = (chart: Chart): readonly ArrayBuffer[] => [
  ...[...chart.files.values()].map(({ buffer }) => buffer as ArrayBuffer),
  ...chart.subcharts.flatMap(buffersOf),
]

/**
 * Returns the buffers to transfer to the caller. The files of a subchart are also files of its parent, so each buffer
 * is listed once.
 */
const movedBy = (answer: ChartAnswer): ArrayBuffer[] => {
  if (!('result' in answer)) return []
  const { result } = answer
  if (result.kind === 'text')
    return typeof result.made === 'string' ? [] : result.made.map(({ buffer }) => buffer as ArrayBuffer)
  if (result.kind === 'pack') return [result.archive.buffer as ArrayBuffer]
  if (result.kind === 'schemas') return 'archive' in result.packed ? [result.packed.archive.buffer] : []
  return result.kind === 'read' ? [...new Set(buffersOf(result.chart))] : []
}

/** Does one job of the pool. */
export const answerTo = async (job: ChartJob): Promise<object> => {
  const answer = await answerOf(job)
  return move({ [transferableSymbol]: movedBy(answer), [valueSymbol]: answer })
}
