import type { Metric as PromMetric, MetricObjectWithValues, MetricValue } from 'prom-client'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { LogState } from '../../../adapters/logging/log-lines.ts'
import type { PoolLoad } from '../../../core/platform/ports.ts'
import type { HelperProcesses, HelperUse } from '../../../adapters/system/helper-processes.ts'
import type { Gauge as Declared, Gauges, GaugeValues, Sample } from '../../part/gauges.ts'
import { otherLabel } from '../../part/gauges.ts'
import type { RequestObserver } from './request/request-context.ts'

/** Numbers that the runtime already holds. Each is read when the metrics are scraped, never per request. */
interface MetricSources {
  /** Connections of the database pool: in use, idle, and callers that wait for one; and how long callers waited. */
  readonly databasePool?: () => {
    readonly used: number
    readonly free: number
    readonly waiting: number
    readonly waits: number
    readonly waitSeconds: number
  }
  /** Whether the database took the last changes. */
  readonly takesChanges?: () => boolean
  /** Bytes of the database by part, such as its write-ahead log. */
  readonly databaseBytes?: () => Promise<Readonly<Record<string, number>>>
  /** Free and total bytes of the file systems of folders, by their setting. */
  readonly disks?: () => Promise<Readonly<Record<string, { readonly free: number; readonly size: number }>>>
  /** The clock of this machine minus that of the database. */
  readonly clockSkewSeconds?: () => number
  /** Checks of `/readyz` that degrade the service, and those that make it not ready, by name: 1 while one fails. */
  readonly failingChecks?: () => Promise<{
    readonly degraded: Readonly<Record<string, 0 | 1>>
    readonly notReady: Readonly<Record<string, 0 | 1>>
  }>
  /** When the certificate of the API ends; undefined without TLS. */
  readonly certificateUntil?: () => Date
  readonly log?: () => Omit<LogState, 'trouble'>
  /** The number of open streamed proxy exchanges and upgraded connections, by cluster. */
  readonly openStreams?: () => OpenStreams
  /** Queues with a bounded number of places, such as threads. */
  readonly pools?: () => Readonly<Record<string, PoolLoad>>
  /** Spans that were not exported, because the receiver was away or too slow. */
  readonly spansLost?: () => number
  /** Processes that this one starts, by program. */
  readonly helpers?: HelperProcesses['uses']
}

/** The numbers of open connections by the cluster that the path names. */
export interface OpenStreams {
  readonly exchanges: ReadonlyMap<string, number>
  readonly tunnels: ReadonlyMap<string, number>
}

/** The metrics of the process. The binder reports requests; everything else is read from its source. */
export interface Metrics extends RequestObserver {
  started(): void
  /** Records the start of a run, which `jobRan` ends. */
  jobStarted(job: string): void
  /** Records one run of a job. */
  jobRan(job: string, outcome: 'done' | 'failed', seconds: number): void
  /** Adds sources that exist only after the metrics do. */
  read(sources: MetricSources): void
  /** Adds gauges of a part. */
  add(gauges: Gauges['gauges'], read: () => GaugeValues | Promise<GaugeValues>): void
  /** Returns the text exposition and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>
  /** Returns the values as plain JSON, for `makeMergedMetrics`. */
  snapshot(): Promise<MetricsSnapshot>
}

/** Metrics that count while requests and jobs run. */
const counted = {
  moorage_http_requests_total: {
    type: 'counter',
    help: 'Requests by route template and status; origin says who decided it: service, or upstream, such as a cluster.',
    label: ['method', 'route', 'status', 'origin'],
  },
  moorage_http_request_seconds: {
    type: 'histogram',
    help: 'Time to answer; streams excluded.',
    label: ['method', 'route'],
  },
  moorage_http_requests_in_flight: { help: 'Requests that are not answered yet.', ofProcesses: 'sum' },
  moorage_refusals_total: { type: 'counter', help: 'Refusals by code.', label: 'code' },
  moorage_build_info: { help: 'Always 1; the release is in the label.', label: 'version' },
  moorage_job_runs_total: { type: 'counter', help: 'Runs of jobs on this instance.', label: ['job_id', 'outcome'] },
  moorage_job_last_run_seconds: { help: 'How long the last run took.', label: 'job_id' },
  moorage_job_last_end_timestamp_seconds: {
    help: 'When the last run on this instance ended, as Unix time.',
    label: 'job_id',
  },
  moorage_job_last_success_timestamp_seconds: {
    help: 'When the last run on this instance that did not fail ended, as Unix time.',
    label: 'job_id',
  },
} as const satisfies Record<string, Declared>

