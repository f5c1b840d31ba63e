import { definePlugin } from '../kit/plugin.ts'
import { brandingRoutes, siteRoutes, versionRoutes } from './platform.handlers.ts'
import { platformNeeds } from './needs.ts'
import { purgeIdempotencyRecords } from './purge-idempotency.job.ts'

/** Information about the service, and its own housekeeping. */
export const platformPlugin = definePlugin({
  id: 'platform',
  summary: 'Version and limits of the API, appearance of the console, information for site administrators',
  listener: 'api',
  gate: 'always',
  needs: platformNeeds,
  routes: (given) => [...versionRoutes(), ...brandingRoutes(given), ...siteRoutes(given)],
  jobs: (given) => [purgeIdempotencyRecords(given.idempotency)],
})
