import type { Alert } from './alert.ts'
import { deliveryAlerts } from './delivery-alerts.ts'
import { expiryAlerts } from './expiry-alerts.ts'
import { machineAlerts } from './machine-alerts.ts'
import { serviceAlerts } from './service-alerts.ts'
import { workAlerts } from './work-alerts.ts'

/** In the order of what hurts first. */
export const alerts: readonly Alert[] = [
  ...serviceAlerts,
  ...deliveryAlerts,
  ...expiryAlerts,
  ...workAlerts,
  ...machineAlerts,
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
    name: 'MoorageIdentityProviderFails',
    severity: 'ticket',
    expr: 'max(moorage_identity_providers{state="failing"}) > 0',
    for: '30m',
    summary: 'The last request to an identity provider failed: its people cannot sign in.',
    incident: { series: { 'moorage_identity_providers{state="failing"}': '1x60' }, at: '45m' },
  },
  {
    name: 'MoorageAccessChecksLate',
    severity: 'ticket',
    expr: 'max(moorage_access_checks_late_seconds) > 1800',
    for: '10m',
    summary: 'Identity providers were not asked for half an hour whether they still give people access.',
    incident: { series: { moorage_access_checks_late_seconds: '0+60x90' }, at: '60m' },
  },
  {
    name: 'MoorageDirectoryEndsWithheld',
    severity: 'ticket',
    expr: 'max(moorage_directory_ends_withheld) > 0',
    for: '5m',
    summary: 'A directory lacks so many people at once that none of them loses access.',
    incident: { series: { moorage_directory_ends_withheld: '6x60' }, at: '20m' },
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
    name: 'MoorageUsageLost',
    severity: 'ticket',
    expr: 'max by (dimension) (moorage_metering_lost_units) > 0',
    for: '5m',
    summary: 'Usage of {{ $labels.dimension }} was lost: the marketplace does not take it any more.',
    incident: {
      series: { 'moorage_metering_lost_units{dimension="core_hours"}': '2.5x30' },
      at: '20m',
      labels: { dimension: 'core_hours' },
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
