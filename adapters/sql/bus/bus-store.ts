import { createHash } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { BusIdentityStore, BusUserStore, LiveBusUser } from '../../../core/bus/ports.ts'
import { BusIdentityTaken } from '../../../core/bus/ports.ts'
import type { BusIdentity, BusIdentityId, BusUser, BusUserId } from '../../../core/bus/types.ts'
import { busIdentityKinds } from '../../../core/bus/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

/** A row of `bus_identities`. BIGINT columns may be returned as text. */
interface IdentityRow {
  readonly id: number | string
  readonly kind: string
  readonly owner_id: number | string
  readonly public_key: string
  readonly ref: string
  readonly sealed_seed: Uint8Array
  readonly claims: string
  readonly revision: number | string
  readonly pushed_revision: number | string
  readonly closed_at: number | string | null
}
const identityColumns = [
  'id',
  'kind',
  'owner_id',
  'public_key',
  'ref',
  'sealed_seed',
  'claims',
  'revision',
  'pushed_revision',
  'closed_at',
] as const

/** A row of `bus_users`. */
interface UserRow {
  readonly id: number | string
  readonly identity_id: number | string
  readonly owner_id: number | string
  readonly purpose: string
  readonly public_key: string
  readonly issued_at: number | string
  readonly expires_at: number | string
  readonly revoked_at: number | string | null
}
const userColumns = [
  'id',
  'identity_id',
  'owner_id',
  'purpose',
  'public_key',
  'issued_at',
  'expires_at',
  'revoked_at',
] as const

/** The current state of an owner. An organization has no password and always qualifies. */
interface OwnerColumns {
  readonly kind: string | null
  readonly password_hash: string | null
  readonly is_admin: number | null
  readonly is_active: number | null
  readonly prohibit_login: number | null
}
type LiveRow = UserRow & OwnerColumns & { readonly owner_mark: string; readonly sessions: number | string }

const instantOf = (value: number | string): Date => new Date(Number(value))
const wordOf = <A extends string>(words: readonly A[], word: string): A => {
  const found = words.find((each) => each === word)
  if (found === undefined) throw new Error(`The bus tables hold the unknown word ${word}.`)
  return found
}

const identityOf = (row: IdentityRow): BusIdentity => ({
  id: Number(row.id) as BusIdentityId,
  kind: wordOf(busIdentityKinds, row.kind),
  ownerId: Number(row.owner_id) === 0 ? undefined : (Number(row.owner_id) as AccountId),
  publicKey: row.public_key,
  ref: row.ref,
  sealedSeed: row.sealed_seed,
  claims: row.claims,
  revision: Number(row.revision),
  pushedRevision: Number(row.pushed_revision),
  closedAt: row.closed_at === null ? undefined : instantOf(row.closed_at),
})

const userOf = (row: UserRow): BusUser => ({
  id: Number(row.id) as BusUserId,
  identityId: Number(row.identity_id) as BusIdentityId,
  ownerId: Number(row.owner_id) as AccountId,
  purpose: row.purpose,
  publicKey: row.public_key,
  issuedAt: instantOf(row.issued_at),
  expiresAt: instantOf(row.expires_at),
  revokedAt: row.revoked_at === null ? undefined : instantOf(row.revoked_at),
})

/** Returns a digest, so that no other table contains a copy of a password's hash. */
const markOf = (owner: OwnerColumns): string | undefined => {
  if (owner.kind === 'organization') return 'organization'
  if (owner.password_hash === null || !owner.is_active || owner.prohibit_login) return undefined
  return createHash('sha256')
    .update(`${owner.password_hash}\n${owner.is_admin ? 'admin' : ''}`)
    .digest('hex')
}

const liveOf = (row: LiveRow): LiveBusUser => ({
  ...userOf(row),
  ownerMark: row.owner_mark,
  presentMark: markOf(row),
  hasSession: Number(row.sessions) > 0,
})

type InsertBind = 'kind' | 'ownerId' | 'publicKey' | 'ref' | 'seed' | 'claims' | 'at' | 'pushed'

const serverKinds = ['platform', 'account']

