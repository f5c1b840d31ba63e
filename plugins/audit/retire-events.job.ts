import { makeRetireEvents } from '../../core/audit/audit-chain.ts'
import { AuditRetentionToken, AuditSettingsToken, KeyedDigestToken } from '../../core/audit/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { defineGroup } from '../kit/group.ts'

/** Removes audit events that are older than the retention period that the operator configured. */
export const retireEvents = defineGroup({
  needs: {
    retention: AuditRetentionToken,
    settings: AuditSettingsToken,
    key: KeyedDigestToken,
    clock: ClockToken,
    log: LogToken,
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
