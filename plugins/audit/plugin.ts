import { definePlugin } from '../kit/plugin.ts'
import { auditGroup } from './audit.handlers.ts'
import { makeRetireEvents } from '../../core/audit/audit-chain.ts'
import { AuditRetentionPort, AuditSettingsPort, KeyedDigestPort } from '../../core/audit/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { defineGroup } from '../kit/group.ts'

/** Removes audit events that are older than the retention period that the operator configured. */
const retireEvents = defineGroup({
  needs: {
    retention: AuditRetentionPort,
    settings: AuditSettingsPort,
    key: KeyedDigestPort,
    clock: ClockPort,
    log: LogPort,
  },
  jobs: (given) => [
    {
      id: 'audit.retireEvents',
      summary: 'Remove audit rows that are older than MOORAGE_AUDIT_RETENTION_DAYS',
      everySeconds: 3600,
      run: makeRetireEvents(given),
    },
  ],
})

/** The log of every change and every refusal. Owners of an organization and site admins can read it. */
export const auditPlugin = definePlugin({
  id: 'audit',
  summary: 'The audit log: changes and refusals',
  listener: 'api',
  gate: 'always',
  groups: [auditGroup, retireEvents],
})
