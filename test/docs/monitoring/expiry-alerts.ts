import type { Alert } from './alert.ts'
import { day } from './alert.ts'

/** Alerts about what ends: certificates, credentials and contracts. */
export const expiryAlerts: readonly Alert[] = [
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
    name: 'MoorageBackupOld',
    severity: 'ticket',
    expr: `time() - max(moorage_upkeep_last_success_timestamp_seconds{work="backup"}) > ${2 * day}`,
    for: '1h',
    summary: 'The last good backup is more than two days old, or there was none.',
    incident: {
      series: { 'moorage_upkeep_last_success_timestamp_seconds{work="backup"}': `-${3 * day}x100` },
      at: '90m',
    },
  },
  {
    name: 'MoorageAuditUnchecked',
    severity: 'info',
    expr: `time() - max(moorage_upkeep_last_success_timestamp_seconds{work="audit_check"}) > ${35 * day}`,
    for: '1h',
    summary: 'The last good check of the audit log is more than 35 days old, or there was none.',
    incident: {
      series: { 'moorage_upkeep_last_success_timestamp_seconds{work="audit_check"}': `-${36 * day}x100` },
      at: '90m',
    },
  },
]
