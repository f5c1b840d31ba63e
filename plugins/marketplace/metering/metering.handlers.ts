import type * as t from 'io-ts'
import { left, right } from 'fp-ts/lib/Either.js'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { ReportCloudAToken } from '../../../core/marketplace/metering/cloud-a.ts'
import { ReportCloudCToken } from '../../../core/marketplace/metering/cloud-c.ts'
import { UsageInvalid } from '../../../core/marketplace/metering/ports.ts'
import type { MeterUsage, UsageReport } from '../../../core/marketplace/metering/types.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import type { CloudCUsageReport, MeterUsageInput } from './codecs.ts'
import { readyCloudA, readyCloudC, reportCloudA, reportCloudC } from './metering.routes.ts'

const usageOf = (sent: t.TypeOf<typeof MeterUsageInput>): MeterUsage => ({
  productCode: sent.ProductCode,
  timestamp: sent.Timestamp,
  dimension: sent.UsageDimension,
  isDryRun: sent.DryRun ?? false,
  quantity: sent.UsageQuantity,
  allocations: sent.UsageAllocations?.map(({ AllocatedUsageQuantity: quantity, Tags = [] }) => ({
    quantity,
    tags: Tags.map(({ Key: key, Value: value }) => ({ key, value })),
  })),
})

const valueOf = ({
  int64Value,
  doubleValue,
}: t.TypeOf<typeof CloudCUsageReport>['value']): UsageReport['value'] | undefined => {
  if (int64Value !== undefined) return { int64: int64Value }
  return doubleValue === undefined ? undefined : { double: doubleValue }
}

const isReady = async (): Outcome<never, void> => right(undefined)

/** The routes through which a vendor reports the usage of an installation. */
export const meteringGroup = defineGroup({
  needs: { reportCloudA: ReportCloudAToken, reportCloudC: ReportCloudCToken },
  routes: (given) => [
    handle(
      reportCloudA,
      ({ principal }: SignedInCall<never>, usage: MeterUsage) => given.reportCloudA(principal.login, usage),
      { input: ({ body }) => usageOf(body), reply: (recordId) => ({ MeteringRecordId: recordId }) },
    ),
    handle(readyCloudA, isReady),
    handle(
      reportCloudC,
      async (
        { principal }: SignedInCall<never>,
        { value, ...sent }: Omit<UsageReport, 'value'> & { readonly value: UsageReport['value'] | undefined },
      ) =>
        value === undefined
          ? left(UsageInvalid('The value must have an int64Value or a doubleValue.') satisfies Failure)
          : given.reportCloudC(principal.login, { ...sent, value }),
      {
        input: ({ body: { name = '', serviceName, dimension, startTime, endTime, labels = {}, value } }) => ({
          name,
          serviceName,
          dimension,
          start: startTime,
          end: endTime,
          labels,
          value: valueOf(value),
        }),
      },
    ),
    handle(readyCloudC, isReady),
  ],
})
