import type { IdempotencyStore } from '../../core/kernel/idempotency.ts'
import type { Job } from '../kit/job.ts'

/** Removes idempotency records after 48 hours. */
export const purgeIdempotencyRecords = (records: Pick<IdempotencyStore, 'purge'>): Job => ({
  id: 'platform.purgeIdempotencyRecords',
  summary: 'Remove idempotency records older than 48 hours',
  everySeconds: 3600,
  run: async () => {
    await records.purge()
  },
})
