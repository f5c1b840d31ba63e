import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { AccessTokenStore } from '../../../core/identity/ports.ts'
import { TokenNameTaken } from '../../../core/identity/ports.ts'
import type { TokenExpiryStore } from '../../../core/identity/tokens/ports.ts'
import { dayMilliseconds } from '../../../core/kernel/clock.ts'
import type { TokenId, UserId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { removeEach } from '../kit/fragments.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { TokenRow } from './rows.ts'
import { storedScopes, tokenColumns, tokenOf } from './rows.ts'

type InsertBind =
  | 'userId'
  | 'name'
  | 'hash'
  | 'lastEight'
  | 'scopes'
  | 'onlyOrgId'
  | 'onlyClusterId'
  | 'createdBy'
  | 'createdAt'
  | 'expiresAt'

type ValueBind = 'userId' | 'id' | 'hash' | 'lastEight' | 'createdAt' | 'expiresAt'

const tokensOf = (k: Knex, p: Params<'userId'>): Knex.QueryBuilder =>
  k('access_tokens as t').where('t.user_id', p('userId'))

/** Selects tokens `t`, each with the name of the organization that it is limited to. */
const withOrganization = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows
    .leftJoin('accounts as o', 'o.id', 't.only_org_id')
    .select(...tokenColumns.map((column) => `t.${column}`), 'o.name as only_org_name')

const statements = (db: SqlDatabase) => ({
  list: pageQuery(db, tokensOf, (_, rows, cut) =>
    cut(
      withOrganization(rows)
        .leftJoin('clusters as c', 'c.id', 't.only_cluster_id')
        .leftJoin('accounts as co', 'co.id', 'c.owner_id')
        .select('c.name as only_cluster_name', 'co.name as only_cluster_owner')
        .orderBy('t.id'),
    ),
  ),
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('access_tokens').insert({
      user_id: p('userId'),
      name: p('name'),
      token_hash: p('hash'),
      last_eight: p('lastEight'),
      scopes: p('scopes'),
      only_org_id: p('onlyOrgId'),
      only_cluster_id: p('onlyClusterId'),
      created_by: p('createdBy'),
      created_at: p('createdAt'),
      expires_at: p('expiresAt'),
    }),
  ),
  nameOf: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('access_tokens').where('user_id', p('userId')).where('id', p('id')).select('name').forUpdate(),
  ),
  idOfName: db.prepare((k, p: (n: 'userId' | 'name') => Knex.Value) =>
    k('access_tokens').where('user_id', p('userId')).where('name', p('name')).select('id'),
  ),
  remove: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('access_tokens').where('user_id', p('userId')).where('id', p('id')).delete(),
  ),
  lock: db.prepare((k, p: Params<'userId' | 'id'>) =>
    withOrganization(tokensOf(k, p)).where('t.id', p('id')).forUpdate(),
  ),
  replaceValue: db.prepare((k, p: (n: ValueBind) => Knex.Value) =>
    k('access_tokens')
      .where('user_id', p('userId'))
      .where('id', p('id'))
      .update({
        token_hash: p('hash'),
        last_eight: p('lastEight'),
        created_at: p('createdAt'),
        expires_at: p('expiresAt'),
        last_used_at: null,
        warned_days: null,
      }),
  ),
  madeAt: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('access_tokens').where('user_id', p('userId')).where('id', p('id')).select('created_at'),
  ),
  lockOwner: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('users').where('id', p('userId')).select('id').forUpdate(),
  ),
  ofCluster: db.prepare((k, p: (n: 'userId' | 'clusterId') => Knex.Value) =>
    k('access_tokens')
      .where('only_cluster_id', p('clusterId'))
      .where('user_id', p('userId'))
      .select(...tokenColumns)
      .orderBy(['created_at', 'id']),
  ),
  all: db.prepare((k, p: (n: 'userId') => Knex.Value) => k('access_tokens').where('user_id', p('userId')).select('id')),
})

