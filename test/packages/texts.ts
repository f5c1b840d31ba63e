import type { ManifestObject } from '../../core/formats/kubernetes/objects.ts'
import { objectsOf } from '../../core/packages/releases/kubernetes-objects.ts'
import { unwrap } from '../support/outcome.ts'
import { makeChartTexts, makeChartThreads, makeTextDiff } from '../../adapters/charts/chart-threads.ts'
import { makeTimeSlices } from '../../adapters/outbound/time-slices.ts'

// An idle thread keeps no process alive, so nobody has to end them.
const threads = makeChartThreads({ jobMilliseconds: 120_000 })
export const slices = makeTimeSlices(4)

/** Texts as the service reads, prints and compares them. */
export const chartTexts = makeChartTexts(threads, slices)
export const textDiff = makeTextDiff(threads, slices)

/** The objects of a manifest. */
export const objectsIn = async (text: string): Promise<readonly ManifestObject[]> =>
  unwrap(await objectsOf(chartTexts, text))
