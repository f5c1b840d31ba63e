import { DocumentRemovalsToken, DocumentStoreToken } from '../../core/contracts/document-ports.ts'
import { makeRemoveDocuments } from '../../core/contracts/documents.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { defineGroup } from '../kit/group.ts'

/** Removes documents that no contract has: of uploads that were cut off, and those that the store could not remove before. */
export const documentRemovalGroup = defineGroup({
  needs: { clock: ClockToken, documents: DocumentStoreToken, log: LogToken, removals: DocumentRemovalsToken },
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