/** Access tokens on SQL. Only the hash of a token is stored. */
export const makeSqlAccessTokenStore = (db: SqlDatabase): ((runner: SqlRunner) => AccessTokenStore) => {
  const s = statements(db)
  return (runner) => ({
    async list(userId, page) {
      return mapPage(await s.list<TokenRow>(runner, { userId }, page), tokenOf)
    },
    async insert(record) {
      try {
        const inserted = await runner.run(s.insert, {
          userId: record.userId,
          name: record.name,
          hash: record.hash,
          lastEight: record.lastEight,
          scopes: storedScopes(record),
          onlyOrgId: record.onlyOrgId ?? null,
          onlyClusterId: record.onlyClusterId ?? null,
          createdBy: record.createdBy ?? null,
          createdAt: record.createdAt.getTime(),
          expiresAt: record.expiresAt?.getTime() ?? null,
        })
        return right(inserted.insertId as TokenId)
      } catch (error) {
        if (isUniqueViolation(error, 'name')) return left(TokenNameTaken('The name of the token is already in use.'))
        throw error
      }
    },
    async idOfName(userId, name) {
      const row = await runner.first<{ id: Num }>(s.idOfName, { userId, name })
      return row === undefined ? undefined : (Number(row.id) as TokenId)
    },
    async remove(userId, id) {
      const row = await runner.first<{ name: string }>(s.nameOf, { userId, id })
      if (row === undefined) return undefined
      await runner.run(s.remove, { userId, id })
      return row.name
    },
    async removeAll(userId) {
      return removeEach(runner, s.all, s.remove, { userId })
    },
    async lock(userId, id) {
      const row = await runner.first<TokenRow>(s.lock, { userId, id })
      return row === undefined ? undefined : tokenOf(row)
    },
    async replaceValue(userId, id, { hash, lastEight, createdAt, expiresAt }) {
      await runner.run(s.replaceValue, {
        userId,
        id,
        hash,
        lastEight,
        createdAt: createdAt.getTime(),
        expiresAt: expiresAt?.getTime() ?? null,
      })
    },
    async isInForce(userId, id, createdAt) {
      const row = await runner.first<{ created_at: Num }>(s.madeAt, { userId, id })
      return row !== undefined && Number(row.created_at) === createdAt?.getTime()
    },
    async lockOwner(userId) {
      await runner.first(s.lockOwner, { userId })
    },
    async ofCluster(userId, clusterId) {
      return (await runner.all<TokenRow>(s.ofCluster, { userId, clusterId })).map(tokenOf)
    },
  })
}

interface ExpiringRow {
  readonly id: Num
  readonly user_id: Num
  readonly login: string
  readonly email: string
  readonly name: string
  readonly last_eight: string
  readonly expires_at: Num
}

const notWarned =
  (column: string, days: Knex.Value) =>
  (query: Knex.QueryBuilder): void => {
    query.whereNull(column).orWhere(column, '>', days)
  }

const expiryStatements = (db: SqlDatabase) => ({
  due: db.prepare((k, p: (n: 'now' | 'until' | 'life' | 'days' | 'limit') => Knex.Value & number) =>
    k('access_tokens as t')
      .join('users as u', 'u.id', 't.user_id')
      .join('accounts as a', 'a.id', 't.user_id')
      .join('emails as e', (join) =>
        join.on('e.user_id', 't.user_id').andOn('e.is_primary', k.raw('1')).andOn('e.verified', k.raw('1')),
      )
      .where('t.expires_at', '>', p('now'))
      .where('t.expires_at', '<=', p('until'))
      .whereRaw('t.expires_at - t.created_at > ?', [p('life')])
      .where(notWarned('t.warned_days', p('days')))
      .where('u.is_active', true)
      // A kubeconfig's token is issued again with the kubeconfig.
      .whereNull('t.only_cluster_id')
      .select('t.id', 't.user_id', 'a.name as login', 'e.email', 't.name', 't.last_eight', 't.expires_at')
      .orderBy(['t.expires_at', 't.id'])
      .limit(p('limit')),
  ),
  mark: db.prepare((k, p: (n: 'id' | 'days' | 'seen') => Knex.Value) =>
    k('access_tokens')
      .where('id', p('id'))
      .where(notWarned('warned_days', p('seen')))
      .update({ warned_days: p('days') }),
  ),
  ended: db.prepare((k, p: (n: 'at' | 'limit') => Knex.Value & number) =>
    k('access_tokens')
      .where('expires_at', '<', p('at'))
      .select('id', 'user_id', 'name')
      .orderBy(['expires_at', 'id'])
      .limit(p('limit')),
  ),
})

/** The expiry of access tokens on SQL. */
export const makeSqlTokenExpiryStore = (db: SqlDatabase): ((runner: SqlRunner) => TokenExpiryStore) => {
  const s = expiryStatements(db)
  return (runner) => ({
    async dueWarnings(days, now, limit) {
      const life = days * dayMilliseconds
      const rows = await runner.all<ExpiringRow>(s.due, {
        now: now.getTime(),
        until: now.getTime() + life,
        life,
        days,
        limit,
      })
      return rows.map((row) => ({
        id: Number(row.id) as TokenId,
        userId: Number(row.user_id) as UserId,
        login: row.login,
        email: row.email,
        name: row.name,
        lastEight: row.last_eight,
        expiresAt: new Date(Number(row.expires_at)),
      }))
    },
    async markWarned(id, days) {
      return (await runner.run(s.mark, { id, days, seen: days })).affected === 1
    },
    async endedBefore(at, limit) {
      const rows = await runner.all<{ id: Num; user_id: Num; name: string }>(s.ended, { at: at.getTime(), limit })
      return rows.map((row) => ({
        id: Number(row.id) as TokenId,
        userId: Number(row.user_id) as UserId,
        name: row.name,
      }))
    },
  })
}
