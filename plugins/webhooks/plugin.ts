import { definePlugin } from '../kit/plugin.ts'
import { orgWebhookGroup, siteWebhookGroup } from './webhooks.handlers.ts'
import { eventTypeGroup, sendingGroup } from './webhooks.job.ts'

export const webhooksPlugin = definePlugin({
  id: 'webhooks',
  summary: 'Events for other systems, sent to webhooks of organizations and of the site',
  listener: 'api',
  gate: 'always',
  groups: [eventTypeGroup, orgWebhookGroup, siteWebhookGroup, sendingGroup],
})