const statements = (db: SqlDatabase) => ({
  find: db.prepare((k, p: (n: 'kind' | 'ownerId') => Knex.Value) =>
    k('bus_identities')
      .where('kind', p('kind'))
      .where('owner_id', p('ownerId'))
      .select(...identityColumns)
      .limit(1),
  ),
  lock: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('bus_identities')
      .where('id', p('id'))
      .select(...identityColumns)
      .forUpdate(),
  ),
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('bus_identities').insert({
      kind: p('kind'),
      owner_id: p('ownerId'),
      public_key: p('publicKey'),
      ref: p('ref'),
      sealed_seed: p('seed'),
      claims: p('claims'),
      revision: 1,
      pushed_revision: p('pushed'),
      created_at: p('at'),
    }),
  ),
  raise: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('bus_identities')
      .where('id', p('id'))
      .update({ revision: k.raw('revision + 1') }),
  ),
  acknowledge: db.prepare((k, p: (n: 'id' | 'revision' | 'claims') => Knex.Value) =>
    k('bus_identities')
      .where('id', p('id'))
      .where('pushed_revision', '<=', p('revision'))
      .update({ pushed_revision: p('revision'), claims: p('claims') }),
  ),
  close: db.prepare((k, p: (n: 'id' | 'at') => Knex.Value) =>
    k('bus_identities')
      .where('id', p('id'))
      .whereNull('closed_at')
      .update({ closed_at: p('at'), revision: k.raw('revision + 1') }),
  ),
  due: db.prepare((k, p: (n: 'limit') => number) =>
    k('bus_identities')
      .whereIn('kind', serverKinds)
      .where('pushed_revision', '<', k.ref('revision'))
      .select(...identityColumns)
      .orderBy('id')
      .limit(p('limit')),
  ),
  orphans: db.prepare((k, p: (n: 'limit') => number) =>
    k('bus_identities as b')
      .leftJoin('accounts as a', 'a.id', 'b.owner_id')
      .where('b.kind', 'account')
      .whereNull('b.closed_at')
      .whereNull('a.id')
      .select(identityColumns.map((name) => `b.${name}`))
      .orderBy('b.id')
      .limit(p('limit')),
  ),
  list: db.prepare((k, p: (n: 'after' | 'limit') => number) =>
    k('bus_identities')
      .whereIn('kind', serverKinds)
      .where('id', '>', p('after'))
      .select(...identityColumns)
      .orderBy('id')
      .limit(p('limit')),
  ),
})

/** BusIdentityStore on SQL. */
export const makeSqlBusIdentityStore = (db: SqlDatabase): ((runner: SqlRunner) => BusIdentityStore) => {
  const s = statements(db)
  return (runner) => {
    const find: BusIdentityStore['find'] = async (kind, ownerId) => {
      const row = await runner.first<IdentityRow>(s.find, { kind, ownerId: ownerId ?? 0 })
      return row === undefined ? undefined : identityOf(row)
    }
    return {
      find,
      async lock(id) {
        const row = await runner.first<IdentityRow>(s.lock, { id })
        return row === undefined ? undefined : identityOf(row)
      },
      async insert({ kind, ownerId, publicKey, ref, sealedSeed, claims }, at) {
        try {
          // A server already has the claims that it starts with.
          const pushed = claims === '' ? 0 : 1
          await runner.run(s.insert, {
            kind,
            ownerId: ownerId ?? 0,
            publicKey,
            ref,
            seed: sealedSeed,
            claims,
            pushed,
            at: at.getTime(),
          })
        } catch (error) {
          if (isUniqueViolation(error, 'owner_id')) return left(BusIdentityTaken('That key of the bus exists already.'))
          throw error
        }
        const inserted = await find(kind, ownerId)
        if (inserted === undefined) throw new Error('A key of the bus is gone although it was just inserted.')
        return right(inserted)
      },
      async raiseRevision(id) {
        await runner.run(s.raise, { id })
      },
      async acknowledge(id, revision, claims) {
        await runner.run(s.acknowledge, { id, revision, claims })
      },
      async close(id, at) {
        await runner.run(s.close, { id, at: at.getTime() })
      },
      async listDue(limit) {
        return (await runner.all<IdentityRow>(s.due, { limit })).map(identityOf)
      },
      async listOrphans(limit) {
        return (await runner.all<IdentityRow>(s.orphans, { limit })).map(identityOf)
      },
      async listAccounts(after, limit) {
        return (await runner.all<IdentityRow>(s.list, { after, limit })).map(identityOf)
      },
    }
  }
}

type UserBind = 'identityId' | 'ownerId' | 'purpose' | 'publicKey' | 'mark' | 'issued' | 'expires'

const ownerColumns = ['a.kind', 'u.password_hash', 'u.is_admin', 'u.is_active', 'u.prohibit_login'] as const

