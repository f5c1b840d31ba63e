import { isLeft, map, right } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { MemberCluster, MemberClusters } from '../../clusters/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Cache, Caches } from '../../kernel/cache.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Chart, ChartFailure, ChartSource, FetchedChart } from './ports.ts'
import { makeSharedWork } from '../../kernel/concurrency.ts'
import type { ChartRef } from '../types.ts'
import { toWireJson } from '../../kernel/json.ts'

/** The caller on whose behalf a chart is opened. */
export interface ChartReader {
  readonly cluster: MemberCluster
  readonly userId: UserId
}

/** Returns a chart for display. The pages of one form do not fetch the same chart again. */
export type OpenChart = (ref: ChartRef, reader: ChartReader, signal: AbortSignal) => Outcome<ChartFailure, FetchedChart>

export interface ChartCacheLimits {
  /** Total size in bytes of the cached charts, unpacked. */
  readonly maxBytes: number
  /** Charts larger than this are not cached. */
  readonly maxChartBytes: number
  /**
   * Maximum age of an entry. Until then a chart stays visible after it was replaced in its repository or the caller
   * lost the right to fetch it.
   */
  readonly keepMs: number
}
export const chartCacheLimits: ChartCacheLimits = {
  maxBytes: 64 * 1024 * 1024,
  maxChartBytes: 16 * 1024 * 1024,
  keepMs: 60_000,
}

interface Kept {
  readonly fetched: FetchedChart
  readonly bytes: number
  readonly keptAt: number
}

/**
 * Entries are not shared between callers with different rights: a source in a cluster is read with the rights of one
 * cluster user, a named repository with the credentials of one account.
 */
const keyOf = ({ name, version, source }: ChartRef, { cluster, userId }: ChartReader): string =>
  toWireJson([
    cluster.ownerId,
    cluster.id,
    userId,
    source.apiGroup,
    source.kind,
    source.namespace,
    source.name,
    name,
    version,
  ])

/** Returns the memory that a chart uses. Its parsed forms count as a second copy. */
const sizeOf = ({ files, subcharts }: Chart): number => {
  let bytes = 1024
  for (const [path, content] of files) bytes += path.length * 2 + content.length * 2
  return subcharts.reduce((sum, chart) => sum + sizeOf(chart), bytes)
}

export interface OpenChartDeps {
  readonly source: ChartSource
  readonly clock: Clock
  readonly caches: Caches
}

/** Returns an OpenChart with an in-memory cache. The least recently used charts are evicted first. */
export const makeOpenChart = (deps: OpenChartDeps, limits = chartCacheLimits): OpenChart => {
  const kept: Cache<string, Kept> = deps.caches.make({ maxSize: limits.maxBytes, sizeOf: ({ bytes }) => bytes })
  // One chart page requests several views of the same chart at once.
  const shared = makeSharedWork<Awaited<ReturnType<OpenChart>>>()

  const recall = (key: string): FetchedChart | undefined => {
    const found = kept.get(key)
    if (found === undefined) return undefined
    // The entry also expires when the clock moves backwards.
    if (Math.abs(deps.clock.now().getTime() - found.keptAt) >= limits.keepMs) return void kept.delete(key)
    return found.fetched
  }

  const keep = (key: string, fetched: FetchedChart, bytes: number): void =>
    kept.set(key, { fetched, bytes, keptAt: deps.clock.now().getTime() })

  const fetch = async (key: string, ref: ChartRef, reader: ChartReader, signal: AbortSignal): ReturnType<OpenChart> => {
    const fetched = await deps.source.fetch(ref, { cluster: reader.cluster, tenantId: reader.cluster.ownerId }, signal)
    if (isLeft(fetched)) return fetched
    const bytes = sizeOf(fetched.right.chart)
    if (bytes > limits.maxChartBytes) return fetched
    keep(key, fetched.right, bytes)
    // Clients request the resolved version next, so it is cached under its own key as well.
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

export interface ReadChartDeps {
  readonly memberClusters: MemberClusters
  readonly open: OpenChart
}
export type OpenReaderFailure = Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>

/** Opens the cluster of a grant, for charts that are fetched as the caller. */
export const openReader = async (
  { memberClusters }: Pick<ReadChartDeps, 'memberClusters'>,
  call: SignedInCall<never>,
  grant: AccessGrant,
): Outcome<OpenReaderFailure, ChartReader> => {
  const { userId } = call.principal
  return pipe(
    await memberClusters.open(call, grant),
    map((cluster) => ({ cluster, userId })),
  )
}

export interface ReadChartInput {
  /** On the cluster whose sources the reference may name. */
  readonly grant: AccessGrant
  readonly ref: ChartRef
}
export type ReadChartFailure = OpenReaderFailure | ChartFailure

/** Opens a chart as the caller. */
export const readChart = async (
  deps: ReadChartDeps,
  call: SignedInCall<never>,
  { grant, ref }: ReadChartInput,
): Outcome<ReadChartFailure, FetchedChart> => {
  const reader = await openReader(deps, call, grant)
  return isLeft(reader) ? reader : deps.open(ref, reader.right, call.signal)
}

/** Returns a source that opens charts for one reader. */
export const sourceFor = (open: OpenChart, reader: ChartReader): ChartSource => ({
  fetch: (ref, _from, signal) => open(ref, reader, signal),
})
