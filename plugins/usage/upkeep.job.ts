import { ClockToken } from '../../core/kernel/clock.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import { UsageClusterStoreToken, UsageRetentionToken, UsageUpkeepUnitOfWorkToken } from '../../core/usage/events/ports.ts'
import { makeCarryIntervals, makeCutSilentObjects, makeExpireUsage } from '../../core/usage/events/upkeep.ts'
import { laterByMonths, monthOf, secondOf } from '../../core/usage/month.ts'
import { defineGroup } from '../kit/group.ts'

/** What keeps the tables of events in order. */
export const usageUpkeepGroup = defineGroup({
  needs: { clock: ClockToken, clusters: UsageClusterStoreToken, entropy: EntropyToken, retention: UsageRetentionToken, unitOfWork: UsageUpkeepUnitOfWorkToken },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const carry = makeCarryIntervals(given)
    const cutSilent = makeCutSilentObjects(given)
    return [
      {
        id: 'usage.carryIntervals',
        summary: 'Continue the intervals of objects that exist in a new month',
        everySeconds: 600,
        run: (signal) => carry(ownCall('usage.carryIntervals', signal)),
      },
      {
        id: 'usage.cutSilentObjects',
        summary: 'End the intervals of objects that were not heard for a day while their cluster was, in this month and the last',
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
