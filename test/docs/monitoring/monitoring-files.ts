import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { fromRoot } from '../asvs-table.ts'
import type { Alert } from './alert.ts'
import { alerts } from './alerts.ts'
import { dashboardJson } from './dashboard.ts'

const runbook = 'docs/runbook.md'

const annotationsOf = ({ name, summary }: Alert) => ({ summary, runbook: `${runbook}#${name.toLowerCase()}` })

const madeBy = '# Made by `npm run docs:monitoring` from test/docs/monitoring/alerts.ts.\n'

const groupsOf = (of: readonly Alert[]) => [
  {
    name: 'moorage',
    rules: of.map((alert) => ({
      alert: alert.name,
      expr: alert.expr,
      ...(alert.for === '0m' ? {} : { for: alert.for }),
      labels: { severity: alert.severity },
      annotations: annotationsOf(alert),
    })),
  },
]

/** The rules as Prometheus reads them. */
const alertsYaml = (): string => `${madeBy}${stringify({ groups: groupsOf(alerts) }, { lineWidth: 0 })}`

/** The alerts that the chart has itself: it knows the name of its service. */
const ofChart = ['MoorageDown', 'MoorageInstanceDown']

/** The rules as values of the chart. */
const chartValues = (): string => {
  const groups = groupsOf(alerts.filter(({ name }) => !ofChart.includes(name)))
  const values = { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true, groups } }
  return `${madeBy}# helm upgrade --install moorage deploy/helm/moorage -f deploy/monitoring/chart-values.yaml ...\n${stringify(values, { lineWidth: 0 })}`
}

/** The files under deploy/monitoring with their texts. */
export const monitoringFiles = (): Readonly<Record<string, string>> => ({
  'deploy/monitoring/alerts.yaml': alertsYaml(),
  'deploy/monitoring/chart-values.yaml': chartValues(),
  'deploy/monitoring/dashboard.json': `${JSON.stringify(dashboardJson(), null, 2)}\n`,
})

const filled = (template: string, labels: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? '')

