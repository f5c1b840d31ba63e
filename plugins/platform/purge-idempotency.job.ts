import { IdempotencyStoreToken } from '../../core/kernel/idempotency.ts'
import { defineGroup } from '../kit/group.ts'

/** Removes idempotency records after 48 hours. */
export const purgeIdempotencyRecords = defineGroup({
  needs: { records: IdempotencyStoreToken },
  jobs: ({ records }) => [
    {
      id: 'platform.purgeIdempotencyRecords',
      summary: 'Remove idempotency records older than 48 hours',
      everySeconds: 3600,
      run: async () => {
        await records.purge()
      },
    },
  ],
})
