import { isLeft, left, map, right, type Either } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../core/kernel/failure.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import type { TimeSlices } from '../../core/kernel/clock.ts'
import type { ChartTexts } from '../../core/packages/chart-ports.ts'
import { TextUnreadable } from '../../core/packages/ports.ts'
import { ChartWorkRefused, ChartWorkStopped, type ChartThreads } from './chart-threads.ts'
import { unpackValues } from './packed-values.ts'
import { doTextJob, TextRefused, type TextJob } from './text-job.ts'

// Below these a text is read sooner than a thread is asked.
const inlineBytes = 32 * 1024
const inlineValues = 1000

/** Whether a value has no more than so many values in it; stops counting there. */
const isSmall = (value: Json): boolean => {
  let room = inlineValues
  const count = (each: Json | undefined): boolean => {
    room -= typeof each === 'string' ? 1 + Math.floor(each.length / 64) : 1
    if (room < 0) return false
    return typeof each !== 'object' || each === null || Object.values(each).every(count)
  }
  return count(value)
}

/** ChartTexts in threads, but for short texts, which are read in slices of time. */
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
      // A value that came out of a text always goes into one.
      if (isLeft(printed)) throw new Error(printed.left.message)
      return printed.right
    },
  }
}