/** Metrics that are read when they are scraped. */
const scraped = {
  moorage_job_running_seconds: {
    help: 'How long the run that is in progress on this instance has taken so far; 0 when there is none.',
    label: 'job_id',
  },
  moorage_database_connections: {
    help: 'Connections of the database pool by state; waiting counts callers.',
    label: 'state',
    ofProcesses: 'sum',
  },
  moorage_database_wait_seconds: {
    type: 'summary',
    help: 'How long callers waited for a connection of the database, or for their turn to change it.',
  },
  moorage_database_takes_changes: {
    help: '1 while the database takes changes; 0 for 30 s after it refused one: it is read-only, or full.',
    ofProcesses: 'min',
  },
  moorage_database_size_bytes: {
    help: 'Bytes of the database by part: data, and wal for the write-ahead log of SQLite.',
    label: 'part',
  },
  moorage_disk_free_bytes: { help: 'Free bytes of the file system of a folder of the service.', label: 'folder' },
  moorage_disk_size_bytes: { help: 'Bytes of the file system of a folder of the service.', label: 'folder' },
  moorage_clock_skew_seconds: {
    help: "This machine's clock less the database's; beyond 5 either way no jobs run here.",
  },
  moorage_proxy_open: {
    help: 'Open proxied exchanges and tunnels by cluster: of the 50 with the most, and other.',
    label: ['kind', 'cluster'],
    ofProcesses: 'sum',
  },
  moorage_pool_running: {
    help: 'Work that has a place in a bounded pool, such as a thread.',
    label: 'pool',
    ofProcesses: 'sum',
  },
  moorage_pool_waiting: { help: 'Work that waits for a place in a bounded pool.', label: 'pool', ofProcesses: 'sum' },
  moorage_pool_wait_seconds: {
    type: 'summary',
    help: 'How long work waited for its place in a bounded pool.',
    label: 'pool',
  },
  moorage_pool_refusals_total: {
    type: 'counter',
    help: 'Work that found no place in a bounded pool: too much of its account waited, or it waited too long.',
    label: 'pool',
  },
  moorage_helper_processes: {
    help: 'Processes that run beside the service: closing closes months and writes reports.',
    label: 'program',
    ofProcesses: 'sum',
  },
  moorage_helper_ends_total: {
    type: 'counter',
    help: 'Ends of helper processes: done with the code 0, failed with another one, killed by a signal.',
    label: ['program', 'end'],
  },
  moorage_helper_lifetime_seconds: {
    type: 'summary',
    help: 'How long helper processes lived that have ended.',
    label: 'program',
  },
  moorage_helper_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time of helper processes, user and system, of those that run and that have ended.',
    label: 'program',
  },
  moorage_helper_peak_memory_bytes: {
    help: 'The most memory that a helper process had since the start of the service.',
    label: 'program',
  },
  moorage_helper_statement_seconds: {
    type: 'summary',
    help: 'Statements of helper processes on the database, and how long they took.',
    label: 'program',
  },
  moorage_not_ready: {
    help: '1 while the check of /readyz fails; the instance then answers 503 there, and takes no requests of proxies.',
    label: 'check',
  },
  moorage_degraded: {
    help: '1 while the check of /readyz fails; the service then answers, without what needs it.',
    label: 'check',
  },
  moorage_log_lines_lost_total: {
    type: 'counter',
    help: 'Lines of the log that were lost since the start: the reader was too slow, or the disk full.',
  },
  moorage_log_backlog_bytes: {
    help: 'Characters of log lines that wait for a disk with room, or for a slow reader.',
    ofProcesses: 'sum',
  },
  moorage_log_backlog_seconds: {
    help: 'The age of the oldest log line that is not written yet; 0 when there is none.',
    ofProcesses: 'max',
  },
  moorage_trace_spans_lost_total: {
    type: 'counter',
    help: 'Spans of traces that were not exported: the receiver was away or too slow.',
  },
  moorage_tls_certificate_expiry_timestamp_seconds: {
    help: 'When the certificate of the API ends, as Unix time.',
    ofProcesses: 'min',
  },
} as const satisfies Record<string, Declared>

