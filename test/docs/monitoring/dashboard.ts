interface Panel {
  readonly title: string
  readonly unit?: 's' | 'bytes' | 'percentunit' | 'reqps' | 'short' | 'dtdurations'
  readonly kind?: 'timeseries' | 'stat'
  readonly queries: readonly { readonly expr: string; readonly legend: string }[]
}

interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

const query = (expr: string, legend = '') => ({ expr, legend })

/** In the order of what hurts first. */
export const rows: readonly Row[] = [
  {
    title: 'Clusters',
    panels: [
      {
        title: 'Which cluster fails, and why',
        unit: 'reqps',
        queries: [
          query(
            'topk(10, sum by (cluster, reason) (rate(moorage_cluster_failures_total[5m])))',
            '{{cluster}} {{reason}}',
          ),
        ],
      },
      {
        title: 'Answers of member clusters',
        unit: 'reqps',
        queries: [query('sum by (outcome) (rate(moorage_cluster_answers_total[5m]))', '{{outcome}}')],
      },
      { title: 'Clusters by phase', queries: [query('max by (phase) (moorage_clusters)', '{{phase}}')] },
      {
        title: 'Open streams and tunnels',
        queries: [query('topk(10, sum by (cluster, kind) (moorage_proxy_open))', '{{cluster}} {{kind}}')],
      },
    ],
  },
  {
    title: 'Requests',
    panels: [
      {
        title: 'Requests by status',
        unit: 'reqps',
        queries: [query('sum by (status, origin) (rate(moorage_http_requests_total[5m]))', '{{status}} {{origin}}')],
      },
      {
        title: 'Failures of the service',
        unit: 'percentunit',
        queries: [
          query(
            '(sum(rate(moorage_http_requests_total{origin="service",status=~"5.."}[5m])) or vector(0)) / ' +
              'sum(rate(moorage_http_requests_total[5m]))',
            'share of all requests',
          ),
        ],
      },
      {
        title: 'Time to answer (p99) by route',
        unit: 's',
        queries: [
          query(
            'topk(10, histogram_quantile(0.99, sum by (route, le) (rate(moorage_http_request_seconds_bucket[5m]))))',
            '{{route}}',
          ),
        ],
      },
      {
        title: 'In flight, and refusals',
        queries: [
          query('sum(moorage_http_requests_in_flight)', 'in flight'),
          query('topk(5, sum by (code) (rate(moorage_refusals_total[5m])))', '{{code}}'),
        ],
      },
    ],
  },
  {
    title: 'Changes, outbox and mail',
    panels: [
      {
        title: 'The database takes changes',
        kind: 'stat',
        queries: [query('min(moorage_database_takes_changes)', '1 = yes')],
      },
      {
        title: 'Outbox of tasks: age',
        unit: 's',
        queries: [query('max(moorage_task_outbox_oldest_seconds)', 'oldest event')],
      },
      {
        title: 'Depth of the outbox and of mail',
        queries: [
          query('max(moorage_task_outbox_events)', 'events of tasks'),
          query('max(moorage_mail_queued)', 'mails'),
          query('max(moorage_usage_intake_pending_messages)', 'usage events on the bus'),
        ],
      },
      {
        title: 'Mail',
        unit: 's',
        queries: [
          query('max(moorage_mail_oldest_seconds)', 'oldest mail'),
          query('sum by (outcome) (rate(moorage_mail_attempts_total[15m]))', '{{outcome}} per s'),
        ],
      },
    ],
  },
  {
    title: 'What ends',
    panels: [
      {
        title: 'Certificate, authority, contract',
        unit: 'dtdurations',
        kind: 'stat',
        queries: [
          query('min(moorage_tls_certificate_expiry_timestamp_seconds) - time()', 'certificate of the API'),
          query('min(moorage_license_authority_expiry_timestamp_seconds) - time()', 'authority of licenses'),
          query('min(moorage_contract_next_end_timestamp_seconds) - time()', 'next contract'),
        ],
      },
      {
        title: 'Credentials of clusters',
        unit: 'dtdurations',
        queries: [
          query(
            'bottomk(10, min by (cluster) (moorage_cluster_credential_expiry_timestamp_seconds) - time())',
            '{{cluster}}',
          ),
        ],
      },
      {
        title: 'Degraded, or not ready',
        queries: [
          query('max by (check) (moorage_degraded)', '{{check}}'),
          query('max by (check) (moorage_not_ready)', 'not ready: {{check}}'),
        ],
      },
    ],
  },
  {
    title: 'Database',
    panels: [
      {
        title: 'Wait for a connection',
        unit: 's',
        queries: [
          query(
            'sum by (instance) (rate(moorage_database_wait_seconds_sum[5m])) / ' +
              'sum by (instance) (rate(moorage_database_wait_seconds_count[5m]))',
            '{{instance}}',
          ),
        ],
      },
      {
        title: 'Connections',
        queries: [query('sum by (state) (moorage_database_connections)', '{{state}}')],
      },
      {
        title: 'Size',
        unit: 'bytes',
        queries: [query('max by (part) (moorage_database_size_bytes)', '{{part}}')],
      },
      {
        title: 'Disk free',
        unit: 'percentunit',
        queries: [
          query(
            'min by (instance, folder) (moorage_disk_free_bytes / moorage_disk_size_bytes)',
            '{{instance}} {{folder}}',
          ),
        ],
      },
    ],
  },
  {
    title: 'Tasks and jobs',
    panels: [
      {
        title: 'Oldest waiting task',
        unit: 's',
        queries: [query('max by (kind) (moorage_task_oldest_queued_seconds) > 0', '{{kind}}')],
      },
      {
        title: 'Oldest running task',
        unit: 's',
        queries: [query('max by (kind) (moorage_task_oldest_running_seconds) > 0', '{{kind}}')],
      },
      {
        title: 'Duration of tasks (p95)',
        unit: 's',
        queries: [
          query(
            'histogram_quantile(0.95, sum by (kind, le) (rate(moorage_task_duration_seconds_bucket[1h])))',
            '{{kind}}',
          ),
        ],
      },
      {
        title: 'Tasks by state',
        queries: [
          query('max by (state) (moorage_tasks)', '{{state}}'),
          query('sum(moorage_tasks_running_here)', 'running on the instances'),
        ],
      },
      {
        title: 'Jobs: failures in an hour',
        queries: [query('sum by (job_id) (increase(moorage_job_runs_total{outcome="failed"}[1h])) > 0', '{{job_id}}')],
      },
      {
        title: 'Jobs: time since the last success',
        unit: 's',
        queries: [
          query('time() - max by (job_id) (moorage_job_last_success_timestamp_seconds)', '{{job_id}}'),
          query('max by (job_id) (moorage_job_running_seconds) > 0', '{{job_id}} runs for'),
        ],
      },
    ],
  },
  {
    title: 'Threads and queues',
    panels: [
      {
        title: 'Wait for a place',
        unit: 's',
        queries: [
          query(
            'sum by (pool) (rate(moorage_pool_wait_seconds_sum[5m])) / ' +
              'sum by (pool) (rate(moorage_pool_wait_seconds_count[5m]))',
            '{{pool}}',
          ),
        ],
      },
      {
        title: 'Running and waiting',
        queries: [
          query('sum by (pool) (moorage_pool_running)', '{{pool}} running'),
          query('sum by (pool) (moorage_pool_waiting)', '{{pool}} waiting'),
        ],
      },
    ],
  },
  {
    title: 'Sign-ins',
    panels: [
      {
        title: 'Refused attempts',
        unit: 'reqps',
        queries: [query('sum by (kind, reason) (rate(moorage_sign_in_refusals_total[5m]))', '{{kind}} {{reason}}')],
      },
      {
        title: 'Sign-ins with identity providers',
        unit: 'reqps',
        queries: [query('sum by (outcome) (rate(moorage_external_sign_ins_total[5m]))', '{{outcome}}')],
      },
      {
        title: 'Checks of access',
        unit: 'reqps',
        queries: [query('sum by (outcome) (rate(moorage_access_checks_total[5m]))', '{{outcome}}')],
      },
      {
        title: 'Locked accounts in an hour',
        queries: [query('sum by (kind) (increase(moorage_account_locks_total[1h]))', '{{kind}}')],
      },
    ],
  },
  {
    title: 'Process',
    panels: [
      {
        title: 'Delay of the event loop (p99)',
        unit: 's',
        queries: [query('max by (instance) (nodejs_eventloop_lag_p99_seconds)', '{{instance}}')],
      },
      {
        title: 'Garbage collection',
        unit: 'percentunit',
        queries: [query('sum by (instance, kind) (rate(nodejs_gc_duration_seconds_sum[5m]))', '{{instance}} {{kind}}')],
      },
      {
        title: 'Memory and CPU',
        unit: 'bytes',
        queries: [
          query('sum by (instance) (process_resident_memory_bytes)', '{{instance}}'),
          query('sum by (instance) (rate(process_cpu_seconds_total[5m]))', '{{instance}} cores'),
        ],
      },
      {
        title: 'Processor time of helper processes, in cores',
        queries: [query('sum by (program) (rate(moorage_helper_cpu_seconds_total[5m]))', '{{program}}')],
      },
      {
        title: 'Helper processes that failed or were killed in an hour',
        queries: [
          query('sum by (program, end) (increase(moorage_helper_ends_total{end!="done"}[1h]))', '{{program}} {{end}}'),
        ],
      },
      {
        title: 'Lost lines and spans, clock',
        queries: [
          query('sum by (instance) (increase(moorage_log_lines_lost_total[15m]))', '{{instance}} lines of the log'),
          query('moorage_log_backlog_seconds', '{{instance}} age of unwritten lines'),
          query('sum by (instance) (increase(moorage_trace_spans_lost_total[15m]))', '{{instance}} spans'),
          query('moorage_clock_skew_seconds', '{{instance}} clock'),
        ],
      },
    ],
  },
]

