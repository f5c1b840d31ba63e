import { MeteringFailed, UsageInvalid, UsageOverlaps, UsageRefused } from '../../../core/marketplace/metering/ports.ts'
import { siteAdmin } from '../../kit/access.ts'
import { FreeObjectCodec } from '../../kit/codecs.ts'
import { empty, json } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { CloudCUsageReport, MeterUsageInput, MeterUsageOutput } from './codecs.ts'

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
  failures: [UsageRefused, MeteringFailed],
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
  failures: [MeteringFailed, UsageInvalid, UsageOverlaps],
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