/** The metrics of the runtime, as they are declared. @internal */
export const runtimeMetrics: Gauges['gauges'] = { ...counted, ...scraped }

/** The names of the metrics of the runtime. */
export const runtimeMetricNames: readonly string[] = Object.keys(runtimeMetrics)

/** Metrics of Node.js that the library names like counters, although they are none. The others say more. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** The number of clusters that a metric tells apart; the rest is `other`. */
const clustersShown = 50

/** The metrics of a process and their values, as prom-client returns them. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[]

/** The metrics of the process that watches over workers. */
export const workerMetricNames: readonly string[] = [
  'moorage_worker_messages_dropped_total',
  'moorage_worker_restarts_total',
  'moorage_workers',
]

const bucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const knownMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** Failure tags are a closed list. The bound only guards against a plugin that generates tags. */
const maxCodes = 300

interface Increment {
  inc(): void
}
interface Observation {
  observe(seconds: number): void
}

const labelsOf = ({ label = [] }: Declared): string[] => (typeof label === 'string' ? [label] : [...label])

/** How the values of several processes become one. */
const aggregatorOf = ({ type = 'gauge', ofProcesses }: Declared): 'sum' | 'max' | 'min' =>
  ofProcesses ?? (type === 'gauge' ? 'max' : 'sum')

/** Returns what the library needs to know of a metric. */
const declared = (registry: Registry, name: keyof typeof counted) => {
  const metric: Declared = counted[name]
  return {
    name,
    help: metric.help,
    labelNames: labelsOf(metric),
    registers: [registry],
    aggregator: aggregatorOf(metric),
  }
}

const makeRequestMetrics = (registry: Registry): Pick<Metrics, 'started' | 'finished'> => {
  const total = new Counter(declared(registry, 'moorage_http_requests_total'))
  const seconds = new Histogram({
    ...declared(registry, 'moorage_http_request_seconds'),
    buckets: bucketsSeconds,
  })
  const inFlight = new Gauge(declared(registry, 'moorage_http_requests_in_flight'))
  const refusals = new Counter(declared(registry, 'moorage_refusals_total'))
  const totals = new Map<string, Increment>()
  const times = new Map<string, Observation>()
  const codes = new Map<string, Increment>()
  return {
    started: () => inFlight.inc(),
    finished: (context, status, took) => {
      inFlight.dec()
      const method = knownMethods.has(context.method) ? context.method : 'other'
      const route = context.routePath === '' ? 'unrouted' : context.routePath
      const origin = context.isUpstream === true ? 'upstream' : 'service'
      const key = `${method} ${status} ${origin} ${route}`
      getOrMake(totals, key, () => total.labels(method, route, String(status), origin)).inc()
      if (!route.endsWith('*') && context.isEndless !== true) {
        getOrMake(times, key, () => seconds.labels(method, route)).observe(took)
      }
      if (context.code === undefined) return
      const code = codes.has(context.code) || codes.size < maxCodes ? context.code : otherLabel
      getOrMake(codes, code, () => refusals.labels(code)).inc()
    },
  }
}

