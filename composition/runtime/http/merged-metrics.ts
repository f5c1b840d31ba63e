import type { MetricObjectWithValues, MetricValue, PrometheusContentType } from 'prom-client'
import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import type { Metrics, MetricsSnapshot } from './metrics.ts'

/** One set of metrics for the processes of an instance. */
export interface MergedMetrics extends Pick<Metrics, 'expose' | 'snapshot'> {
  /** Notes the values of a process. The latest are shown until `ended`, also while the process does not answer. */
  note(process: number, snapshot: MetricsSnapshot): void
  /** Notes that a process has ended: its counters, histograms and summaries are kept, so that none falls. */
  ended(process: number): void
}

type Metric = MetricObjectWithValues<MetricValue<string>>

const merge = (snapshots: readonly MetricsSnapshot[]): Registry<PrometheusContentType> =>
  AggregatorRegistry.aggregate<PrometheusContentType>([...snapshots])

/** How a gauge is merged, as its help says it. */
const sayings: Readonly<Record<string, string>> = {
  sum: 'Sum of the processes.',
  max: 'The highest of the processes.',
  min: 'The lowest of the processes.',
  average: 'Average of the processes.',
}

const isCount = ({ type }: Metric): boolean => ['counter', 'histogram', 'summary'].includes(String(type))

/** Says how a gauge is merged. prom-client leaves out when a process started; the first one starts the instance. */
const withSaying = (metric: Metric): Metric => {
  const aggregator = metric.aggregator === 'omit' ? 'min' : metric.aggregator
  const saying = isCount(metric) ? undefined : sayings[aggregator]
  return { ...metric, aggregator, help: saying === undefined ? metric.help : `${metric.help} ${saying}` }
}

/**
 * Merges the metrics of several processes: counters, histograms and summaries are added up, and gauges as each declares
 * it (`aggregator`).
 *
 * @param own returns the metrics of this process.
 * @param ask asks the other processes for theirs. Resolves when each has called `note`, or has had the time for it.
 */
export const makeMergedMetrics = (own: Pick<Metrics, 'snapshot'>, ask: () => Promise<void>): MergedMetrics => {
  const latest = new Map<number, MetricsSnapshot>()
  let ended: MetricsSnapshot = []
  let asking: Promise<void> | undefined
  const registry = async () => {
    await (asking ??= ask().finally(() => (asking = undefined)))
    return merge([await own.snapshot(), ...latest.values(), ended].map((snapshot) => snapshot.map(withSaying)))
  }
  return {
    note: (process, snapshot) => void latest.set(process, snapshot),
    ended: (process) => {
      const last = latest.get(process)
      latest.delete(process)
      if (last !== undefined) ended = addCounts(ended, last)
    },
    expose: async () => {
      const merged = await registry()
      return { contentType: merged.contentType, text: await merged.metrics() }
    },
    snapshot: async () => (await registry()).getMetricsAsJSON(),
  }
}

const addCounts = (before: MetricsSnapshot, last: MetricsSnapshot): MetricsSnapshot =>
  merge([before, last.filter(isCount)])
    .getMetricsAsArray()
    .map((metric) => metric as unknown as Metric)

/** What the first process counts. */
interface WorkerCounts {
  serving(): number
  restarts(): number
  dropped(): number
}

/** Returns the metrics of the process that watches over the workers. */
export const makeWorkerMetrics = (counts: WorkerCounts): Pick<Metrics, 'snapshot'> => {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'moorage_workers',
    help: 'Worker processes that serve.',
    aggregator: 'first',
    registers,
    collect() {
      this.set(counts.serving())
    },
  })
  const total = (name: string, help: string, count: () => number): void => {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(count())
      },
    })
  }
  total(
    'moorage_worker_restarts_total',
    'Worker processes that were started in place of one that ended.',
    counts.restarts,
  )
  total(
    'moorage_worker_messages_dropped_total',
    'Messages between workers that were dropped, because one of them read too slowly.',
    counts.dropped,
  )
  return { snapshot: () => registry.getMetricsAsJSON() }
}
