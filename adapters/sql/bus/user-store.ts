import type { Knex } from 'knex'
import type { BusUserStore } from '../../../core/bus/ports.ts'
import type { BusUserId } from '../../../core/bus/types.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { liveOf, markOf, userColumns, userOf, type LiveRow, type OwnerColumns, type UserRow } from './rows.ts'

type InsertBind = 'identityId' | 'ownerId' | 'purpose' | 'publicKey' | 'mark' | 'issued' | 'expires'

const ownerColumns = ['a.kind', 'u.password_hash', 'u.is_admin', 'u.is_active', 'u.prohibit_login'] as const

const reads = (db: SqlDatabase) => ({
  owner: db.prepare((k, p: (n: 'ownerId') => Knex.Value) =>
    k('accounts as a').leftJoin('users as u', 'u.id', 'a.id').where('a.id', p('ownerId')).select(...ownerColumns).limit(1)),
  list: pageQuery(db, (k, p: Params<'ownerId'>) => k('bus_users').where('owner_id', p('ownerId')), (_, rows, cut) =>
    cut(rows.select(...userColumns).orderBy('id', 'desc'))),
  get: db.prepare((k, p: (n: 'ownerId' | 'id') => Knex.Value) => k('bus_users').where('owner_id', p('ownerId')).where('id', p('id')).select(...userColumns).limit(1)),
  live: db.prepare((k, p: (n: 'ownerId' | 'purpose' | 'now') => Knex.Value) =>
    k('bus_users').where('owner_id', p('ownerId')).where('purpose', p('purpose')).whereNull('revoked_at').where('expires_at', '>', p('now'))
      .select(...userColumns).orderBy('id')),
  listLive: db.prepare((k, p: (n: 'after' | 'limit' | 'now') => number) =>
    k('bus_users as b').leftJoin('accounts as a', 'a.id', 'b.owner_id').leftJoin('users as u', 'u.id', 'b.owner_id')
      .where('b.id', '>', p('after')).whereNull('b.revoked_at').where('b.expires_at', '>', p('now'))
      .select(...userColumns.map((name) => `b.${name}`), 'b.owner_mark', ...ownerColumns)
      .select(k.raw('exists (select 1 from sessions as s where s.user_id = b.owner_id and s.expires_at > ? and s.idle_expires_at > ?) as sessions', [p('now'), p('now')]))
      .orderBy('b.id').limit(p('limit'))),
  revoked: db.prepare((k, p: (n: 'identityId' | 'now') => Knex.Value) =>
    k('bus_users').where('identity_id', p('identityId')).whereNotNull('revoked_at').where('expires_at', '>', p('now')).select(...userColumns).orderBy('id')),
})

const writes = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('bus_users').insert({
      identity_id: p('identityId'), owner_id: p('ownerId'), purpose: p('purpose'), public_key: p('publicKey'), owner_mark: p('mark'),
      issued_at: p('issued'), expires_at: p('expires'),
    })),
  revoke: db.prepare((k, p: (n: 'id' | 'at') => Knex.Value) => k('bus_users').where('id', p('id')).whereNull('revoked_at').update({ revoked_at: p('at') })),
  sweep: db.prepare((k, p: (n: 'before') => Knex.Value) => k('bus_users').where('expires_at', '<', p('before')).delete()),
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
      const binds = { identityId, ownerId, purpose, publicKey, mark: ownerMark, issued: issuedAt.getTime(), expires: expiresAt.getTime() }
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
