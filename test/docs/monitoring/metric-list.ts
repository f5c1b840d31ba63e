import { runtimeMetrics } from '../../../composition/runtime/http/metrics.ts'
import type { Gauge } from '../../../composition/part/gauges.ts'
import { loadParts } from '../../../composition/parts.ts'

/** A metric as a part, or the frame, declares it. */
export interface DeclaredMetric extends Gauge {
  readonly name: string
  readonly part: string
}

/** Metrics that the library and Prometheus add, which the dashboard and the alerts use. */
const standard: readonly DeclaredMetric[] = [
  { name: 'up', part: 'Prometheus', help: '1 while Prometheus reaches the instance.' },
  { name: 'nodejs_eventloop_lag_p99_seconds', part: 'Node.js', help: 'Delay of the event loop.' },
  {
    name: 'nodejs_gc_duration_seconds',
    part: 'Node.js',
    type: 'histogram',
    help: 'Garbage collection.',
    label: 'kind',
  },
  { name: 'process_resident_memory_bytes', part: 'Node.js', help: 'Memory of the process.' },
  { name: 'process_cpu_seconds_total', part: 'Node.js', type: 'counter', help: 'CPU time of the process.' },
  { name: 'process_start_time_seconds', part: 'Node.js', help: 'When the process started, as Unix time.' },
  {
    name: 'moorage_worker_restarts_total',
    part: 'workers',
    type: 'counter',
    help: 'Workers that were started in place of one that ended.',
  },
  { name: 'process_open_fds', part: 'Node.js', help: 'Open file descriptors.' },
  { name: 'process_max_fds', part: 'Node.js', help: 'Most open file descriptors.' },
]

/** Every metric of the service with its type, help and labels. */
export const declaredMetrics = async (): Promise<readonly DeclaredMetric[]> => [
  ...Object.entries(runtimeMetrics).map(([name, metric]) => ({ name, part: 'frame', ...metric })),
  ...(await loadParts()).flatMap(({ plugin, metrics = [] }) =>
    metrics.flatMap(({ gauges }) =>
      Object.entries(gauges).map(([name, metric]) => ({ name, part: plugin.id, ...metric })),
    ),
  ),
  ...standard,
]

/** The names under which Prometheus stores the series of a metric. */
const seriesOf = ({ name, type }: DeclaredMetric): readonly string[] => {
  if (type === 'histogram') return [`${name}_bucket`, `${name}_sum`, `${name}_count`]
  return type === 'summary' ? [`${name}_sum`, `${name}_count`] : [name]
}

/** Returns the names in an expression that are those of metrics. */
const namesIn = (expr: string): readonly string[] => [
  ...new Set(expr.match(/\b(?:(?:moorage|nodejs|process)_[a-z0-9_]+|up(?=\{))/g) ?? []),
]

/** Returns the metrics of expressions that the service does not have. */
export const unknownMetrics = async (exprs: readonly string[]): Promise<readonly string[]> => {
  const known = new Set((await declaredMetrics()).flatMap(seriesOf))
  return exprs.flatMap(namesIn).filter((name) => !known.has(name))
}
