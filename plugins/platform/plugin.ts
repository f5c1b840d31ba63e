import { definePlugin } from '../kit/plugin.ts'
import { brandingGroup, marketplaceVersionGroup, siteGroup, versionGroup } from './platform.handlers.ts'
import { IdempotencyStorePort } from '../../core/kernel/idempotency.ts'
import { defineGroup } from '../kit/group.ts'

/** Removes idempotency records after 48 hours. */
const purgeIdempotencyRecords = defineGroup({
  needs: { records: IdempotencyStorePort },
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
