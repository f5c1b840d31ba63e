import { ClockToken, laterByDays } from '../../core/kernel/clock.ts'
import { UsageLedgerToken } from '../../core/metering/ports.ts'
import { defineGroup } from '../kit/group.ts'

/** Longer than any provider takes usage, and than the books of a year are open. */
const keptDays = 800
const slice = 500

/** What keeps the record of reports small. */
export const meteringUpkeepGroup = defineGroup({
  needs: { clock: ClockToken, ledger: UsageLedgerToken },
  jobs: ({ clock, ledger }) => [
    {
      id: 'metering.expire',
      summary: `Remove the record of usage that was reported more than ${keptDays} days ago`,
      everySeconds: 6 * 3600,
      run: async () => void (await ledger.removeBefore(laterByDays(clock.now(), -keptDays), slice)),
    },
  ],
})
