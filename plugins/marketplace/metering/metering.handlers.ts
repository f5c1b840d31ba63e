import type * as t from 'io-ts'
import { left, right } from 'fp-ts/lib/Either.js'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { ReportCloudAPort } from '../../../core/marketplace/metering/cloud-a.ts'
import { ReportCloudCPort } from '../../../core/marketplace/metering/cloud-c.ts'
import { ReadMeteredMonthPort } from '../../../core/marketplace/metering/hours/metered-months.ts'
import { UsageInvalid, UsageLedgerPort } from '../../../core/marketplace/metering/ports.ts'
import type {
  MeterUsage,
  RecordedCall,
  RecordedUsage,
  RecordFilter,
  UsageReport,
} from '../../../core/marketplace/metering/types.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import type { CloudCUsageReport, MeteringCallRecord, MeteredUsageRecord, MeterUsageInput } from './codecs.ts'
import {
  getMonth,
  listCalls,
  listUsage,
  readyCloudA,
  readyCloudC,
  reportCloudA,
  reportCloudC,
} from './metering.routes.ts'

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
  needs: { reportCloudA: ReportCloudAPort, reportCloudC: ReportCloudCPort },
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

interface AskedRecord<Outcome extends string> {
  readonly subscription: string | undefined
  readonly since: Date | undefined
  readonly until: Date | undefined
  readonly outcome: Outcome | undefined
}
const filterOf = <Outcome extends string>(asked: AskedRecord<Outcome>): RecordFilter<Outcome> => {
  const { subscription: subscriptionRef, since, until, outcome } = asked
  return definedFields({ subscriptionRef, since, until, outcome })
}

/** Returns usage of the record as it is returned. */
const usageReply = (usage: RecordedUsage): t.TypeOf<typeof MeteredUsageRecord> => {
  const { key: usageId, subscriptionRef: subscriptionId, changedAt: lastChangedAt, ...rest } = usage
  return { ...rest, usageId, subscriptionId, lastChangedAt }
}
const callReply = (call: RecordedCall): t.TypeOf<typeof MeteringCallRecord> => {
  const { id: _, key: usageId, subscriptionRef: subscriptionId, at: calledAt, ...rest } = call
  return { ...rest, usageId, subscriptionId, calledAt }
}

/** The record of reports, for site admins. */
export const meteringRecordGroup = defineGroup({
  needs: { ledger: UsageLedgerPort, readMonth: ReadMeteredMonthPort },
  routes: ({ ledger, readMonth }) => [
    handle(getMonth, async (_call, { query }) => right(await readMonth(query.month)), {
      reply: (figures) => ({
        figures: figures.map(({ subscriptionRef: subscriptionId, ...rest }) => ({ subscriptionId, ...rest })),
      }),
    }),
    handle(listUsage, async (_call, { query, page }) => right(await ledger.listUsage(filterOf(query), page)), {
      reply: usageReply,
    }),
    handle(listCalls, async (_call, { query, page }) => right(await ledger.listCalls(filterOf(query), page)), {
      reply: callReply,
    }),
  ],
})
