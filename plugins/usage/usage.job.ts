import { ClockPort } from '../../core/kernel/clock.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { UsageClusterStorePort, UsageRetentionPort, UsageUpkeepUnitOfWorkPort } from '../../core/usage/events/ports.ts'
import { makeCarryIntervals, makeCutSilentObjects, makeExpireUsage } from '../../core/usage/events/upkeep.ts'
import { laterByMonths, monthOf, secondOf } from '../../core/usage/month.ts'
import { CloseMonthPort, makeCloseDueMonths } from '../../core/usage/months/close.ts'
import { ConsumptionUnitOfWorkPort, makeUpdateConsumption } from '../../core/usage/months/consumption.ts'
import { makePublishFinalMonths } from '../../core/usage/final-months/final-months.ts'
import { FinalMonthBusPort, FinalMonthOutboxPort } from '../../core/usage/final-months/ports.ts'
import { ConsumptionStorePort, MonthStorePort, UsageInputsPort } from '../../core/usage/months/ports.ts'
import { defineGroup } from '../kit/group.ts'

/** As many instances share the owners whose months are due. Each month has a lease of its own. */
const runs = [1, 2]

/** Closes months, and computes what contracts have used in the current one. */
export const usageMonthsGroup = defineGroup({
  needs: {
    bus: FinalMonthBusPort,
    clock: ClockPort,
    close: CloseMonthPort,
    consumption: ConsumptionStorePort,
    entropy: EntropyPort,
    inputs: UsageInputsPort,
    log: LogPort,
    months: MonthStorePort,
    outbox: FinalMonthOutboxPort,
    unitOfWork: ConsumptionUnitOfWorkPort,
  },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const closeDue = makeCloseDueMonths({
      ...given,
      onFailure: ({ ownerId, month }, error) =>
        given.log.error({ account: ownerId, month, error }, 'a month of usage was not closed'),
    })
    const update = makeUpdateConsumption(given)
    const closing = runs.map((run) => ({
      id: `usage.closeMonths.${run}`,
      summary: 'Compute the usage of months that have ended, and publish it',
      everySeconds: 600,
      run: (signal: AbortSignal) => closeDue(ownCall(`usage.closeMonths.${run}`, signal)),
    }))
    return [
      ...closing,
      {
        id: 'usage.publishFinalMonths',
        summary: 'Tell the message bus which months have become final',
        everySeconds: 60,
        run: makePublishFinalMonths(given),
      },
      {
        id: 'usage.updateConsumption',
        summary: 'Compute what contracts with a quota have used in this month, and mail when a threshold is reached',
        everySeconds: 3600,
        run: (signal) => update(ownCall('usage.updateConsumption', signal)),
      },
    ]
  },
})

/** What keeps the tables of events in order. */
export const usageUpkeepGroup = defineGroup({
  needs: {
    clock: ClockPort,
    clusters: UsageClusterStorePort,
    entropy: EntropyPort,
    retention: UsageRetentionPort,
    unitOfWork: UsageUpkeepUnitOfWorkPort,
  },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const carry = makeCarryIntervals(given)
    const cutSilent = makeCutSilentObjects(given)
    return [
      {
        id: 'usage.carryIntervals',
        summary: 'Continue the intervals of objects that exist in a new month, and keep the names of clusters',
        everySeconds: 600,
        run: async (signal) => {
          await carry(ownCall('usage.carryIntervals', signal))
          await given.clusters.keepNames()
        },
      },
      {
        id: 'usage.cutSilentObjects',
        summary:
          'End the intervals of objects that were not heard for a day while their cluster was, in this ' +
          'month and the last',
        everySeconds: 3600,
        run: async (signal) => {
          const call = ownCall('usage.cutSilentObjects', signal)
          const month = monthOf(secondOf(given.clock.now()))
          for (const each of [laterByMonths(month, -1), month]) await cutSilent(call, each)
        },
      },
      {
        id: 'usage.expire',
        summary: 'Prepare the tables of the next months; remove intervals after 14 months and conflicts after 35 days',
        everySeconds: 6 * 3600,
        run: makeExpireUsage(given),
      },
    ]
  },
})
