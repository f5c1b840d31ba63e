import { UsageClusterUnknown, UsageEventsInvalid } from '../../core/usage/events/ports.ts'
import { UsageReporterRefused } from '../../core/usage/events/intake.ts'
import { BusHasNoCredentials, BusRefused } from '../../core/bus/ports.ts'
import { path, requires, write } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  credentialsExample,
  reportExample,
  resultsExample,
  UsageEventReport,
  UsageBusCredentials,
  UsageEventResults,
  UsageOwnerPath,
} from './codecs.ts'

const route = routesOf({ tag: 'Billing Dashboard', scopeCategory: 'billing', params: UsageOwnerPath })

export const reportUsageEvents = route({
  id: 'usage.reportEvents',
  method: 'POST',
  path: '/usage/{owner}/events',
  summary: 'Report what happened to objects of a cluster',
  description:
    'Up to 1,000 events of one cluster. The response has one result for each event, in order: an event ' +
    'that is refused changes nothing and does not concern the others. Events may be repeated and may ' +
    'arrive in any order, up to 35 days after their time. The account must have a record of the cluster, ' +
    'or a contract to which it is bound. The caller is a robot account: people are refused with 403, ' +
    'unless the setting MOORAGE_USAGE_REPORTERS allows them.',
  access: requires('can_report_usage', { type: 'account', name: path('owner') }),
  body: body(UsageEventReport, reportExample, { limitBytes: 2 * 1024 * 1024 }),
  ok: json(200, UsageEventResults, resultsExample),
  failures: [UsageClusterUnknown, UsageEventsInvalid, UsageReporterRefused],
})

export const getUsageCredentials = route({
  id: 'usage.getBusCredentials',
  method: 'GET',
  path: '/usage/{owner}/bus-credentials',
  summary: 'Issue credentials with which a program reports events on the message bus',
  description:
    'They allow to publish on the subject `usage.events` of the account, and nothing else. A message is ' +
    'the body of `POST /usage/{owner}/events`; the bus confirms it once it is stored. The credentials are ' +
    'valid for a day, and not longer than the token that requests them. They are issued to robot accounts, ' +
    'as reports are taken from them. An account has at most 20 of them; one more revokes the oldest. ' +
    'Returns 404 with the code BusHasNoCredentials if messages stay inside the process, and 503 while the ' +
    'bus is unavailable.',
  access: requires('can_report_usage', { type: 'account', name: path('owner') }),
  // A GET that issues credentials requires the write level.
  scope: write('billing'),
  refusesSudo: true,
  ok: json(200, UsageBusCredentials, credentialsExample),
  failures: [BusHasNoCredentials, BusRefused, UsageReporterRefused],
})
