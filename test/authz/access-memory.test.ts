import test from 'ava'
import * as fc from 'fast-check'
import {
  makeAccessMemory,
  noAccessMemory,
  rememberCredentials,
  rememberFacts,
} from '../../adapters/sql/authz/access-memory.ts'
import { makeAccessRevisions } from '../../adapters/sql/authz/access-revisions.ts'
import { makeSqlAuthorizationFacts } from '../../adapters/sql/authz/authorization-facts.ts'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { makeSqlCredentialStore } from '../../adapters/sql/identity/credential-store.ts'
import { isForeignKeyViolation } from '../../adapters/sql/kit/driver-errors.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { everyoneShard, shardOf } from '../../adapters/sql/tables/access.ts'
import { sha256TokenDigest } from '../../adapters/security/digests.ts'
import { lruCaches } from '../../adapters/system/lru-caches.ts'
import { makeAuthenticator } from '../../core/identity/authentication/authenticator.ts'
import type { CredentialStore, TokenGrant } from '../../core/identity/ports.ts'
import type { ObjectLocator } from '../../core/kernel/access.ts'
import type { TokenId, UserId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { AccessMoment } from '../../core/kernel/principal.ts'
import { eachDatabase, migratedSqlitePath } from '../support/databases.ts'
import { objectRows } from '../support/object-rows.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { repeats } from '../support/thorough.ts'
import { clusterNameOf, nameOf } from './account-names.ts'
import { catalogue } from './catalogue.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'

const created_at = 1_750_000_000_000

const tokenId = 5 as TokenId
const grantOf = (changes: Partial<TokenGrant> = {}): TokenGrant => ({
  account: { userId: 1 as UserId, login: 'ada', isSiteAdmin: false, isEnabled: true, mustChangePassword: false },
  tokenId,
  scopeWords: ['all'],
  onlyOrgId: undefined,
  createdAt: new Date(created_at),
  expiresAt: undefined,
  lastUsedAt: new Date(created_at),
  ...changes,
})

const momentOf = (revision: number): AccessMoment => ({ revisions: Array.from({ length: 70 }, () => revision) })

/** A store that counts its reads, with a memory in front of it. */
const counted = (grant: () => Promise<TokenGrant | undefined>, moment: () => AccessMoment | undefined) => {
  const seen = { reads: 0 }
  const store = {
    tokenByHash: async () => {
      seen.reads += 1
      return grant()
    },
  } as unknown as CredentialStore
  const memory = makeAccessMemory(async () => moment(), lruCaches)
  let isMarked = true
  const remembered = rememberCredentials(store, memory, (at) => at !== undefined && isMarked)
  return {
    seen,
    remembered,
    ask: (byte = 1) => remembered.tokenByHash(new Uint8Array(32).fill(byte)),
    minutePasses: () => void (isMarked = false),
  }
}

test('a token is read once until a revision that it depends on changes', async (t) => {
  let moment = momentOf(1)
  const { seen, ask } = counted(
    async () => grantOf(),
    () => moment,
  )
  for (let round = 0; round < 3; round += 1) t.is((await ask())?.tokenId, tokenId)
  t.is(seen.reads, 1)
  const raised = (shard: number): AccessMoment => ({ revisions: moment.revisions.with(shard, Math.random()) })
  moment = raised(shardOf(2))
  await ask()
  t.is(seen.reads, 1)
  moment = raised(shardOf(1))
  await ask()
  t.is(seen.reads, 2)
  moment = raised(everyoneShard)
  await ask()
  await ask()
  t.is(seen.reads, 3)
})

test('a value that changes during its read is read again', async (t) => {
  let [revision, isRevoked] = [1, false]
  const { seen, ask } = counted(
    async () => {
      const grant = isRevoked ? undefined : grantOf()
      // The change is committed after the row was read, and before the answer arrives.
      if (seen.reads === 1) [revision, isRevoked] = [2, true]
      return grant
    },
    () => momentOf(revision),
  )
  t.not(await ask(), undefined)
  t.is(await ask(), undefined)
})

test('unknown tokens and disabled accounts are not cached', async (t) => {
  for (const grant of [undefined, grantOf({ account: { ...grantOf().account, isEnabled: false } })]) {
    const { seen, ask } = counted(
      async () => grant,
      () => momentOf(1),
    )
    await ask()
    await ask()
    t.is(seen.reads, 2)
  }
})

test('whether a token must be marked as used is judged by its row', async (t) => {
  const { seen, ask, minutePasses } = counted(
    async () => grantOf(),
    () => momentOf(1),
  )
  await ask()
  await ask()
  t.is(seen.reads, 1)
  minutePasses()
  await ask()
  await ask()
  t.is(seen.reads, 3)
})

test('a token that is remembered ends at its expiry, without a read', async (t) => {
  let now = new Date(created_at)
  const expiresAt = new Date(created_at + 30_000)
  const { seen, remembered } = counted(
    async () => grantOf({ expiresAt }),
    () => momentOf(1),
  )
  const authenticator = makeAuthenticator({
    credentials: remembered,
    digest: sha256TokenDigest,
    clock: { now: () => now },
    caches: lruCaches,
  } as unknown as Parameters<typeof makeAuthenticator>[0])
  const ask = () => authenticator.authenticate({ kind: 'token', token: secret('a'.repeat(40)) }, undefined, '192.0.2.1')
  t.is(unwrap(await ask()).tokenId, tokenId)
  now = new Date(expiresAt.getTime() - 1)
  t.is(unwrap(await ask()).tokenId, tokenId)
  now = expiresAt
  t.is(tagOf(await ask()), 'NotAuthenticated')
  t.is(seen.reads, 1)
})

test('nothing is remembered where no revision is known', async (t) => {
  const { seen, ask } = counted(
    async () => grantOf(),
    () => undefined,
  )
  await ask()
  await ask()
  t.is(seen.reads, 2)
  t.is(await noAccessMemory.moment(), undefined)
})

test('the memory is bounded, and the least recently used goes first', (t) => {
  const memory = makeAccessMemory(async () => momentOf(1), lruCaches).remember<{ readonly n: number }>(100_000)
  for (let n = 0; n < 10_000; n += 1) memory.keep(`key ${n}`, momentOf(1), { n }, { shards: [1], size: 1000 })
  const kept = Array.from({ length: 10_000 }, (_, n) => n).filter((n) => memory.recall(`key ${n}`, momentOf(1)))
  t.true(kept.length <= 100 && kept.length > 50, String(kept.length))
  t.is(kept.at(-1), 9_999)
})

const users = [1, 2, 3]
const fixture: Fixture = {
  users,
  orgs: [11, 12].map((id) => ({
    id,
    visibility: 'private',
    members: [1, 2],
    teams: [
      { id: id * 10, permission: 'custom', members: [1], roleIds: [id * 100] },
      { id: id * 10 + 1, permission: 'admin', members: [2], roleIds: [] },
    ],
    roles: [{ id: id * 100, permissions: ['cluster_mgmt/view clusters'] }],
    grants: [
      { objectType: 'cluster', objectId: id * 1000, relation: 'editor', subjectType: 'user', subjectId: 2 },
      { objectType: 'cluster', objectId: id * 1000, relation: 'viewer', subjectType: 'team', subjectId: id * 10 },
    ],
  })),
  clusters: [11, 12].map((id) => ({ id: id * 1000, ownerId: id })),
  tokens: users.map((id) => ({ id, userId: id })),
}

const locators: readonly ObjectLocator[] = [11, 12].flatMap((id) => [
  { type: 'organization', name: nameOf(id) },
  { type: 'account', name: nameOf(id) },
  { type: 'team', id: id * 10 },
  { type: 'role', id: id * 100, account: nameOf(id) },
  { type: 'cluster', account: nameOf(id), name: clusterNameOf(id * 1000) },
])

const user = fc.constantFrom(...users)
const org = fc.constantFrom(11, 12)
type Run = (db: SqlDatabase) => Promise<unknown>

/** Changes of what decides access, as any part of the service could make them. */
const change = fc.oneof(
  fc.tuple(user, fc.boolean()).map(
    ([id, on]): Run =>
      (db) =>
        db.query((k) => k('users').where({ id }).update({ is_active: on })),
  ),
  fc.tuple(user, fc.boolean()).map(
    ([id, on]): Run =>
      (db) =>
        db.query((k) => k('users').where({ id }).update({ is_admin: on })),
  ),
  user.map(
    (id): Run =>
      (db) =>
        db.query((k) =>
          k('users')
            .where({ id })
            .update({ full_name: String(Math.random()) }),
        ),
  ),
  fc.tuple(user, user).map(([user_id, target_id]): Run => async (db) => {
    const removed = await db.query<unknown>((k) => k('follows').where({ user_id, target_id }).delete())
    if (user_id !== target_id && Math.random() < 0.7)
      await db.query((k) => k('follows').insert({ user_id, target_id, created_at }))
    return removed
  }),
  fc.tuple(user, org).map(
    ([user_id, org_id]): Run =>
      (db) =>
        db.transaction(async (tx) => {
          await tx.query((k) => k('team_members').where({ user_id, org_id }).delete())
          await tx.query((k) => k('org_members').where({ user_id, org_id }).delete())
        }),
  ),
  fc.tuple(user, org).map(
    ([user_id, org_id]): Run =>
      (db) =>
        db.transaction(async (tx) => {
          await tx.query((k) =>
            k('org_members').insert({ org_id, user_id, created_at }).onConflict(['org_id', 'user_id']).ignore(),
          )
          await tx.query((k) =>
            k('team_members')
              .insert({ team_id: org_id * 10, user_id, org_id, created_at })
              .onConflict(['team_id', 'user_id'])
              .ignore(),
          )
        }),
  ),
  fc.tuple(user, org).map(
    ([user_id, org_id]): Run =>
      (db) =>
        db.query((k) => k('team_members').where({ user_id, org_id }).delete()),
  ),
  fc.tuple(user, org).map(
    ([user_id, org_id]): Run =>
      (db) =>
        db.query((k) => k('org_members').where({ user_id, org_id }).delete()),
  ),
  fc.tuple(org, fc.constantFrom('read', 'write', 'admin')).map(
    ([id, permission]): Run =>
      (db) =>
        db.query((k) =>
          k('teams')
            .where('id', id * 10 + 1)
            .update({ permission }),
        ),
  ),
  org.map(
    (id): Run =>
      (db) =>
        db.query((k) =>
          k('role_permissions')
            .where('role_id', id * 100)
            .delete(),
        ),
  ),
  org.map(
    (id): Run =>
      (db) =>
        db.query((k) =>
          k('team_roles')
            .where('team_id', id * 10)
            .delete(),
        ),
  ),
  org.map(
    (id): Run =>
      (db) =>
        db.query((k) => k('object_grants').where('org_id', id).delete()),
  ),
  fc.tuple(org, fc.boolean()).map(
    ([id, open]): Run =>
      (db) =>
        db.query((k) =>
          k('organizations')
            .where({ id })
            .update({ visibility: open ? 'public' : 'private' }),
        ),
  ),
  org.map(
    (id): Run =>
      (db) =>
        db.query((k) => k('organizations').where({ id }).update({ max_token_life_days: 9 })),
  ),
  org.map(
    (id): Run =>
      (db) =>
        db.query((k) => k('clusters').where('owner_id', id).increment('version', 1)),
  ),
  org.map(
    (id): Run =>
      (db) =>
        db.query((k) => k('clusters').where('owner_id', id).delete()),
  ),
  org.map(
    (id): Run =>
      (db) =>
        db.query((k) => k('roles').where('org_id', id).delete()),
  ),
  user.map(
    (id): Run =>
      (db) =>
        db.query((k) => k('access_tokens').where('id', id).update({ scopes: 'read:user' })),
  ),
  user.map(
    (id): Run =>
      (db) =>
        db.query((k) => k('access_tokens').where('user_id', id).delete()),
  ),
  user.map(
    (id): Run =>
      (db) =>
        db.query((k) =>
          k('accounts')
            .where({ id })
            .update({ avatar_digest: `d${Math.random()}` }),
        ),
  ),
  user.map(
    (id): Run =>
      (db) =>
        db.query((k) => k('accounts').where({ id }).delete()),
  ),
  user.map(
    (user_id): Run =>
      (db) =>
        db.query((k) =>
          k('two_factors')
            .insert({ user_id, sealed_seed: Buffer.from('x'), ref: 'r', offered_at: 1, enrolled_at: 1 })
            .onConflict('user_id')
            .ignore(),
        ),
  ),
)

/** Is refused by the transaction's own work: nothing of it may count. */
const undone = change.map(
  (run): Run =>
    (db) =>
      db
        .transaction(async (tx) => {
          // `transaction` of the inner change is this one.
          await run({ ...tx, transaction: (work: (own: typeof tx) => unknown) => work(tx) } as unknown as SqlDatabase)
          throw new Error('undone')
        })
        .catch((error: unknown) => {
          if ((error as Error).message !== 'undone') throw error
        }),
)

const step = fc.oneof({ weight: 4, arbitrary: change }, { weight: 1, arbitrary: undone })

const kinds = [
  ...eachDatabase(),
  { name: 'sqlite file', open: async () => openDatabase(`sqlite:${await migratedSqlitePath()}`) },
]

for (const { name, open } of kinds) {
  test(`${name}: the cache equals the database after any change`, async (t) => {
    let hits = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (changes) => {
        const db = await open()
        try {
          await storeFixture(db, fixture)
          await db.query((k) => k('access_tokens').update({ last_used_at: created_at }))
          const memory = makeAccessMemory(makeAccessRevisions(db), {
            make: (limits) => {
              const cache = lruCaches.make(limits)
              return {
                ...cache,
                get: (key) => {
                  const found = cache.get(key)
                  if (found !== undefined) hits += 1
                  return found
                },
                set: (key, value) => cache.set(key, value),
              }
            },
          })
          const fresh = makeSqlAuthorizationFacts(db, catalogue.objectTypes, objectRows)(db)
          const facts = rememberFacts(fresh, memory, catalogue.objectTypes, objectRows)
          const store = makeSqlCredentialStore(db, () => false)
          const credentials = rememberCredentials(store, memory, (at) => at !== undefined)
          const withoutMoment = (grant: TokenGrant | undefined) => {
            const { provenAt: _, ...rest } = grant ?? {}
            return rest
          }
          const compare = async (): Promise<void> => {
            for (const id of users) {
              const hash = new Uint8Array(32).fill(id)
              for (const read of ['tokenByHash', 'tokenWithProfileByHash'] as const)
                t.deepEqual(withoutMoment(await credentials[read](hash)), withoutMoment(await store[read](hash)))
              t.deepEqual(await credentials.accountByName(nameOf(id)), await store.accountByName(nameOf(id)))
              for (const locator of locators)
                t.deepEqual(await facts.locate(id as UserId, locator), await fresh.locate(id as UserId, locator))
            }
          }
          await compare()
          for (const run of changes) {
            await compare()
            // An account that an earlier change deleted gets no rows.
            await run(db).catch((error: unknown) => {
              if (!isForeignKeyViolation(error)) throw error
            })
            await compare()
          }
        } finally {
          await db.close()
        }
      }),
      { numRuns: name === 'mysql' ? repeats(4, 40) : repeats(25, 400) },
    )
    t.true(hits > 50, String(hits))
  })

  test(`${name}: a process of an older release disables the cache until it ends`, async (t) => {
    const db = await open()
    try {
      const revisions = makeAccessRevisions(db)
      t.not(await revisions(), undefined)
      const beat_at = await db.now()
      await db.query((k) => k('instances').insert({ id: 'old', beat_at }))
      t.is(await revisions(), undefined)
      await db.query((k) =>
        k('instances')
          .where('id', 'old')
          .update({ beat_at: beat_at - 3_600_000 }),
      )
      t.not(await revisions(), undefined)
    } finally {
      await db.close()
    }
  })
}
