import type { Alert } from './alert.ts'

/** Alerts about instances, answers and clusters. */
export const serviceAlerts: readonly Alert[] = [
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
]