/** A day on which nothing is wrong. */
const goodDay: Readonly<Record<string, string>> = {
  'up{job="moorage",instance="a:3002"}': '1x120',
  'moorage_cluster_answers_total{outcome="answered"}': '0+600x120',
  'moorage_cluster_answers_total{outcome="ClusterUnreachable"}': '0x60 1x60',
  'moorage_cluster_failures_total{cluster="acme/quay",reason="ECONNRESET"}': '0x60 1x60',
  'moorage_http_requests_total{method="GET",route="/user",status="200",origin="service"}': '0+600x120',
  'moorage_http_requests_total{method="GET",route="/clusters",status="500",origin="upstream"}': '0+300x120',
  moorage_database_takes_changes: '1x120',
  'moorage_not_ready{check="database",instance="a:3002"}': '0x120',
  'moorage_not_ready{check="database",instance="b:3002"}': '0x60 1x60',
  'moorage_degraded{check="log"}': '0x120',
  moorage_task_outbox_oldest_seconds: '1x120',
  'moorage_bus_connected{instance="a:3002"}': '1x120',
  moorage_usage_intake_pending_messages: '5x120',
  moorage_mail_oldest_seconds: '60x120',
  'moorage_mail_attempts_total{outcome="given_up"}': '0x120',
  moorage_tls_certificate_expiry_timestamp_seconds: '7000000x120',
  'moorage_cluster_credential_expiry_timestamp_seconds{cluster="acme/quay"}': '7000000x120',
  moorage_license_authority_expiry_timestamp_seconds: '70000000x120',
  moorage_contracts_ending: '0x120',
  'moorage_database_wait_seconds_sum{instance="a:3002"}': '0+1x120',
  'moorage_database_wait_seconds_count{instance="a:3002"}': '0+6000x120',
  'moorage_task_oldest_queued_seconds{kind="packages.install"}': '2x120',
  'moorage_task_oldest_running_seconds{kind="packages.install"}': '300x120',
  'moorage_task_duration_seconds_count{kind="packages.install",end="failed"}': '0x60 3x60',
  'moorage_task_duration_seconds_count{kind="packages.install",end="succeeded"}': '0+2x120',
  'moorage_job_runs_total{job_id="mail.deliver",outcome="failed"}': '0x60 1x60',
  'moorage_job_running_seconds{job_id="mail.deliver"}': '5x120',
  // The last run failed, once; another instance ran the job before.
  'moorage_job_last_end_timestamp_seconds{job_id="mail.deliver",instance="a:3002"}': '1030x120',
  'moorage_job_last_success_timestamp_seconds{job_id="mail.deliver",instance="b:3002"}': '1000x120',
  'moorage_log_lines_lost_total{instance="a:3002"}': '0x120',
  'moorage_log_backlog_seconds{instance="a:3002"}': '0.05x120',
  // One restart, as of an upgrade.
  'process_start_time_seconds{job="moorage",instance="a:3002"}': '1000x60 4600x60',
  'moorage_worker_restarts_total{instance="a:3002"}': '0x60 1x60',
  'moorage_disk_free_bytes{instance="a:3002",folder="data"}': '50x120',
  'moorage_disk_size_bytes{instance="a:3002",folder="data"}': '100x120',
  'moorage_database_size_bytes{part="wal"}': '4e6x120',
  'nodejs_eventloop_lag_p99_seconds{instance="a:3002"}': '0.02x120',
  'moorage_pool_wait_seconds_sum{pool="charts"}': '0+1x120',
  'moorage_pool_wait_seconds_count{pool="charts"}': '0+60x120',
  'process_open_fds{instance="a:3002"}': '100x120',
  'process_max_fds{instance="a:3002"}': '1024x120',
  'moorage_clock_skew_seconds{instance="a:3002"}': '0.2x120',
  'moorage_sign_in_refusals_total{kind="password",reason="wrong"}': '0+6x120',
  'moorage_account_locks_total{kind="password"}': '0x60 2x60',
  'moorage_identity_providers{state="failing"}': '0x120',
  moorage_access_checks_late_seconds: '20x120',
  'moorage_metering_unreported_hours{reason="TooLate"}': '0x120',
  'moorage_upkeep_last_success_timestamp_seconds{work="backup"}': '0x120',
  'moorage_upkeep_last_success_timestamp_seconds{work="audit_check"}': '0x120',
  'moorage_metering_lost_units{dimension="core_hours"}': '0x120',
  moorage_trace_spans_lost_total: '0x120',
}

/** Tests for promtool: each alert fires in its incident, and none on a good day. */
export const incidentsYaml = (rulesFile: string): string =>
  stringify(
    {
      rule_files: [rulesFile],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: Object.entries(goodDay).map(([name, values]) => ({ series: name, values })),
          alert_rule_test: alerts.map(({ name }) => ({ eval_time: '110m', alertname: name, exp_alerts: [] })),
        },
        ...alerts.flatMap((alert) => {
          const annotations = annotationsOf(alert)
          return [alert.incident, ...(alert.further ?? [])].map(({ series, at, labels = {} }) => ({
            interval: '1m',
            input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
            alert_rule_test: [
              {
                eval_time: at,
                alertname: alert.name,
                exp_alerts: [
                  {
                    exp_labels: { ...labels, severity: alert.severity },
                    exp_annotations: { ...annotations, summary: filled(annotations.summary, labels) },
                  },
                ],
              },
            ],
          }))
        }),
      ],
    },
    { lineWidth: 0 },
  )

/** The metrics that the good day has. */
export const goodDaySeries: readonly string[] = Object.keys(goodDay)

/** The paragraphs of the runbook by their headings. */
export const runbookParagraphs = (): ReadonlyMap<string, string> =>
  new Map(
    readFileSync(fromRoot(runbook), 'utf8')
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const [heading = '', ...lines] = section.split('\n')
        return [heading.trim(), lines.join(' ').replaceAll(/\s+/g, ' ').trim()] as const
      }),
  )
