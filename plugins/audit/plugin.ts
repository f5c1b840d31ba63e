import { AuditLogToken } from '../../core/audit/ports.ts'
import { definePlugin } from '../kit/plugin.ts'
import { auditRoutes } from './audit.handlers.ts'

/** The log of every change and every refusal, for owners of an organization and for site admins. */
export const auditPlugin = definePlugin({
  id: 'audit',
  summary: 'Who changed what, and who was refused',
  listener: 'api',
  gate: 'always',
  needs: { log: AuditLogToken },
  routes: auditRoutes,
})
