import { DocumentRemovalsPort, DocumentStorePort, ContractUnitOfWorkPort } from '../../core/contracts/ports.ts'
import { makeRemoveDocuments } from '../../core/contracts/documents.ts'
import { makeRemindOfEnds } from '../../core/contracts/contracts.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'

/**
 * Removes documents that no contract has: of uploads that were cut off, and those that the store could not remove
 * before.
 */
export const documentRemovalGroup = defineGroup({
  needs: { clock: ClockPort, documents: DocumentStorePort, log: LogPort, removals: DocumentRemovalsPort },
  jobs: (given) => {
    const remove = makeRemoveDocuments(given)
    return [
      {
        id: 'contracts.removeDocuments',
        summary: 'Remove documents from the store that no contract has',
        everySeconds: 3600,
        run: async (signal) => {
          await remove(signal)
        },
      },
    ]
  },
})

const id = 'contracts.remindOfEnds'

/** Mails the people of a contract 45 and 10 days before its end. */
export const reminderGroup = defineGroup({
  needs: { clock: ClockPort, entropy: EntropyPort, unitOfWork: ContractUnitOfWorkPort },
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
