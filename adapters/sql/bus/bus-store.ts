import { createHash } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import type { BusIdentityStore, BusUserStore, LiveBusUser } from '../../../core/bus/ports.ts'
import { BusIdentityTaken } from '../../../core/bus/ports.ts'
import type { BusIdentity, BusUser, BusUserId } from '../../../core/bus/types.ts'
import { busIdentityKinds } from '../../../core/bus/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import {
  aliased,
  columnsOf,
  flag,
  int,
  long,
  nullable,
  nullableColumns,
  pick,
  qualified,
  selectedAs,
  without,
} from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import { insertInto, newRow, values } from '../kit/values.ts'
import { busIdentities, busUsers } from '../tables/bus.ts'
import { accounts, users } from '../tables/identity.ts'
import type { Row } from '../kit/columns.ts'

const identityRow = without(busIdentities, 'createdAt')
const userRow = without(busUsers, 'ownerMark')

/** The current state of the owner `a` with the user `u`. An organization has no password and always qualifies. */
const ownerRow = {
  kind: nullable(aliased(accounts, 'a').kind),
  ...nullableColumns(pick(aliased(users, 'u'), 'passwordHash', 'isAdmin', 'isActive', 'prohibitLogin')),
}
const liveRow = {
  ...qualified(columnsOf(busUsers), 'b'),
  ...ownerRow,
  sessions: selectedAs(flag()),
}
const wordOf = <A extends string>(words: readonly A[], word: string): A => {
  const found = words.find((each) => each === word)
  if (found === undefined) throw new Error(`The bus tables hold the unknown word ${word}.`)
  return found
}

const identityOf = (row: Row<typeof identityRow>): BusIdentity => ({
  id: row.id,
  kind: wordOf(busIdentityKinds, row.kind),
  ownerId: row.ownerId === noOwner ? undefined : row.ownerId,
  publicKey: row.publicKey,
  ref: row.ref,
  sealedSeed: row.sealedSeed,
  claims: row.claims,
  revision: row.revision,
  pushedRevision: row.pushedRevision,
  closedAt: row.closedAt,
})

const userOf = (row: Row<typeof userRow>): BusUser => ({
  id: row.id,
  identityId: row.identityId,
  ownerId: row.ownerId,
  purpose: row.purpose,
  publicKey: row.publicKey,
  issuedAt: row.issuedAt,
  expiresAt: row.expiresAt,
  revokedAt: row.revokedAt,
})

/** Returns a digest, so that no other table contains a copy of a password's hash. */
const markOf = (owner: Row<typeof ownerRow>): string | undefined => {
  if (owner.kind === 'organization') return 'organization'
  if (owner.passwordHash === undefined || owner.isActive !== true || owner.prohibitLogin === true) return undefined
  return createHash('sha256')
    .update(`${owner.passwordHash}\n${owner.isAdmin === true ? 'admin' : ''}`)
    .digest('hex')
}

const liveOf = (row: Row<typeof liveRow>): LiveBusUser => ({
  ...userOf(row),
  ownerMark: row.ownerMark,
  presentMark: markOf(row),
  hasSession: row.sessions,
})

/** The owner of the keys that no account has. */
const noOwner = 0 as AccountId

const serverKinds = ['platform', 'account']

