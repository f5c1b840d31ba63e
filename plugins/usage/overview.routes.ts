import { UsageMonthBusy, UsageMonthMissing, UsageMonthNotClosable } from '../../core/usage/months/ports.ts'
import { query, requires, siteAdmin } from '../kit/access.ts'
import { json, packed } from '../kit/reply.ts'
import { routesOf } from '../kit/route.ts'
import {
  ChangedMonth,
  changedExample,
  CloseQuery,
  Customers,
  customersExample,
  GeneratedDates,
  generatedExample,
  intakeExample,
  IntakeQuery,
  IntakeSums,
  refusedExample,
  RefusedEvents,
  ReopenQuery,
  runningExample,
  RunningMonthFigures,
} from './overview-codecs.ts'
import { InAccount, MonthPath } from './view-codecs.ts'

/** Site admins alone hold the relation. */
const route = routesOf({
  tag: 'Billing Dashboard',
  scopeCategory: 'billing',
  access: requires('can_view_usage_analytics', { type: 'account', name: query('org') }),
})

export const listGeneratedMonths = route({
  id: 'usage.listGeneratedMonths',
  method: 'GET',
  path: '/dashboard/summary/generated-months',
  summary: 'List the months of which reports were generated',
  description:
    'Years and months ascend. A month is generated on the first day of the next one, and is final 72 hours later.',
  query: InAccount,
  ok: json(200, GeneratedDates, generatedExample),
})

export const listIntake = route({
  id: 'usage.listIntake',
  method: 'GET',
  path: '/dashboard/summary/intake',
  summary: 'Get how many events of each cluster arrived on each day',
  description:
    'By day and cluster, ascending. Events of the last minute may be missing, and those of the last minute ' +
    'before an instance of the service was killed are lost. Reports of a cluster that is not known are not counted.',
  query: IntakeQuery,
  ok: packed(json(200, IntakeSums, intakeExample)),
})

export const listRefusedEvents = route({
  id: 'usage.listRefusedEvents',
  method: 'GET',
  path: '/dashboard/summary/refused-events',
  summary: 'List events that were refused, the newest first',
  description:
    'At most 1,000, of the last 35 days. Of one cluster, 20 in a minute are kept; the sums of ' +
    '`/dashboard/summary/intake` have them all.',
  query: InAccount,
  ok: json(200, RefusedEvents, refusedExample),
})

export const getRunningMonth = route({
  id: 'usage.getRunningMonth',
  method: 'GET',
  path: '/dashboard/summary/running-month',
  summary: 'Get what was billed to each contract in this month so far',
  description:
    'The figures are provisional, as of `computedAt`. Those of an account with at most 20,000 objects are computed ' +
    'when they are read, once in five minutes. Those of a larger one are computed each hour; a contract of which ' +
    'nothing was computed yet is left out.',
  query: InAccount,
  ok: packed(json(200, RunningMonthFigures, runningExample)),
})

const changeRoute = routesOf({
  tag: 'Billing Dashboard',
  scopeCategory: 'billing',
  access: requires('can_view_usage_analytics', { type: 'account', name: query('org') }),
  params: MonthPath,
  failures: [UsageMonthNotClosable, UsageMonthBusy, UsageMonthMissing],
})

export const closeMonth = changeRoute({
  id: 'usage.closeMonth',
  method: 'POST',
  path: '/dashboard/summary/{year}/{month}/close',
  summary: 'Compute a month of an account now',
  description:
    'A month can be closed from 00:30 UTC of the next one on. The answer comes after the month is ' +
    'published, which takes minutes for a large one. A client that leaves does not end the work: ' +
    '`generated-months` shows the result.',
  query: CloseQuery,
  badPathAs: 400,
  ok: json(200, ChangedMonth, changedExample),
})

export const reopenMonth = changeRoute({
  id: 'usage.reopenMonth',
  method: 'POST',
  path: '/dashboard/summary/{year}/{month}/reopen',
  summary: 'Compute a final month of an account again, as a new revision',
  description:
    'The new revision is provisional, and final 72 hours later. The old one remains readable with `revision`.',
  query: ReopenQuery,
  badPathAs: 400,
  ok: json(200, ChangedMonth, changedExample),
})

const siteRoute = routesOf({ tag: 'Billing Dashboard', scopeCategory: 'billing', access: siteAdmin })

export const listCustomers = siteRoute({
  id: 'usage.listCustomers',
  method: 'GET',
  path: '/dashboard/summary/{year}/{month}/customers',
  summary: 'Get a month of all accounts',
  description:
    'Accounts with a report of the month, by name, with the totals of the newest revision of each. ' +
    'Products without objects are left out.',
  params: MonthPath,
  badPathAs: 400,
  ok: packed(json(200, Customers, customersExample)),
})
