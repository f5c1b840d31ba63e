import type { Alert } from './alert.ts'

/** Alerts about the database, tasks and jobs. */
export const workAlerts: readonly Alert[] = [
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
]
