import { EventReportsPort, UsageCredentialsPort } from '../../core/usage/events/reports.ts'
import { makeForReporters, UsageReportersPort } from '../../core/usage/events/intake.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { getUsageCredentials, reportUsageEvents } from './events.routes.ts'

/** Events that clusters report. */
export const usageEventGroup = defineGroup({
  needs: { credentials: UsageCredentialsPort, reporters: UsageReportersPort, reports: EventReportsPort },
  routes: ({ credentials, reporters, reports }) => {
    const forReporters = makeForReporters(reporters)
    return [
      handle(reportUsageEvents, forReporters(reports.recordFor), {
        input: ({ grant, body }) => ({ ownerId: grant.ownerId, clusterUid: body.clusterUID, events: body.events }),
        reply: (results) => ({
          results: results.map((result) => ({ reason: undefined, message: undefined, ...result })),
        }),
      }),
      handle(getUsageCredentials, forReporters(credentials.issue), {
        input: ({ call, grant }) => ({
          ownerId: grant.ownerId,
          login: grant.context.accountName,
          notAfter: call.principal.tokenExpiresAt,
        }),
        reply: ({ endpoints, file }) => ({ endpoints, credentials: btoa(String.fromCharCode(...file.reveal())) }),
      }),
    ]
  },
})
