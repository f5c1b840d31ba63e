import { ClockToken } from '../../core/kernel/clock.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import { CloseMonthToken } from '../../core/usage/months/close.ts'
import { ConsumptionUnitOfWorkToken, makeUpdateConsumption } from '../../core/usage/months/consumption.ts'
import { makeCloseDueMonths } from '../../core/usage/months/due-months.ts'
import { ConsumptionStoreToken, MonthStoreToken, UsageInputsToken } from '../../core/usage/months/ports.ts'
import { defineGroup } from '../kit/group.ts'

/** As many instances share the owners whose months are due. Each month has a lease of its own. */
const runs = [1, 2]

/** Closes months, and computes what contracts have used in the current one. */
export const usageMonthsGroup = defineGroup({
  needs: {
    clock: ClockToken,
    close: CloseMonthToken,
    consumption: ConsumptionStoreToken,
    entropy: EntropyToken,
    inputs: UsageInputsToken,
    log: LogToken,
    months: MonthStoreToken,
    unitOfWork: ConsumptionUnitOfWorkToken,
  },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const closeDue = makeCloseDueMonths({ ...given, onFailure: ({ ownerId, month }, error) => given.log.error({ account: ownerId, month, error }, 'a month of usage was not closed') })
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
        id: 'usage.updateConsumption',
        summary: 'Compute what contracts with a quota have used in this month, and mail when a threshold is reached',
        everySeconds: 3600,
        run: (signal) => update(ownCall('usage.updateConsumption', signal)),
      },
    ]
  },
})
