import {
  fixedBytes,
  flag,
  instant,
  int,
  json,
  long,
  nullable,
  rowId,
  sealed,
  table,
  text,
  withDefault,
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
  raisesAccess: withDefault(flag()),
})

/**
 * The revisions of what decides access. A change sets those of the accounts that it is about to random numbers
 * (`tables/access.ts`).
 */
export const accessRevisions = table('access_revisions', {
  shard: int(),
  revision: long(),
})