const source = { type: 'prometheus', uid: '${datasource}' }
const [panelWidth, panelHeight, perRow] = [12, 8, 2]

/** The fields that Grafana's own types demand of both kinds of panels. */
const optionsOf = (kind: 'timeseries' | 'stat'): object =>
  kind === 'timeseries'
    ? {
        legend: { calcs: [], displayMode: 'list', placement: 'bottom', showLegend: true },
        tooltip: { mode: 'multi', sort: 'desc' },
      }
    : {
        colorMode: 'value',
        graphMode: 'area',
        justifyMode: 'auto',
        orientation: 'auto',
        percentChangeColorMode: 'standard',
        reduceOptions: { calcs: ['lastNotNull'] },
        showPercentChange: false,
        textMode: 'auto',
        wideLayout: true,
      }

/** Returns the dashboard as Grafana imports it. */
export const dashboardJson = (): object => {
  const panels: object[] = []
  let [y, id] = [0, 0]
  for (const row of rows) {
    panels.push({
      id: (id += 1),
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: 24, h: 1 },
    })
    y += 1
    for (const [at, { title, unit = 'short', kind = 'timeseries', queries }] of row.panels.entries()) {
      panels.push({
        id: (id += 1),
        type: kind,
        title,
        datasource: source,
        gridPos: {
          x: (at % perRow) * panelWidth,
          y: y + Math.floor(at / perRow) * panelHeight,
          w: panelWidth,
          h: panelHeight,
        },
        fieldConfig: {
          defaults: { unit, ...(kind === 'timeseries' && unit !== 'dtdurations' ? { min: 0 } : {}) },
          overrides: [],
        },
        options: optionsOf(kind),
        targets: queries.map(({ expr, legend }, index) => ({
          refId: String.fromCharCode(65 + index),
          datasource: source,
          expr,
          legendFormat: legend,
        })),
      })
    }
    y += Math.ceil(row.panels.length / perRow) * panelHeight
  }
  return {
    title: 'Moorage',
    uid: 'moorage',
    tags: ['moorage'],
    schemaVersion: 39,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' }] },
    panels,
  }
}
