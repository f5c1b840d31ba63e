import { defineSample, refusedFor } from '../support/part-sample.ts'

/** Nothing in a tenant. */
export const sample = defineSample({
  part: 'platform',
  make: async () => undefined,
  bodies: { 'platform.changeBranding': () => ({ own: { appName: 'Changed' } }) },
  sharedTables: {
    branding: 'the look of the site',
    site_settings: 'settings of the site',
    idempotency_records: 'answers to keys, by digests of the key and of who sent it',
    access_revisions: 'revisions of what decides access, of shards of all accounts',
    instances: 'the instances of the service',
    leases: 'which instance runs a job',
    schema_lock: 'migrations',
    schema_migrations: 'migrations',
    schema_steps: 'migrations',
    sqlite_sequence: 'the last ids, of SQLite',
  },
  refusedToOwner: {
    ...refusedFor('for site admins', ['platform.changeBranding', 'platform.getSiteSummary', 'platform.getSiteConfig']),
  },
})
