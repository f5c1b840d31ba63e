import {
  MeteringFailed,
  MeteringThrottled,
  UsageInvalid,
  UsageOverlaps,
  UsageRefused,
} from '../../../core/marketplace/metering/ports.ts'
import { siteAdmin } from '../../kit/access.ts'
import { FreeObjectCodec } from '../../kit/codecs.ts'
import { empty, json, list, packed } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import {
  CloudCUsageReport,
  MeteredMonthFigures,
  MeteredMonthQuery,
  MeteredUsageQuery,
  MeteredUsageRecord,
  MeteringCallQuery,
  MeteringCallRecord,
  MeterUsageInput,
  MeterUsageOutput,
} from './codecs.ts'

const route = routesOf({ tag: 'Metered Billing', access: siteAdmin, scopeCategory: 'marketplace' })
const prefix = '/proxy/metered-billing/marketplaces'

const repeats =
  'The same usage may be sent again, for example after a failure: it is billed once, and usage that was accepted is ' +
  'answered from the record. '

export const reportCloudA = route({
  id: 'metering.reportCloudA',
  method: 'POST',
  path: `${prefix}/cloudA/report-usage`,
  summary: 'Report the usage of an hour to the marketplace of cloud A',
  description:
    `${repeats}The service sends the request with the credentials of the instance or the pod on which it runs. A ` +
    'refusal has the code of the provider.',
  gate: 'cloud-a-marketplace',
  dialect: 'metering',
  body: body(
    MeterUsageInput,
    { ProductCode: 'product-1', Timestamp: '2026-11-21T08:00:00Z', UsageDimension: 'nodes', UsageQuantity: 3 },
    { malformedAs: 422 },
  ),
  ok: json(200, MeterUsageOutput, { MeteringRecordId: '8c1a3f6e-5d0b-4f6e-9d3c-5b8a1d2e7f40' }),
  failures: [UsageRefused, MeteringFailed, MeteringThrottled],
})

export const readyCloudA = route({
  id: 'metering.readyCloudA',
  method: 'GET',
  path: `${prefix}/cloudA/check/readiness`,
  summary: 'Check that usage for the marketplace of cloud A can be sent here',
  description: 'Returns 200 to a site admin. The provider is not asked.',
  gate: 'cloud-a-marketplace',
  dialect: 'metering',
  ok: empty(200, 'Ready, no body'),
})

export const reportCloudC = route({
  id: 'metering.reportCloudC',
  method: 'POST',
  path: `${prefix}/cloudC/report-usage`,
  summary: 'Report usage to the marketplace of cloud C',
  description:
    `${repeats}Returns the answer of the provider. An answer with \`reportErrors\` means that the usage is not ` +
    'recorded. Other usage of the same metric and labels for a part of the same time is refused.',
  gate: 'cloud-c-marketplace',
  dialect: 'metering',
  body: body(
    CloudCUsageReport,
    {
      serviceName: 'product.endpoints.vendor-1.cloud.goog',
      dimension: 'nodes',
      startTime: '2026-11-21T08:00:00Z',
      endTime: '2026-11-21T09:00:00Z',
      labels: { cluster: 'harbour' },
      value: { int64Value: '150' },
    },
    { malformedAs: 422 },
  ),
  ok: json(200, FreeObjectCodec, { serviceConfigId: '2026-11-20r0' }),
  failures: [MeteringFailed, MeteringThrottled, UsageInvalid, UsageOverlaps],
})

export const readyCloudC = route({
  id: 'metering.readyCloudC',
  method: 'GET',
  path: `${prefix}/cloudC/check/readiness`,
  summary: 'Check that usage for the marketplace of cloud C can be sent here',
  description: 'Returns 200 to a site admin. The provider is not asked.',
  gate: 'cloud-c-marketplace',
  dialect: 'metering',
  ok: empty(200, 'Ready, no body'),
})

const usageExample = {
  usageId: '2ab7c3c0-51c1-5b0e-8f63-0a4c5b9f2d11',
  cloud: 'cloudA',
  subscriptionId: '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44',
  product: 'product-1',
  dimension: 'nodes',
  quantity: '3',
  consumer: '',
} as const

export const listUsage = route({
  id: 'metering.listUsage',
  method: 'GET',
  path: '/dashboard/marketplaces/metering/usage',
  summary: 'List the usage that was reported to the marketplace',
  description: 'The newest first. The record goes back 800 days.',
  query: MeteredUsageQuery,
  ok: packed(
    list(MeteredUsageRecord, {
      ...usageExample,
      start: '2026-11-21T08:00:00.000Z',
      end: '2026-11-21T09:00:00.000Z',
      state: 'accepted',
      answer: '8c1a3f6e-5d0b-4f6e-9d3c-5b8a1d2e7f40',
      lastChangedAt: '2026-11-21T09:10:02.120Z',
    }),
  ),
})

export const listCalls = route({
  id: 'metering.listCalls',
  method: 'GET',
  path: '/dashboard/marketplaces/metering/calls',
  summary: 'List the calls that reported usage to the marketplace',
  description: 'The newest first. The record goes back 800 days.',
  query: MeteringCallQuery,
  ok: list(MeteringCallRecord, {
    ...usageExample,
    calledAt: '2026-11-21T09:10:02.120Z',
    askedBy: 'metering.reportHours',
    outcome: 'accepted',
    code: '',
    answer: '8c1a3f6e-5d0b-4f6e-9d3c-5b8a1d2e7f40',
    attempts: 1,
    milliseconds: 121,
  }),
})

export const getMonth = route({
  id: 'metering.getMonth',
  method: 'GET',
  path: '/dashboard/marketplaces/metering/month',
  summary: 'Get what was used, metered and lost in a month',
  description:
    'For each subscription and dimension that this deployment reports by itself, also of usage that arrived after ' +
    'its hour was reported. What is less than one unit at the end of a month counts in the next.',
  query: MeteredMonthQuery,
  ok: json(200, MeteredMonthFigures, {
    figures: [
      {
        subscriptionId: usageExample.subscriptionId,
        dimension: 'core_hours',
        used: 724.5,
        metered: 720,
        lost: 2.5,
        waiting: 2,
      },
    ],
  }),
})
