import { IdempotencyStoreToken } from '../../core/kernel/idempotency.ts'
import { definePlugin } from '../kit/plugin.ts'
import { purgeIdempotencyRecords } from './purge-idempotency.job.ts'
import { versionRoutes } from './version.handlers.ts'

/** What the service says about itself, and its own housekeeping. */
export const platformPlugin = definePlugin({
  id: 'platform',
  summary: 'Version and limits of the interface',
  listener: 'api',
  gate: 'always',
  needs: { idempotency: IdempotencyStoreToken },
  routes: versionRoutes,
  jobs: (given) => [purgeIdempotencyRecords(given.idempotency)],
})
