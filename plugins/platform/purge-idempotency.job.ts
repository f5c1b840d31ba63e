import type { IdempotencyStore } from '../../core/kernel/idempotency.ts'
import type { Job } from '../kit/job.ts'

/** Drops idempotency records whose 48 hours are over. */
export const purgeIdempotencyRecords = (records: Pick<IdempotencyStore, 'purge'>): Job => ({
  id: 'platform.purgeIdempotencyRecords',
  summary: 'Drop idempotency records older than 48 hours',
  everySeconds: 3600,
  run: async () => {
    await records.purge()
  },
})
