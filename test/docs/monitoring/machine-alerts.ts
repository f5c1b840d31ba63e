import type { Alert } from './alert.ts'
import { onA } from './alert.ts'

/** Alerts about the log, disks, the process and the clock. */
export const machineAlerts: readonly Alert[] = [
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
]
