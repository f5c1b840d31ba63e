import { definePlugin } from '../kit/plugin.ts'
import { brandingGroup, marketplaceVersionGroup, siteGroup, versionGroup } from './platform.handlers.ts'
import { purgeIdempotencyRecords } from './purge-idempotency.job.ts'

/** Information about the service, and its own housekeeping. */
export const platformPlugin = definePlugin({
  id: 'platform',
  summary: 'Version and limits of the API, appearance of the console, information for site administrators',
  listener: 'api',
  gate: 'always',
  groups: [versionGroup, brandingGroup, siteGroup, purgeIdempotencyRecords],
})

/** The version, on the listener of notifications. */
export const platformVersionPlugin = definePlugin({
  id: 'platform-version',
  summary: 'Version of the service, for senders of notifications',
  listener: 'marketplace',
  gate: 'any-marketplace',
  groups: [marketplaceVersionGroup],
})