const statements = (db: SqlDatabase) => ({
  find: db.prepare(pick(busIdentities, 'kind', 'ownerId'), identityRow, (k, p) =>
    k('bus_identities').where('kind', p.kind).where('owner_id', p.ownerId).limit(1),
  ),
  lock: db.prepare({ id: busIdentities.id }, identityRow, (k, p) => k('bus_identities').where('id', p.id).forUpdate()),
  insert: db.prepare(
    {
      ...pick(busIdentities, 'kind', 'ownerId', 'publicKey', 'ref', 'claims'),
      seed: busIdentities.sealedSeed,
      at: busIdentities.createdAt,
      pushed: busIdentities.pushedRevision,
    },
    (k, p) =>
      k('bus_identities').insert(
        newRow(busIdentities, {
          kind: p.kind,
          ownerId: p.ownerId,
          publicKey: p.publicKey,
          ref: p.ref,
          sealedSeed: p.seed,
          claims: p.claims,
          revision: 1,
          pushedRevision: p.pushed,
          createdAt: p.at,
        }),
      ),
  ),
  raise: db.prepare({ id: busIdentities.id }, (k, p) =>
    k('bus_identities')
      .where('id', p.id)
      .update(values(busIdentities, { revision: k.raw('revision + 1') })),
  ),
  acknowledge: db.prepare({ ...pick(busIdentities, 'id', 'claims'), revision: busIdentities.pushedRevision }, (k, p) =>
    k('bus_identities')
      .where('id', p.id)
      .where('pushed_revision', '<=', p.revision)
      .update(values(busIdentities, { pushedRevision: p.revision, claims: p.claims })),
  ),
  close: db.prepare({ id: busIdentities.id, at: busIdentities.closedAt }, (k, p) =>
    k('bus_identities')
      .where('id', p.id)
      .whereNull('closed_at')
      .update(values(busIdentities, { closedAt: p.at, revision: k.raw('revision + 1') })),
  ),
  due: db.prepare({ limit: int() }, identityRow, (k, p) =>
    k('bus_identities')
      .whereIn('kind', serverKinds)
      .where('pushed_revision', '<', k.ref('revision'))
      .orderBy('id')
      .limit(p.limit),
  ),
  orphans: db.prepare({ limit: int() }, qualified(identityRow, 'b'), (k, p) =>
    k('bus_identities as b')
      .leftJoin('accounts as a', 'a.id', 'b.owner_id')
      .where('b.kind', 'account')
      .whereNull('b.closed_at')
      .whereNull('a.id')
      .orderBy('b.id')
      .limit(p.limit),
  ),
  list: db.prepare({ after: long(), limit: int() }, identityRow, (k, p) =>
    k('bus_identities').whereIn('kind', serverKinds).where('id', '>', p.after).orderBy('id').limit(p.limit),
  ),
})

