import { makeChartTexts } from '../../adapters/charts/chart-texts.ts'
import { makeChartThreads } from '../../adapters/charts/chart-threads.ts'
import { makeTextDiff } from '../../adapters/charts/text-diff.ts'
import { makeTimeSlices } from '../../adapters/helm/time-slices.ts'

// An idle thread keeps no process alive, so nobody has to end them.
const threads = makeChartThreads()
export const slices = makeTimeSlices(4)

/** Texts as the service reads, prints and compares them. */
export const chartTexts = makeChartTexts(threads, slices)
export const textDiff = makeTextDiff(threads, slices)