interface Exposed {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

/** Returns the lines of a value as Prometheus names them. */
const linesOf = (name: string, { labels, value }: Sample): readonly Exposed[] => {
  if (typeof value === 'number') return [{ labels, value }]
  const buckets = 'upTo' in value ? [...value.upTo, ['+Inf', value.count] as const] : []
  return [
    ...buckets.map(([le, count]) => ({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: count })),
    { metricName: `${name}_sum`, labels, value: value.seconds },
    { metricName: `${name}_count`, labels, value: value.count },
  ]
}

const isTotal = (value: object): boolean => 'seconds' in value && typeof value.seconds === 'number'

/** Returns the values of a metric in one form. */
const samplesOf = (metric: Declared, values: GaugeValues[string]): readonly Sample[] => {
  if (values === undefined) return []
  if (Array.isArray(values)) return values as readonly Sample[]
  if (typeof values === 'number' || isTotal(values)) return [{ labels: {}, value: values as Sample['value'] }]
  const [label = 'name'] = labelsOf(metric)
  return Object.entries(values as Readonly<Record<string, Sample['value']>>).map(([key, value]) => ({
    labels: { [label]: key },
    value,
  }))
}

/**
 * Adds metrics that are read when they are scraped: once for all of them. If that fails, they keep their values. The
 * library's own classes keep every label value that they have seen; these show what was read.
 */
const addScraped = (
  registry: Registry,
  gauges: Gauges['gauges'],
  read: () => GaugeValues | Promise<GaugeValues>,
): void => {
  let reading: Promise<void> | undefined
  let last: GaugeValues = {}
  const look = (): Promise<void> =>
    (reading ??= Promise.resolve()
      .then(read)
      .then(
        (values) => void (last = values),
        () => undefined,
      )
      .finally(() => {
        reading = undefined
      }))
  for (const [name, metric] of Object.entries(gauges)) {
    const get = async () => {
      await look()
      const values = samplesOf(metric, last[name]).flatMap((sample) => linesOf(name, sample))
      return { name, help: metric.help, type: metric.type ?? 'gauge', values, aggregator: aggregatorOf(metric) }
    }
    registry.registerMetric({ name, get } as unknown as PromMetric)
  }
}

/** Returns the counts of the clusters with the most, and the sum of the others. */
const boundedCounts = (kind: string, counts: ReadonlyMap<string, number>): readonly Sample[] => {
  const sorted = [...counts].sort(([, a], [, b]) => b - a)
  const rest = sorted.slice(clustersShown).reduce((sum, [, count]) => sum + count, 0)
  return [
    ...sorted.slice(0, clustersShown),
    ...(rest > 0 || sorted.length === 0 ? [[otherLabel, rest] as const] : []),
  ].map(([cluster, value]) => ({ labels: { kind, cluster }, value }))
}

const byPool = <A>(pools: Readonly<Record<string, PoolLoad>>, of: (load: PoolLoad) => A): Record<string, A> =>
  Object.fromEntries(Object.entries(pools).map(([pool, load]) => [pool, of(load)]))

const helperValues = (uses: ReturnType<HelperProcesses['uses']>) => {
  const of = <A>(read: (use: HelperUse) => A): Readonly<Record<string, A>> =>
    Object.fromEntries([...uses].map(([program, use]) => [program, read(use)]))
  return {
    moorage_helper_processes: of(({ running }) => running),
    moorage_helper_ends_total: [...uses].flatMap(([program, { ends }]) =>
      Object.entries(ends).map(([end, value]) => ({ labels: { program, end }, value })),
    ),
    moorage_helper_lifetime_seconds: of(({ lives }) => lives),
    moorage_helper_cpu_seconds_total: of(({ cpuSeconds }) => cpuSeconds),
    moorage_helper_peak_memory_bytes: of(({ peakBytes }) => peakBytes),
    moorage_helper_statement_seconds: of(({ counts }) => counts.statements),
  }
}

const orElse = <A>(value: Promise<A> | undefined, fallback: A): Promise<A> =>
  (value ?? Promise.resolve(fallback)).catch(() => fallback)

const readSources = async (sources: MetricSources): Promise<GaugeValues<keyof typeof scraped>> => {
  const [failing, bytes, disks] = await Promise.all([
    orElse(sources.failingChecks?.(), { degraded: {}, notReady: {} }),
    orElse(sources.databaseBytes?.(), {}),
    orElse(sources.disks?.(), {}),
  ])
  const load = sources.databasePool?.()
  const open = sources.openStreams?.()
  const pools = sources.pools?.() ?? {}
  const until = sources.certificateUntil?.()
  const helpers = sources.helpers?.()
  const log = sources.log?.()
  return {
    ...(helpers && helperValues(helpers)),
    ...(load === undefined
      ? {}
      : {
          moorage_database_connections: { used: load.used, free: load.free, waiting: load.waiting },
          moorage_database_wait_seconds: { count: load.waits, seconds: load.waitSeconds },
        }),
    moorage_database_takes_changes: sources.takesChanges?.() === false ? 0 : 1,
    moorage_database_size_bytes: bytes,
    moorage_disk_free_bytes: Object.fromEntries(Object.entries(disks).map(([folder, { free }]) => [folder, free])),
    moorage_disk_size_bytes: Object.fromEntries(Object.entries(disks).map(([folder, { size }]) => [folder, size])),
    moorage_clock_skew_seconds: sources.clockSkewSeconds?.() ?? 0,
    moorage_proxy_open: [
      ...boundedCounts('exchange', open?.exchanges ?? new Map()),
      ...boundedCounts('tunnel', open?.tunnels ?? new Map()),
    ],
    moorage_pool_running: byPool(pools, ({ running }) => running),
    moorage_pool_waiting: byPool(pools, ({ waiting }) => waiting),
    moorage_pool_wait_seconds: byPool(pools, ({ waits, waitSeconds }) => ({ count: waits, seconds: waitSeconds })),
    moorage_pool_refusals_total: byPool(pools, ({ refusals }) => refusals),
    moorage_not_ready: failing.notReady,
    moorage_degraded: failing.degraded,
    moorage_log_lines_lost_total: log?.lost ?? 0,
    moorage_log_backlog_bytes: log?.backlogLength ?? 0,
    moorage_log_backlog_seconds: (log?.backlogAgeMs ?? 0) / 1000,
    moorage_trace_spans_lost_total: sources.spansLost?.() ?? 0,
    // Without TLS there is none: 0 would mean 1970.
    ...(until && { moorage_tls_certificate_expiry_timestamp_seconds: until.getTime() / 1000 }),
  }
}

const makeJobMetrics = (registry: Registry) => {
  const total = new Counter(declared(registry, 'moorage_job_runs_total'))
  const lastSeconds = new Gauge(declared(registry, 'moorage_job_last_run_seconds'))
  const ends = new Gauge(declared(registry, 'moorage_job_last_end_timestamp_seconds'))
  const successes = new Gauge(declared(registry, 'moorage_job_last_success_timestamp_seconds'))
  const runs = new Map<string, number>()
  return {
    running: (): Readonly<Record<string, number>> =>
      Object.fromEntries(
        [...runs].map(([job, startedAt]) => [job, startedAt === 0 ? 0 : (performance.now() - startedAt) / 1000]),
      ),
    jobStarted: (job: string) => void runs.set(job, performance.now()),
    jobRan: (job: string, outcome: 'done' | 'failed', took: number) => {
      runs.set(job, 0)
      ends.labels(job).setToCurrentTime()
      if (outcome === 'done') successes.labels(job).setToCurrentTime()
      total.labels(job, outcome).inc()
      lastSeconds.labels(job).set(took)
    },
  }
}

/** Returns metrics with their own registry. Nothing is shared with another instance in the same process. */
export const makeMetrics = (release: string): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  new Gauge(declared(registry, 'moorage_build_info')).labels(release).set(1)
  const requests = makeRequestMetrics(registry)
  const { running, ...jobs } = makeJobMetrics(registry)
  let sources: MetricSources = {}
  addScraped(registry, scraped, async () => ({
    ...(await readSources(sources)),
    moorage_job_running_seconds: running(),
  }))
  return {
    ...requests,
    ...jobs,
    read: (more) => {
      sources = { ...sources, ...more }
    },
    add: (gauges, read) => addScraped(registry, gauges, read),
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    snapshot: () => registry.getMetricsAsJSON(),
  }
}
