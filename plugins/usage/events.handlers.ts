import { EventReportsToken } from '../../core/usage/events/reports.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { reportUsageEvents } from './events.routes.ts'

/** Events that clusters report. */
export const usageEventGroup = defineGroup({
  needs: { reports: EventReportsToken },
  routes: ({ reports }) => [
    handle(reportUsageEvents, reports.recordFor, {
      input: ({ grant, body }) => ({ ownerId: grant.ownerId, clusterUid: body.clusterUID, events: body.events }),
      reply: (results) => ({ results: results.map((result) => ({ reason: undefined, message: undefined, ...result })) }),
    }),
  ],
})
