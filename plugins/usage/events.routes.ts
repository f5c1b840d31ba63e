import { UsageClusterUnknown, UsageEventsInvalid } from '../../core/usage/events/ports.ts'
import { path, requires } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body } from '../kit/route.ts'
import { routesOf } from '../kit/shared-route.ts'
import { reportExample, resultsExample, UsageEventReport, UsageEventResults, UsageOwnerPath } from './event-codecs.ts'

const route = routesOf({ tag: 'Billing Dashboard', scopeCategory: 'billing', params: UsageOwnerPath })

export const reportUsageEvents = route({
  id: 'usage.reportEvents',
  method: 'POST',
  path: '/usage/{owner}/events',
  summary: 'Report what happened to objects of a cluster',
  description:
    'Up to 1,000 events of one cluster. The response has one result for each event, in order: an event that is refused changes nothing and does not concern the others. Events may be repeated and may arrive in any order, up to 35 days after their time. The account must have a record of the cluster, or a contract to which it is bound.',
  access: requires('can_report_usage', { type: 'account', name: path('owner') }),
  body: body(UsageEventReport, reportExample, { limitBytes: 2 * 1024 * 1024 }),
  ok: json(200, UsageEventResults, resultsExample),
  failures: [UsageClusterUnknown, UsageEventsInvalid],
})
