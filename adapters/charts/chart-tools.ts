import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import type { TimeSlices } from '../../core/kernel/clock.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import type { Chart, ChartTexts, ChartTools } from '../../core/packages/charts/ports.ts'
import { ValuesRefused } from '../../core/packages/charts/ports.ts'
import { TextUnreadable } from '../../core/packages/ports.ts'
import type { TextDiff } from '../../core/packages/releases/ports.ts'
import type { ChartThreads } from './chart-threads.ts'
import { ChartWorkRefused, ChartWorkStopped } from './chart-threads.ts'
import type { TextJob } from './text-jobs.ts'
import { doTextJob, lineDiff, TextRefused, unpackValues, wholeDiff } from './text-jobs.ts'
import type { SchemaTree } from './values-schema.ts'

const schemaFile = 'values.schema.json'

const hasSchema = ({ files, subcharts }: Chart): boolean => files.has(schemaFile) || subcharts.some(hasSchema)

/** Returns the parts of a chart that the thread needs, without the files. */
const treeOf = ({ name, version, metadata, values, files, subcharts }: Chart): SchemaTree => ({
  name, version, metadata, values, schema: files.get(schemaFile), subcharts: subcharts.map(treeOf),
})

/** ChartTools in separate threads: schemas are part of charts, and charts are untrusted. */
export const makeChartTools = (threads: ChartThreads): ChartTools => ({
  async pack(chart, changes = {}) {
    const { name, metadata, files } = chart
    const { archive } = await threads.run<'pack'>({ kind: 'pack', chart: { name, metadata, files }, annotations: changes.annotations ?? {} })
    return archive
  },
  async checkValues(chart, values) {
    if (!hasSchema(chart)) return right(undefined)
    try {
      const { lines } = await threads.run<'check'>({ kind: 'check', chart: treeOf(chart), values })
      return lines.length === 0 ? right(undefined) : left(ValuesRefused(`The values do not fit the chart: ${lines.slice(0, 3).join('; ')}.`, { errors: lines }))
    } catch (error) {
      if (error instanceof ChartWorkStopped) return left(ValuesRefused(`The values could not be checked against the chart's schema. ${error.message}`))
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
      if (error instanceof TextRefused || error instanceof ChartWorkRefused || error instanceof ChartWorkStopped) return left(TextUnreadable(error.message))
      throw error
    }
  }
  return {
    parseAll: (bytes) => run({ do: 'parse', bytes }, bytes.length <= inlineBytes),
    convert: (bytes, to) => run({ do: 'convert', bytes, to }, bytes.length <= inlineBytes),
    pick: async (bytes, keys) => map(([members = {}]: readonly FreeObject[]) => members)(await run<readonly FreeObject[]>({ do: 'pick', bytes, keys }, bytes.length <= inlineBytes)),
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

/** TextDiff in threads; short texts are compared inline. A comparison that takes too long returns both texts in full. */
export const makeTextDiff = (threads: Pick<ChartThreads, 'run'>, slices: TimeSlices): TextDiff => ({
  async lines(from, to) {
    if (from.length + to.length <= inlineChars) return slices.run(() => lineDiff(from, to))
    try {
      return (await threads.run<'diff'>({ kind: 'diff', from, to })).lines
    } catch (error) {
      if (error instanceof ChartWorkStopped) return wholeDiff(from, to)
      throw error
    }
  },
})
