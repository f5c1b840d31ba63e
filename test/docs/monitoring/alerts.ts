interface Incident {
  /** Series with their values, in the notation of promtool, one a minute. */
  readonly series: Readonly<Record<string, string>>
  readonly at: string
  /** The labels with which the alert fires, beside its severity. */
  readonly labels?: Readonly<Record<string, string>>
}

/** An alert, with an incident that must raise it. */
export interface Alert {
  readonly name: string
  /** `page`: users are harmed now, or soon; `ticket`: an operator must act in the next days; `info`: worth knowing. */
  readonly severity: 'page' | 'ticket' | 'info'
  readonly expr: string
  /** How long the expression must hold. */
  readonly for: string
  /** One sentence. `{{ $labels.x }}` is the value of a label. */
  readonly summary: string
  readonly incident: Incident
  /** Other incidents that must raise it, of an alert that has several reasons. */
  readonly further?: readonly Incident[]
}

const day = 86_400
const onA = { instance: 'a:3002' }

/** In the order of what hurts first. */
export const alerts: readonly Alert[] = [
  {
    name: 'MoorageDown',
    severity: 'page',
    expr: 'absent(up{job="moorage"} == 1)',
    for: '1m',
    summary: 'No instance of Moorage answers.',
    incident: {
      series: { 'up{job="moorage",instance="a:3002"}': '1 1 0x10' },
      at: '6m',
    },
  },
  {
    name: 'MoorageInstanceDown',
    severity: 'ticket',
    expr: 'up{job="moorage"} == 0',
    for: '2m',
    summary: 'The instance {{ $labels.instance }} does not answer at its operations port.',
    incident: {
      series: { 'up{job="moorage",instance="a:3002"}': '1 1 0x10' },
      at: '6m',
      labels: { job: 'moorage', instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageRestarts',
    severity: 'ticket',
    expr: 'changes(process_start_time_seconds{job="moorage"}[1h]) >= 3',
    for: '0m',
    summary: 'The instance {{ $labels.instance }} has started three times within an hour.',
    incident: {
      series: { 'process_start_time_seconds{job="moorage",instance="a:3002"}': '1000x9 2000x9 3000x9 4000x30' },
      at: '35m',
      labels: { job: 'moorage', instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageWorkersRestart',
    severity: 'ticket',
    expr: 'sum by (instance) (increase(moorage_worker_restarts_total[1h])) >= 3',
    for: '0m',
    summary: 'Workers of {{ $labels.instance }} ended three times within an hour, and were replaced.',
    incident: {
      series: { 'moorage_worker_restarts_total{instance="a:3002"}': '0x10 1x5 2x5 4x30' },
      at: '40m',
      labels: { instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageNotReady',
    severity: 'page',
    expr: 'min by (check) (moorage_not_ready) == 1',
    for: '2m',
    summary: 'No instance is ready: the check {{ $labels.check }} of /readyz fails on each.',
    incident: {
      series: {
        'moorage_not_ready{check="database",instance="a:3002"}': '0 1x20',
        'moorage_not_ready{check="database",instance="b:3002"}': '0 1x20',
      },
      at: '10m',
      labels: { check: 'database' },
    },
  },
  {
    name: 'MoorageManyClustersFail',
    severity: 'page',
    expr:
      'sum(rate(moorage_cluster_failures_total[10m])) / sum(rate(moorage_cluster_answers_total[10m])) > 0.5 ' +
      'and count(count by (cluster) (rate(moorage_cluster_failures_total[10m]) > 0)) >= 5',
    for: '5m',
    summary: 'More than half of the requests to member clusters fail, to five clusters or more.',
    incident: {
      series: {
        'moorage_cluster_failures_total{cluster="acme/a",reason="ENETUNREACH"}': '0+60x30',
        'moorage_cluster_failures_total{cluster="acme/b",reason="ENETUNREACH"}': '0+60x30',
        'moorage_cluster_failures_total{cluster="acme/c",reason="ENETUNREACH"}': '0+60x30',
        'moorage_cluster_failures_total{cluster="tide/a",reason="ENETUNREACH"}': '0+60x30',
        'moorage_cluster_failures_total{cluster="tide/b",reason="ENETUNREACH"}': '0+60x30',
        'moorage_cluster_answers_total{outcome="ClusterUnreachable"}': '0+300x30',
        'moorage_cluster_answers_total{outcome="answered"}': '0+30x30',
      },
      at: '20m',
    },
  },
  {
    name: 'MoorageClusterFails',
    severity: 'ticket',
    expr: 'sum by (cluster, reason) (rate(moorage_cluster_failures_total[10m])) > 0.02',
    for: '15m',
    summary: 'Requests to the cluster {{ $labels.cluster }} fail: {{ $labels.reason }}.',
    incident: {
      series: { 'moorage_cluster_failures_total{cluster="acme/quay",reason="ECONNREFUSED"}': '0+6x40' },
      at: '30m',
      labels: { cluster: 'acme/quay', reason: 'ECONNREFUSED' },
    },
  },
  {
    name: 'MoorageErrors',
    severity: 'page',
    expr:
      'sum(rate(moorage_http_requests_total{origin="service",status=~"5.."}[5m])) / ' +
      'sum(rate(moorage_http_requests_total[5m])) > 0.02 ' +
      'and sum(rate(moorage_http_requests_total{origin="service",status=~"5.."}[5m])) > 0.1',
    for: '5m',
    summary: 'More than 2 % of all requests fail for a reason of the service itself.',
    incident: {
      series: {
        'moorage_http_requests_total{method="GET",route="/user",status="200",origin="service"}': '0+600x20',
        'moorage_http_requests_total{method="GET",route="/user",status="500",origin="service"}': '0+60x20',
      },
      at: '15m',
    },
  },
  {
    name: 'MoorageChangesRefused',
    severity: 'page',
    expr: 'min(moorage_database_takes_changes) == 0',
    for: '1m',
    summary: 'The database takes no changes: it is read-only, or full.',
    incident: { series: { moorage_database_takes_changes: '1 0x10' }, at: '5m' },
  },
  {
    name: 'MoorageDegraded',
    severity: 'ticket',
    expr: 'max by (check) (moorage_degraded) == 1',
    for: '5m',
    summary: 'The check {{ $labels.check }} of /readyz fails; the service answers without what needs it.',
    incident: {
      series: { 'moorage_degraded{check="temporary files"}': '0 1x20' },
      at: '15m',
      labels: { check: 'temporary files' },
    },
  },
  {
    name: 'MoorageOutboxLags',
    severity: 'page',
    expr: 'max(moorage_task_outbox_oldest_seconds) > 120',
    for: '5m',
    summary: 'Events of tasks wait for the message bus for more than two minutes.',
    incident: { series: { moorage_task_outbox_oldest_seconds: '0+60x30' }, at: '15m' },
  },
  {
    name: 'MoorageBusDisconnected',
    severity: 'ticket',
    expr: 'min by (instance) (moorage_bus_connected) == 0',
    for: '5m',
    summary: 'The instance {{ $labels.instance }} is not connected to the message bus.',
    incident: {
      series: { 'moorage_bus_connected{instance="a:3002"}': '1 0x20' },
      at: '10m',
      labels: { instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageUsageIntakeLags',
    severity: 'ticket',
    expr: 'max(moorage_usage_intake_pending_messages) > 10000',
    for: '15m',
    summary: 'More than 10000 messages with usage events wait on the message bus.',
    incident: { series: { moorage_usage_intake_pending_messages: '20000x40' }, at: '20m' },
  },
  {
    name: 'MoorageMailLags',
    severity: 'ticket',
    expr: 'max(moorage_mail_oldest_seconds) > 3600',
    for: '10m',
    summary: 'A mail waits for more than an hour.',
    incident: { series: { moorage_mail_oldest_seconds: '3000+60x60' }, at: '40m' },
  },
  {
    name: 'MoorageMailLost',
    severity: 'ticket',
    expr: 'sum(increase(moorage_mail_attempts_total{outcome="given_up"}[1h])) > 0',
    for: '0m',
    summary: 'Mail was given up in the last hour: it is lost.',
    incident: { series: { 'moorage_mail_attempts_total{outcome="given_up"}': '0x10 1x20' }, at: '20m' },
  },
  {
    name: 'MoorageCertificateEnds',
    severity: 'ticket',
    expr: `min(moorage_tls_certificate_expiry_timestamp_seconds) - time() < ${14 * day}`,
    for: '1h',
    summary: 'The certificate of the API ends within 14 days.',
    incident: { series: { moorage_tls_certificate_expiry_timestamp_seconds: `${7 * day}x100` }, at: '90m' },
  },
  {
    name: 'MoorageCertificateEndsSoon',
    severity: 'page',
    expr: `min(moorage_tls_certificate_expiry_timestamp_seconds) - time() < ${2 * day}`,
    for: '10m',
    summary: 'The certificate of the API ends within two days, or has ended.',
    incident: { series: { moorage_tls_certificate_expiry_timestamp_seconds: `${day}x30` }, at: '20m' },
  },
  {
    name: 'MoorageClusterCredentialEnds',
    severity: 'ticket',
    // One that ended a month ago belongs to a cluster that is out of use.
    expr:
      'min by (cluster) (moorage_cluster_credential_expiry_timestamp_seconds) - time() ' +
      `> -${30 * day} < ${14 * day}`,
    for: '1h',
    summary: 'The credential of the cluster {{ $labels.cluster }} ends within 14 days, or has ended.',
    incident: {
      series: {
        'moorage_cluster_credential_expiry_timestamp_seconds{cluster="acme/quay"}': `${7 * day}x100`,
        'moorage_cluster_credential_expiry_timestamp_seconds{cluster="acme/old"}': `-${31 * day}x100`,
      },
      at: '90m',
      labels: { cluster: 'acme/quay' },
    },
  },
  {
    name: 'MoorageLicenseAuthorityEnds',
    severity: 'ticket',
    expr: `min(moorage_license_authority_expiry_timestamp_seconds) - time() < ${60 * day}`,
    for: '1h',
    summary: 'The certificate authority that signs licenses ends within 60 days.',
    incident: { series: { moorage_license_authority_expiry_timestamp_seconds: `${30 * day}x100` }, at: '90m' },
  },
  {
    name: 'MoorageContractsEnd',
    severity: 'info',
    expr: 'max(moorage_contracts_ending) > 0',
    for: '1h',
    summary: 'A contract ends within ten days.',
    incident: { series: { moorage_contracts_ending: '2x100' }, at: '90m' },
  },
  {
    name: 'MoorageDatabaseBusy',
    severity: 'page',
    expr:
      'sum by (instance) (rate(moorage_database_wait_seconds_sum[5m])) / ' +
      'sum by (instance) (rate(moorage_database_wait_seconds_count[5m])) > 0.25',
    for: '10m',
    summary: 'Callers on {{ $labels.instance }} wait for the database for 0.25 s on average.',
    incident: {
      series: {
        'moorage_database_wait_seconds_sum{instance="a:3002"}': '0+600x40',
        'moorage_database_wait_seconds_count{instance="a:3002"}': '0+600x40',
      },
      at: '30m',
      labels: { instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageTasksWait',
    severity: 'page',
    expr: 'max by (kind) (moorage_task_oldest_queued_seconds) > 600',
    for: '5m',
    summary: 'A task of the kind {{ $labels.kind }} waits for more than ten minutes.',
    incident: {
      series: { 'moorage_task_oldest_queued_seconds{kind="packages.install"}': '0+60x40' },
      at: '30m',
      labels: { kind: 'packages.install' },
    },
  },
  {
    name: 'MoorageTaskRunsLong',
    severity: 'ticket',
    expr: 'max by (kind) (moorage_task_oldest_running_seconds) > 7200',
    for: '10m',
    summary: 'A task of the kind {{ $labels.kind }} runs for more than two hours.',
    incident: {
      series: { 'moorage_task_oldest_running_seconds{kind="usage.close"}': '7000+60x40' },
      at: '30m',
      labels: { kind: 'usage.close' },
    },
  },
  {
    name: 'MoorageTasksFail',
    severity: 'ticket',
    expr:
      'sum by (kind) (increase(moorage_task_duration_seconds_count{end=~"failed|unknown"}[1h])) > 5 and ' +
      'sum by (kind) (increase(moorage_task_duration_seconds_count{end=~"failed|unknown"}[1h])) > ' +
      '0.5 * sum by (kind) (increase(moorage_task_duration_seconds_count[1h]))',
    for: '10m',
    summary: 'More than half of the tasks of the kind {{ $labels.kind }} fail.',
    incident: {
      series: {
        'moorage_task_duration_seconds_count{kind="packages.install",end="failed"}': '0+1x60',
        'moorage_task_duration_seconds_count{kind="packages.install",end="succeeded"}': '0x60',
      },
      at: '50m',
      labels: { kind: 'packages.install' },
    },
  },
  {
    name: 'MoorageJobFails',
    severity: 'ticket',
    // A job that runs every few seconds, one that runs every few hours, and one that has not succeeded since the start.
    expr:
      'sum by (job_id) (increase(moorage_job_runs_total{outcome="failed"}[1h])) > 2 ' +
      'or max by (job_id) (moorage_job_last_end_timestamp_seconds) - ' +
      'max by (job_id) (moorage_job_last_success_timestamp_seconds) > 1800 ' +
      'or max by (job_id) (moorage_job_last_end_timestamp_seconds) ' +
      'unless max by (job_id) (moorage_job_last_success_timestamp_seconds)',
    for: '5m',
    summary: 'The job {{ $labels.job_id }} fails: its last run, or three runs in an hour.',
    incident: {
      series: { 'moorage_job_runs_total{job_id="mail.deliver",outcome="failed"}': '0+1x60' },
      at: '30m',
      labels: { job_id: 'mail.deliver' },
    },
    further: [
      {
        series: {
          'moorage_job_last_end_timestamp_seconds{job_id="usage.expire",instance="a:3002"}': '1000 22600x60',
          'moorage_job_last_success_timestamp_seconds{job_id="usage.expire",instance="a:3002"}': '1000x61',
        },
        at: '30m',
        labels: { job_id: 'usage.expire' },
      },
      {
        series: { 'moorage_job_last_end_timestamp_seconds{job_id="usage.expire",instance="a:3002"}': '1000x60' },
        at: '30m',
        labels: { job_id: 'usage.expire' },
      },
    ],
  },
  {
    name: 'MoorageJobRunsLong',
    severity: 'ticket',
    expr: 'max by (job_id) (moorage_job_running_seconds) > 7200',
    for: '5m',
    summary: 'A run of the job {{ $labels.job_id }} takes more than two hours.',
    incident: {
      series: { 'moorage_job_running_seconds{job_id="audit.prune"}': '7000+60x40' },
      at: '30m',
      labels: { job_id: 'audit.prune' },
    },
  },
  {
    name: 'MoorageLogLinesLost',
    severity: 'ticket',
    expr: 'sum by (instance) (increase(moorage_log_lines_lost_total[15m])) > 0',
    for: '0m',
    summary: 'Lines of the log of {{ $labels.instance }} were lost.',
    incident: {
      series: { 'moorage_log_lines_lost_total{instance="a:3002"}': '0x10 50x10' },
      at: '15m',
      labels: { instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageLogBacklog',
    severity: 'ticket',
    expr: 'max by (instance) (moorage_log_backlog_seconds) > 30',
    for: '1m',
    summary: 'The log of {{ $labels.instance }} is not written: an end of the process would lose its last lines.',
    incident: { series: { 'moorage_log_backlog_seconds{instance="a:3002"}': '0x5 60+60x10' }, at: '9m', labels: onA },
  },
  {
    name: 'MoorageDiskFills',
    severity: 'page',
    expr: 'min by (instance, folder) (moorage_disk_free_bytes / moorage_disk_size_bytes) < 0.1',
    for: '10m',
    summary: 'Less than a tenth of the disk of the folder {{ $labels.folder }} of {{ $labels.instance }} is free.',
    incident: {
      series: {
        'moorage_disk_free_bytes{instance="a:3002",folder="data"}': '5x30',
        'moorage_disk_size_bytes{instance="a:3002",folder="data"}': '100x30',
      },
      at: '20m',
      labels: { instance: 'a:3002', folder: 'data' },
    },
  },
  {
    name: 'MoorageWalGrows',
    severity: 'ticket',
    expr: 'max(moorage_database_size_bytes{part="wal"}) > 1e9',
    for: '30m',
    summary: 'The write-ahead log of the database is larger than 1 GB.',
    incident: { series: { 'moorage_database_size_bytes{part="wal"}': '2e9x60' }, at: '45m' },
  },
  {
    name: 'MoorageEventLoopBlocked',
    severity: 'ticket',
    expr: 'max by (instance) (nodejs_eventloop_lag_p99_seconds) > 0.25',
    for: '10m',
    summary: 'Work on {{ $labels.instance }} keeps requests waiting for more than 0.25 s.',
    incident: {
      series: { 'nodejs_eventloop_lag_p99_seconds{instance="a:3002"}': '0.5x30' },
      at: '20m',
      labels: { instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageQueueWaits',
    severity: 'ticket',
    expr:
      'sum by (pool) (rate(moorage_pool_wait_seconds_sum{pool!~"closing-threads|reports"}[10m])) / ' +
      'sum by (pool) (rate(moorage_pool_wait_seconds_count{pool!~"closing-threads|reports"}[10m])) > 2',
    for: '10m',
    summary: 'Work waits for the pool {{ $labels.pool }} for 2 s on average.',
    incident: {
      series: {
        'moorage_pool_wait_seconds_sum{pool="charts"}': '0+600x40',
        'moorage_pool_wait_seconds_count{pool="charts"}': '0+60x40',
      },
      at: '30m',
      labels: { pool: 'charts' },
    },
  },
  {
    name: 'MoorageFilesRunOut',
    severity: 'page',
    expr: 'max by (instance) (process_open_fds / process_max_fds) > 0.8',
    for: '5m',
    summary: 'The instance {{ $labels.instance }} uses more than 80 % of its file descriptors.',
    incident: {
      series: {
        'process_open_fds{instance="a:3002"}': '900x20',
        'process_max_fds{instance="a:3002"}': '1024x20',
      },
      at: '10m',
      labels: { instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageClockSkewed',
    severity: 'page',
    expr: 'max by (instance) (abs(moorage_clock_skew_seconds)) > 4',
    for: '2m',
    summary: 'The clock of {{ $labels.instance }} differs from that of the database by more than 4 s.',
    incident: {
      series: { 'moorage_clock_skew_seconds{instance="a:3002"}': '-7x10' },
      at: '5m',
      labels: { instance: 'a:3002' },
    },
  },
  {
    name: 'MoorageSignInsRefused',
    severity: 'ticket',
    expr: 'sum by (reason) (rate(moorage_sign_in_refusals_total[5m])) > 1',
    for: '10m',
    summary: 'More than one attempt to sign in is refused in a second: {{ $labels.reason }}.',
    incident: {
      series: { 'moorage_sign_in_refusals_total{kind="password",reason="wrong"}': '0+300x30' },
      at: '20m',
      labels: { reason: 'wrong' },
    },
  },
  {
    name: 'MoorageAccountsLocked',
    severity: 'ticket',
    expr: 'sum(increase(moorage_account_locks_total[1h])) > 20',
    for: '0m',
    summary: 'More than 20 accounts were locked in an hour.',
    incident: { series: { 'moorage_account_locks_total{kind="password"}': '0+2x60' }, at: '50m' },
  },
  {
    name: 'MoorageUsageUnreported',
    severity: 'page',
    expr: 'sum by (reason) (moorage_metering_unreported_hours) > 0',
    for: '1h',
    summary: 'Usage is not reported to the marketplace: {{ $labels.reason }}.',
    incident: {
      series: { 'moorage_metering_unreported_hours{reason="ThrottlingException"}': '3x100' },
      at: '90m',
      labels: { reason: 'ThrottlingException' },
    },
  },
  {
    name: 'MoorageTracesLost',
    severity: 'info',
    expr: 'sum(increase(moorage_trace_spans_lost_total[15m])) > 0',
    for: '5m',
    summary: 'Spans of traces are lost: the receiver is away or too slow.',
    incident: { series: { moorage_trace_spans_lost_total: '0+100x40' }, at: '30m' },
  },
]
