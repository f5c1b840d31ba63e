import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import { getOrMake } from '../../core/kernel/cache.ts'
import type { GaugeValues, Gauges } from './gauges.ts'
import type { RequestObserver } from './request/request-context.ts'

/** Numbers that the frame already holds. Each is read when the metrics are scraped, never per request. */
interface MetricSources {
  /** Connections of the database pool: in use, idle, and callers that wait for one. */
  readonly databasePool?: () => { readonly used: number; readonly free: number; readonly waiting: number }
  /** The clock of this machine minus that of the database. */
  readonly clockSkewSeconds?: () => number
  /** Checks of `/readyz` that degrade the service, by name: 1 while one fails. */
  readonly degraded?: () => Promise<Readonly<Record<string, 0 | 1>>>
  /** When the certificate of the API ends. */
  readonly certificateUntil?: () => Date
  /** Lines of the log that were lost since the start. */
  readonly logLinesLost?: () => number
  /** The number of open streamed proxy exchanges and upgraded connections. */
  readonly openStreams?: () => { readonly exchanges: number; readonly tunnels: number }
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

/** The metrics of a process and their values, as prom-client returns them. */
export type MetricsSnapshot = readonly MetricObjectWithValues<MetricValue<string>>[]

/** The metrics of the frame. */
export const frameMetricNames: readonly string[] = [
  'moorage_build_info',
  'moorage_clock_skew_seconds',
  'moorage_database_connections',
  'moorage_degraded',
  'moorage_http_request_seconds',
  'moorage_http_requests_in_flight',
  'moorage_http_requests_total',
  'moorage_job_last_end_timestamp_seconds',
  'moorage_job_last_run_seconds',
  'moorage_job_running_seconds',
  'moorage_job_runs_total',
  'moorage_log_lines_lost',
  'moorage_proxy_open',
  'moorage_refusals_total',
  'moorage_tls_certificate_expiry_timestamp_seconds',
]

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

const makeRequestMetrics = (registry: Registry): Pick<Metrics, 'started' | 'finished'> => {
  const registers = [registry]
  const total = new Counter({
    name: 'moorage_http_requests_total',
    help: 'Requests by route template.',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const seconds = new Histogram({
    name: 'moorage_http_request_seconds',
    help: 'Time to answer; streams excluded.',
    labelNames: ['method', 'route'],
    buckets: bucketsSeconds,
    registers,
  })
  const inFlight = new Gauge({
    name: 'moorage_http_requests_in_flight',
    help: 'Requests that are not answered yet.',
    registers,
  })
  const refusals = new Counter({
    name: 'moorage_refusals_total',
    help: 'Refusals by code.',
    labelNames: ['code'],
    registers,
  })
  const totals = new Map<string, Increment>()
  const times = new Map<string, Observation>()
  const codes = new Map<string, Increment>()
  return {
    started: () => inFlight.inc(),
    finished: (context, status, took) => {
      inFlight.dec()
      const method = knownMethods.has(context.method) ? context.method : 'other'
      const route = context.routePath === '' ? 'unrouted' : context.routePath
      const key = `${method} ${status} ${route}`
      getOrMake(totals, key, () => total.labels(method, route, String(status))).inc()
      if (!route.endsWith('*') && context.isEndless !== true) {
        getOrMake(times, key, () => seconds.labels(method, route)).observe(took)
      }
      if (context.code === undefined) return
      const code = codes.has(context.code) || codes.size < maxCodes ? context.code : 'other'
      getOrMake(codes, code, () => refusals.labels(code)).inc()
    },
  }
}

/** Adds gauges of a part. They are read once for all of them; if that fails, they keep their values. */
const addGauges = (
  registry: Registry,
  gauges: Gauges['gauges'],
  read: () => GaugeValues | Promise<GaugeValues>,
): void => {
  let reading: Promise<GaugeValues | undefined> | undefined
  const look = (): Promise<GaugeValues | undefined> =>
    (reading ??= Promise.resolve()
      .then(read)
      .catch(() => undefined)
      .finally(() => {
        reading = undefined
      }))
  for (const [name, { help, label, ofProcesses = 'max' }] of Object.entries(gauges)) {
    new Gauge({
      name,
      help,
      aggregator: ofProcesses,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      async collect() {
        const value = (await look())?.[name]
        if (typeof value === 'number') this.set(value)
        else for (const [key, count] of Object.entries(value ?? {})) this.labels(key).set(count)
      },
    })
  }
}

const readGauges = (registry: Registry): Metrics['read'] => {
  let sources: MetricSources = {}
  const registers = [registry]
  new Gauge({
    name: 'moorage_database_connections',
    help: 'Connections of the database pool by state; waiting counts callers.',
    labelNames: ['state'],
    registers,
    collect() {
      const pool = sources.databasePool?.()
      if (pool !== undefined)
        for (const state of ['used', 'free', 'waiting'] as const) this.labels(state).set(pool[state])
    },
  })
  new Gauge({
    name: 'moorage_clock_skew_seconds',
    aggregator: 'max',
    help: "This machine's clock less the database's; beyond 5 either way no jobs run here.",
    registers,
    collect() {
      this.set(sources.clockSkewSeconds?.() ?? 0)
    },
  })
  new Gauge({
    name: 'moorage_proxy_open',
    help: 'Open proxied exchanges and tunnels.',
    labelNames: ['kind'],
    registers,
    collect() {
      const open = sources.openStreams?.()
      this.labels('exchange').set(open?.exchanges ?? 0)
      this.labels('tunnel').set(open?.tunnels ?? 0)
    },
  })
  new Gauge({
    name: 'moorage_degraded',
    aggregator: 'max',
    help: '1 while the check of /readyz fails; the service then answers, without what needs it.',
    labelNames: ['check'],
    registers,
    async collect() {
      for (const [check, value] of Object.entries((await sources.degraded?.()) ?? {})) this.labels(check).set(value)
    },
  })
  new Gauge({
    name: 'moorage_log_lines_lost',
    help: 'Lines of the log that were lost since the start: the reader was too slow, or the disk full.',
    registers,
    collect() {
      this.set(sources.logLinesLost?.() ?? 0)
    },
  })
  return (more) => {
    if (more.certificateUntil !== undefined) addCertificate(registry, more.certificateUntil)
    sources = { ...sources, ...more }
  }
}

/** The metric exists only where the service speaks TLS: 0 would mean 1970. */
const addCertificate = (registry: Registry, until: () => Date): void => {
  new Gauge({
    name: 'moorage_tls_certificate_expiry_timestamp_seconds',
    aggregator: 'min',
    help: 'When the certificate of the API ends, as Unix time.',
    registers: [registry],
    collect() {
      this.set(until().getTime() / 1000)
    },
  })
}

/** Returns metrics with their own registry. Nothing is shared with another instance in the same process. */
export const makeMetrics = (release: string): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  new Gauge({
    name: 'moorage_build_info',
    aggregator: 'max',
    help: 'Always 1; the release is in the label.',
    labelNames: ['version'],
    registers,
  })
    .labels(release)
    .set(1)
  const jobs = new Counter({
    name: 'moorage_job_runs_total',
    help: 'Runs of jobs.',
    labelNames: ['job', 'outcome'],
    registers,
  })
  const jobSeconds = new Gauge({
    name: 'moorage_job_last_run_seconds',
    aggregator: 'max',
    help: 'How long the last run took.',
    labelNames: ['job'],
    registers,
  })
  const jobEnds = new Gauge({
    name: 'moorage_job_last_end_timestamp_seconds',
    aggregator: 'max',
    help: 'When the last run on this instance ended, as Unix time.',
    labelNames: ['job'],
    registers,
  })
  const runs = new Map<string, number>()
  new Gauge({
    name: 'moorage_job_running_seconds',
    aggregator: 'max',
    help: 'How long the run that is in progress on this instance has taken so far; 0 when there is none.',
    labelNames: ['job'],
    registers,
    collect() {
      for (const [job, startedAt] of runs)
        this.labels(job).set(startedAt === 0 ? 0 : (performance.now() - startedAt) / 1000)
    },
  })
  return {
    ...makeRequestMetrics(registry),
    read: readGauges(registry),
    add: (gauges, read) => addGauges(registry, gauges, read),
    jobStarted: (job) => void runs.set(job, performance.now()),
    jobRan: (job, outcome, took) => {
      runs.set(job, 0)
      jobEnds.labels(job).setToCurrentTime()
      jobs.labels(job, outcome).inc()
      jobSeconds.labels(job).set(took)
    },
    expose: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    snapshot: () => registry.getMetricsAsJSON(),
  }
}
