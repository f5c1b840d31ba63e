import { AuditLogToken, AuditRetentionToken, AuditSettingsToken, KeyedDigestToken } from '../../core/audit/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { definePlugin } from '../kit/plugin.ts'
import { auditRoutes } from './audit.handlers.ts'
import { retireEventsJob } from './retire-events.job.ts'

/** The log of every change and every refusal. Owners of an organization and site admins can read it. */
export const auditPlugin = definePlugin({
  id: 'audit',
  summary: 'The audit log: changes and refusals',
  listener: 'api',
  gate: 'always',
  needs: {
    events: AuditLogToken,
    retention: AuditRetentionToken,
    settings: AuditSettingsToken,
    key: KeyedDigestToken,
    clock: ClockToken,
    log: LogToken,
  },
  routes: auditRoutes,
  jobs: (given) => [retireEventsJob(given)],
})
