import { ContractUnitOfWorkToken } from '../../core/contracts/ports.ts'
import { makeRemindOfEnds } from '../../core/contracts/reminders.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'

const id = 'contracts.remindOfEnds'

/** Mails the people of a contract 45 and 10 days before its end. */
export const reminderGroup = defineGroup({
  needs: { clock: ClockToken, entropy: EntropyToken, unitOfWork: ContractUnitOfWorkToken },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const remind = makeRemindOfEnds(given)
    return [
      {
        id,
        summary: 'Remind the people of contracts by mail 45 and 10 days before the end',
        everySeconds: 3600,
        run: async (signal) => {
          const call = ownCall(id, signal)
          while (!signal.aborted && (await remind(call)) > 0);
        },
      },
    ]
  },
})
