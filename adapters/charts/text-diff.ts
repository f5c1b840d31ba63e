import type { TimeSlices } from '../../core/kernel/clock.ts'
import type { TextDiff } from '../../core/packages/release-task-ports.ts'
import { ChartWorkStopped, type ChartThreads } from './chart-threads.ts'
import { lineDiff, wholeDiff } from './line-diff.ts'

/** Characters of both texts that are compared sooner than a thread is asked. */
const inlineChars = 4 * 1024

/** TextDiff in threads, but for short texts. One that takes too long shows both texts whole. */
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
