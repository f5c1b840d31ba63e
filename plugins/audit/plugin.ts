import { definePlugin } from '../kit/plugin.ts'
import { auditGroup } from './audit.handlers.ts'
import { retireEvents } from './retire-events.job.ts'

/** The log of every change and every refusal. Owners of an organization and site admins can read it. */
export const auditPlugin = definePlugin({
  id: 'audit',
  summary: 'The audit log: changes and refusals',
  listener: 'api',
  gate: 'always',
  groups: [auditGroup, retireEvents],
})
