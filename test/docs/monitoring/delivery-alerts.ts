import type { Alert } from './alert.ts'

/** Alerts about what is delivered: progress, usage and mail. */
export const deliveryAlerts: readonly Alert[] = [
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
]
