import {
  fixedBytes,
  flag,
  instant,
  int,
  json,
  largeText,
  long,
  nullable,
  rowId,
  sealed,
  table,
  text,
} from '../kit/columns.ts'

export const idempotencyRecords = table('idempotency_records', {
  id: rowId(),
  keyHash: fixedBytes(32),
  requestHash: fixedBytes(32),
  state: text<'started' | 'applied' | 'answered'>(16),
  status: nullable(int()),
  headers: nullable(json<Readonly<Record<string, string>>>()),
  body: nullable(sealed()),
  createdAt: instant(),
  instanceId: nullable(text(36)),
})

export const leases = table('leases', {
  name: text(64),
  holder: text(64),
  fence: long(),
  until: instant(),
})

export const instances = table('instances', {
  id: text(36),
  beatAt: instant(),
  sealingKey: nullable(text(64)),
  newestKey: nullable(text(64)),
  version: nullable(text(32)),
  knownSchema: nullable(text(64)),
})

/**
 * The revisions of what decides access. A change sets those of the accounts that it is about to random numbers
 * (`tables/access.ts`).
 */
export const accessRevisions = table('access_revisions', {
  shard: int(),
  revision: long(),
})

export const siteSettings = table('site_settings', {
  name: text(64),
  value: text(255),
})

export const allowedDomains = table('allowed_domains', {
  domain: text(253),
})

export const branding = table('branding', {
  id: int(),
  logo: largeText(),
  favicon: largeText(),
  primaryColor: text(7),
  showAppTag: flag(),
  appName: text(64),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    kernel: typeof import('./kernel.ts')
  }
}