const reads = (db: SqlDatabase) => ({
  owner: db.prepare((k, p: (n: 'ownerId') => Knex.Value) =>
    k('accounts as a')
      .leftJoin('users as u', 'u.id', 'a.id')
      .where('a.id', p('ownerId'))
      .select(...ownerColumns)
      .limit(1),
  ),
  list: pageQuery(
    db,
    (k, p: Params<'ownerId'>) => k('bus_users').where('owner_id', p('ownerId')),
    (_, rows, cut) => cut(rows.select(...userColumns).orderBy('id', 'desc')),
  ),
  get: db.prepare((k, p: (n: 'ownerId' | 'id') => Knex.Value) =>
    k('bus_users')
      .where('owner_id', p('ownerId'))
      .where('id', p('id'))
      .select(...userColumns)
      .limit(1),
  ),
  live: db.prepare((k, p: (n: 'ownerId' | 'purpose' | 'now') => Knex.Value) =>
    k('bus_users')
      .where('owner_id', p('ownerId'))
      .where('purpose', p('purpose'))
      .whereNull('revoked_at')
      .where('expires_at', '>', p('now'))
      .select(...userColumns)
      .orderBy('id'),
  ),
  listLive: db.prepare((k, p: (n: 'after' | 'limit' | 'now') => number) =>
    k('bus_users as b')
      .leftJoin('accounts as a', 'a.id', 'b.owner_id')
      .leftJoin('users as u', 'u.id', 'b.owner_id')
      .where('b.id', '>', p('after'))
      .whereNull('b.revoked_at')
      .where('b.expires_at', '>', p('now'))
      .select(...userColumns.map((name) => `b.${name}`), 'b.owner_mark', ...ownerColumns)
      .select(
        k.raw(
          'exists (select 1 from sessions as s where s.user_id = b.owner_id and s.expires_at > ? and ' +
            's.idle_expires_at > ?) as sessions',
          [p('now'), p('now')],
        ),
      )
      .orderBy('b.id')
      .limit(p('limit')),
  ),
  revoked: db.prepare((k, p: (n: 'identityId' | 'now') => Knex.Value) =>
    k('bus_users')
      .where('identity_id', p('identityId'))
      .whereNotNull('revoked_at')
      .where('expires_at', '>', p('now'))
      .select(...userColumns)
      .orderBy('id'),
  ),
})

const writes = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: (n: UserBind) => Knex.Value) =>
    k('bus_users').insert({
      identity_id: p('identityId'),
      owner_id: p('ownerId'),
      purpose: p('purpose'),
      public_key: p('publicKey'),
      owner_mark: p('mark'),
      issued_at: p('issued'),
      expires_at: p('expires'),
    }),
  ),
  revoke: db.prepare((k, p: (n: 'id' | 'at') => Knex.Value) =>
    k('bus_users')
      .where('id', p('id'))
      .whereNull('revoked_at')
      .update({ revoked_at: p('at') }),
  ),
  sweep: db.prepare((k, p: (n: 'before') => Knex.Value) =>
    k('bus_users').where('expires_at', '<', p('before')).delete(),
  ),
})

/** BusUserStore on SQL. */
export const makeSqlBusUserStore = (db: SqlDatabase): ((runner: SqlRunner) => BusUserStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => ({
    async ownerMark(ownerId) {
      const owner = await runner.first<OwnerColumns>(s.owner, { ownerId })
      return owner === undefined ? undefined : markOf(owner)
    },
    async insert({ identityId, ownerId, purpose, publicKey, ownerMark, issuedAt, expiresAt }) {
      const binds = {
        identityId,
        ownerId,
        purpose,
        publicKey,
        mark: ownerMark,
        issued: issuedAt.getTime(),
        expires: expiresAt.getTime(),
      }
      return (await runner.run(s.insert, binds)).insertId as BusUserId
    },
    async list(ownerId, page) {
      return mapPage(await s.list<UserRow>(runner, { ownerId }, page), userOf)
    },
    async get(ownerId, id) {
      const row = await runner.first<UserRow>(s.get, { ownerId, id })
      return row === undefined ? undefined : userOf(row)
    },
    async revoke(id, at) {
      return (await runner.run(s.revoke, { id, at: at.getTime() })).affected > 0
    },
    async live(ownerId, purpose, now) {
      return (await runner.all<UserRow>(s.live, { ownerId, purpose, now: now.getTime() })).map(userOf)
    },
    async listLive(after, limit, now) {
      return (await runner.all<LiveRow>(s.listLive, { after, limit, now: now.getTime() })).map(liveOf)
    },
    async revokedOf(identityId, now) {
      return (await runner.all<UserRow>(s.revoked, { identityId, now: now.getTime() })).map(userOf)
    },
    async sweep(before) {
      return (await runner.run(s.sweep, { before: before.getTime() })).affected
    },
  })
}