/** BusIdentityStore on SQL. */
export const makeSqlBusIdentityStore = (db: SqlDatabase): ((runner: SqlRunner) => BusIdentityStore) => {
  const s = statements(db)
  return (runner) => {
    const find: BusIdentityStore['find'] = async (kind, ownerId) => {
      const row = await runner.first(s.find, { kind, ownerId: ownerId ?? noOwner })
      return row === undefined ? undefined : identityOf(row)
    }
    return {
      find,
      async lock(id) {
        const row = await runner.first(s.lock, { id })
        return row === undefined ? undefined : identityOf(row)
      },
      async insert({ kind, ownerId, publicKey, ref, sealedSeed, claims }, at) {
        try {
          // A server already has the claims that it starts with.
          const pushed = claims === '' ? 0 : 1
          await runner.run(s.insert, {
            kind,
            ownerId: ownerId ?? noOwner,
            publicKey,
            ref,
            seed: sealedSeed,
            claims,
            pushed,
            at,
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
        await runner.run(s.close, { id, at })
      },
      async listDue(limit) {
        return (await runner.all(s.due, { limit })).map(identityOf)
      },
      async listOrphans(limit) {
        return (await runner.all(s.orphans, { limit })).map(identityOf)
      },
      async listAccounts(after, limit) {
        return (await runner.all(s.list, { after, limit })).map(identityOf)
      },
    }
  }
}

const reads = (db: SqlDatabase) => ({
  owner: db.prepare({ ownerId: accounts.id }, ownerRow, (k, p) =>
    k('accounts as a').leftJoin('users as u', 'u.id', 'a.id').where('a.id', p.ownerId).limit(1),
  ),
  list: typedPage(
    db,
    { ownerId: busUsers.ownerId },
    userRow,
    (k, p) => k('bus_users').where('owner_id', p.ownerId),
    (_, rows, cut) => cut(rows.orderBy('id', 'desc')),
  ),
  get: db.prepare(pick(busUsers, 'ownerId', 'id'), userRow, (k, p) =>
    k('bus_users').where('owner_id', p.ownerId).where('id', p.id).limit(1),
  ),
  live: db.prepare({ ...pick(busUsers, 'ownerId', 'purpose'), now: busUsers.expiresAt }, userRow, (k, p) =>
    k('bus_users')
      .where('owner_id', p.ownerId)
      .where('purpose', p.purpose)
      .whereNull('revoked_at')
      .where('expires_at', '>', p.now)
      .orderBy('id'),
  ),
  listLive: db.prepare({ after: long(), limit: int(), now: busUsers.expiresAt }, liveRow, (k, p) =>
    k('bus_users as b')
      .leftJoin('accounts as a', 'a.id', 'b.owner_id')
      .leftJoin('users as u', 'u.id', 'b.owner_id')
      .where('b.id', '>', p.after)
      .whereNull('b.revoked_at')
      .where('b.expires_at', '>', p.now)
      .select(
        k.raw(
          'exists (select 1 from sessions as s where s.user_id = b.owner_id and s.expires_at > ? and ' +
            's.idle_expires_at > ?) as sessions',
          [p.now, p.now],
        ),
      )
      .orderBy('b.id')
      .limit(p.limit),
  ),
  revoked: db.prepare({ identityId: busUsers.identityId, now: busUsers.expiresAt }, userRow, (k, p) =>
    k('bus_users')
      .where('identity_id', p.identityId)
      .whereNotNull('revoked_at')
      .where('expires_at', '>', p.now)
      .orderBy('id'),
  ),
})

const writes = (db: SqlDatabase) => ({
  insert: insertInto(db, busUsers, { omitted: ['id', 'revokedAt'] }),
  revoke: db.prepare({ id: busUsers.id, at: busUsers.revokedAt }, (k, p) =>
    k('bus_users')
      .where('id', p.id)
      .whereNull('revoked_at')
      .update(values(busUsers, { revokedAt: p.at })),
  ),
  sweep: db.prepare({ before: busUsers.expiresAt }, (k, p) =>
    k('bus_users').where('expires_at', '<', p.before).delete(),
  ),
})

/** BusUserStore on SQL. */
export const makeSqlBusUserStore = (db: SqlDatabase): ((runner: SqlRunner) => BusUserStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => ({
    async ownerMark(ownerId) {
      const owner = await runner.first(s.owner, { ownerId })
      return owner === undefined ? undefined : markOf(owner)
    },
    async insert({ identityId, ownerId, purpose, publicKey, ownerMark, issuedAt, expiresAt }) {
      const binds = {
        identityId,
        ownerId,
        purpose,
        publicKey,
        ownerMark,
        issuedAt,
        expiresAt,
      }
      return (await runner.run(s.insert, binds)).insertId as BusUserId
    },
    async list(ownerId, page) {
      return mapPage(await s.list(runner, { ownerId }, page), userOf)
    },
    async get(ownerId, id) {
      const row = await runner.first(s.get, { ownerId, id })
      return row === undefined ? undefined : userOf(row)
    },
    async revoke(id, at) {
      return (await runner.run(s.revoke, { id, at })).affected > 0
    },
    async live(ownerId, purpose, now) {
      return (await runner.all(s.live, { ownerId, purpose, now })).map(userOf)
    },
    async listLive(after, limit, now) {
      return (await runner.all(s.listLive, { after, limit, now })).map(liveOf)
    },
    async revokedOf(identityId, now) {
      return (await runner.all(s.revoked, { identityId, now })).map(userOf)
    },
    async sweep(before) {
      return (await runner.run(s.sweep, { before })).affected
    },
  })
}
