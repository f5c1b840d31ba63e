import { EventReportsToken } from '../../core/usage/events/reports.ts'
import { BusToken } from '../../core/bus/bus.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { getUsageCredentials, reportUsageEvents } from './events.routes.ts'

const lifeSeconds = 24 * 3600

/** Events that clusters report. */
export const usageEventGroup = defineGroup({
  needs: { bus: BusToken, reports: EventReportsToken },
  routes: ({ bus, reports }) => [
    handle(reportUsageEvents, reports.recordFor, {
      input: ({ grant, body }) => ({ ownerId: grant.ownerId, clusterUid: body.clusterUID, events: body.events }),
      reply: (results) => ({ results: results.map((result) => ({ reason: undefined, message: undefined, ...result })) }),
    }),
    handle(getUsageCredentials, bus.issue, {
      input: ({ call, grant }) => ({ ownerId: grant.ownerId, login: grant.context.accountName, purpose: 'usage' as const, lifeSeconds, notAfter: call.principal.tokenExpiresAt }),
      reply: ({ endpoints, file }) => ({ endpoints, credentials: btoa(String.fromCharCode(...file.reveal())) }),
    }),
  ],
})
