import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../clusters/ports.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Outcome } from '../../kernel/failure.ts'
import type { Chart, ChartFailure, ChartSource, FetchedChart } from './ports.ts'
import { makeSharedWork } from './concurrency.ts'
import type { ChartRef } from '../types.ts'

/** On whose behalf a chart is opened. */
export interface ChartReader {
  readonly cluster: MemberCluster
  readonly userId: UserId
}

/** A chart for looking at: the same one is not fetched again for each page of its form. */
export type OpenChart = (ref: ChartRef, reader: ChartReader, signal: AbortSignal) => Outcome<ChartFailure, FetchedChart>

export interface ChartCacheLimits {
  /** Unpacked bytes of all kept charts. */
  readonly maxBytes: number
  /** Larger charts are not kept. */
  readonly maxChartBytes: number
  /** A chart that was replaced in its repository, or that the caller may no longer fetch, is seen for so long. */
  readonly keepMs: number
}
export const chartCacheLimits: ChartCacheLimits = { maxBytes: 64 * 1024 * 1024, maxChartBytes: 16 * 1024 * 1024, keepMs: 60_000 }

interface Kept {
  readonly fetched: FetchedChart
  readonly bytes: number
  readonly keptAt: number
}

/**
 * Nobody is given what somebody else's rights fetched: a source in a cluster is read with the rights of one user there, a
 * named repository with credentials of one account.
 */
const keyOf = ({ name, version, source }: ChartRef, { cluster, userId }: ChartReader): string =>
  JSON.stringify([cluster.ownerId, cluster.id, userId, source.apiGroup, source.kind, source.namespace, source.name, name, version])

/** What a chart holds on to, its parsed forms counted as another copy. */
const sizeOf = ({ files, subcharts }: Chart): number => {
  let bytes = 1024
  for (const [path, content] of files) bytes += path.length * 2 + content.length * 2
  return subcharts.reduce((sum, chart) => sum + sizeOf(chart), bytes)
}

/** Opens charts over a cache in memory, the least recently used leaving first. */
export const makeOpenChart = (deps: { readonly source: ChartSource; readonly clock: Clock }, limits = chartCacheLimits): OpenChart => {
  // In the order of use: the first one was not asked for the longest.
  const kept = new Map<string, Kept>()
  let total = 0
  // The page of a chart asks for several views of it at once.
  const shared = makeSharedWork<Awaited<ReturnType<OpenChart>>>()

  const drop = (key: string): void => {
    total -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }

  const recall = (key: string): FetchedChart | undefined => {
    const found = kept.get(key)
    if (found === undefined) return undefined
    // Also over when the clock went back.
    if (Math.abs(deps.clock.now().getTime() - found.keptAt) >= limits.keepMs) return void drop(key)
    kept.delete(key)
    kept.set(key, found)
    return found.fetched
  }

  const keep = (key: string, fetched: FetchedChart, bytes: number): void => {
    drop(key)
    kept.set(key, { fetched, bytes, keptAt: deps.clock.now().getTime() })
    total += bytes
    for (const oldest of kept.keys()) {
      if (total <= limits.maxBytes) return
      drop(oldest)
    }
  }

  const fetch = async (key: string, ref: ChartRef, reader: ChartReader, signal: AbortSignal): ReturnType<OpenChart> => {
    const fetched = await deps.source.fetch(ref, { cluster: reader.cluster, tenantId: reader.cluster.ownerId }, signal)
    if (isLeft(fetched)) return fetched
    const bytes = sizeOf(fetched.right.chart)
    if (bytes > limits.maxChartBytes) return fetched
    keep(key, fetched.right, bytes)
    // The version that it resolved to is asked for next, by whoever was shown it.
    const resolved = keyOf(fetched.right.ref, reader)
    if (resolved !== key) keep(resolved, fetched.right, bytes)
    return fetched
  }

  return async (ref, reader, signal) => {
    const key = keyOf(ref, reader)
    const found = recall(key)
    return found === undefined ? shared(key, signal, (stopped) => fetch(key, ref, reader, stopped)) : right(found)
  }
}
