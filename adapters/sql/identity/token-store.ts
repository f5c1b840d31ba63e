import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { AccessTokenStore } from '../../../core/identity/ports.ts'
import { TokenNameTaken } from '../../../core/identity/ports.ts'
import type { TokenExpiryStore } from '../../../core/identity/tokens/ports.ts'
import { dayMilliseconds } from '../../../core/kernel/clock.ts'
import type { TokenId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { removeRows } from '../kit/fragments.ts'
import { typedPage } from '../kit/page-query.ts'
import type { Slot, Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { storedScopes, tokenOf, tokenRow, tokenWithCluster, tokenWithOrganization } from './rows.ts'
import { aliased, int, long, pick, present } from '../kit/columns.ts'
import { newRow, values } from '../kit/values.ts'
import { accessTokens, accounts, emails, users } from '../tables/identity.ts'

/** The tokens `t` of a user. */
const tokensOf = (k: Knex, p: Slots<Pick<typeof accessTokens, 'userId'>>): Knex.QueryBuilder =>
  k('access_tokens as t').where('t.user_id', p.userId)

/** The tokens `t` that a user has made. Those of applications are listed as consents. */
const listedOf = (k: Knex, p: Slots<Pick<typeof accessTokens, 'userId'>>): Knex.QueryBuilder =>
  tokensOf(k, p).whereNull('t.application_id')

/** Joins to tokens `t` the organization `o` that each is limited to. */
const withOrganization = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows.leftJoin('accounts as o', 'o.id', 't.only_org_id')

const statements = (db: SqlDatabase) => ({
  list: typedPage(db, { userId: accessTokens.userId }, tokenWithCluster, listedOf, (_, rows, cut) =>
    cut(
      withOrganization(rows)
        .leftJoin('clusters as c', 'c.id', 't.only_cluster_id')
        .leftJoin('accounts as co', 'co.id', 'c.owner_id')
        .orderBy('t.id'),
    ),
  ),
  insert: db.prepare(
    {
      ...pick(
        accessTokens,
        'userId',
        'name',
        'lastEight',
        'scopes',
        'onlyOrgId',
        'onlyClusterId',
        'applicationId',
        'sessionId',
        'createdBy',
        'createdAt',
        'expiresAt',
      ),
      hash: accessTokens.tokenHash,
    },
    (k, p) =>
      k('access_tokens').insert(
        newRow(accessTokens, {
          userId: p.userId,
          name: p.name,
          tokenHash: p.hash,
          lastEight: p.lastEight,
          scopes: p.scopes,
          onlyOrgId: p.onlyOrgId,
          onlyClusterId: p.onlyClusterId,
          applicationId: p.applicationId,
          sessionId: p.sessionId,
          createdBy: p.createdBy,
          createdAt: p.createdAt,
          expiresAt: p.expiresAt,
        }),
      ),
  ),
  nameOf: db.prepare(pick(accessTokens, 'userId', 'id'), { name: accessTokens.name }, (k, p) =>
    k('access_tokens').where('user_id', p.userId).where('id', p.id).forUpdate(),
  ),
  idOfName: db.prepare(pick(accessTokens, 'userId', 'name'), { id: accessTokens.id }, (k, p) =>
    k('access_tokens').where('user_id', p.userId).where('name', p.name),
  ),
  remove: db.prepare(pick(accessTokens, 'userId', 'id'), (k, p) =>
    k('access_tokens').where('user_id', p.userId).where('id', p.id).delete(),
  ),
  lock: db.prepare(pick(accessTokens, 'userId', 'id'), tokenWithOrganization, (k, p) =>
    withOrganization(tokensOf(k, p)).where('t.id', p.id).forUpdate(),
  ),
  replaceValue: db.prepare(
    { ...pick(accessTokens, 'userId', 'id', 'lastEight', 'createdAt', 'expiresAt'), hash: accessTokens.tokenHash },
    (k, p) =>
      k('access_tokens')
        .where('user_id', p.userId)
        .where('id', p.id)
        .update(
          values(accessTokens, {
            tokenHash: p.hash,
            lastEight: p.lastEight,
            createdAt: p.createdAt,
            expiresAt: p.expiresAt,
            lastUsedAt: null,
            warnedDays: null,
          }),
        ),
  ),
  madeAt: db.prepare(pick(accessTokens, 'userId', 'id'), { createdAt: accessTokens.createdAt }, (k, p) =>
    k('access_tokens').where('user_id', p.userId).where('id', p.id),
  ),
  lockOwner: db.prepare({ userId: users.id }, { id: users.id }, (k, p) => k('users').where('id', p.userId).forUpdate()),
  ofCluster: db.prepare(
    { userId: accessTokens.userId, clusterId: present(accessTokens.onlyClusterId) },
    tokenRow,
    (k, p) =>
      k('access_tokens').where('only_cluster_id', p.clusterId).where('user_id', p.userId).orderBy(['created_at', 'id']),
  ),
  ofApplication: db.prepare(
    { userId: accessTokens.userId, applicationId: present(accessTokens.applicationId) },
    { id: accessTokens.id },
    (k, p) => k('access_tokens').where('user_id', p.userId).where('application_id', p.applicationId),
  ),
  origin: db.prepare(pick(accessTokens, 'userId', 'id'), pick(accessTokens, 'applicationId', 'sessionId'), (k, p) =>
    k('access_tokens').where('user_id', p.userId).where('id', p.id),
  ),
  all: db.prepare({ userId: accessTokens.userId }, { id: accessTokens.id }, (k, p) =>
    k('access_tokens').where('user_id', p.userId),
  ),
})

/** Access tokens on SQL. Only the hash of a token is stored. */
export const makeSqlAccessTokenStore = (db: SqlDatabase): ((runner: SqlRunner) => AccessTokenStore) => {
  const s = statements(db)
  return (runner) => ({
    async list(userId, page) {
      return mapPage(await s.list(runner, { userId }, page), tokenOf)
    },
    async insert(given) {
      const { userId, madeWith: id } = given
      const origin = id === undefined ? undefined : await runner.first(s.origin, { userId, id })
      const record = { ...given, ...origin }
      try {
        const inserted = await runner.run(s.insert, {
          userId: record.userId,
          name: record.name,
          hash: record.hash,
          lastEight: record.lastEight,
          scopes: storedScopes(record),
          onlyOrgId: record.onlyOrgId,
          onlyClusterId: record.onlyClusterId,
          applicationId: record.applicationId,
          sessionId: record.sessionId,
          createdBy: record.createdBy,
          createdAt: record.createdAt,
          expiresAt: record.expiresAt,
        })
        return right(inserted.insertId as TokenId)
      } catch (error) {
        if (isUniqueViolation(error, 'name')) return left(TokenNameTaken('The name of the token is already in use.'))
        throw error
      }
    },
    async idOfName(userId, name) {
      const row = await runner.first(s.idOfName, { userId, name })
      return row === undefined ? undefined : row.id
    },
    async remove(userId, id) {
      const row = await runner.first(s.nameOf, { userId, id })
      if (row === undefined) return undefined
      await runner.run(s.remove, { userId, id })
      return row.name
    },
    async removeOfApplication(userId, applicationId) {
      return removeRows(runner, s.ofApplication, s.remove, { userId, applicationId })
    },
    async removeAll(userId) {
      return removeRows(runner, s.all, s.remove, { userId })
    },
    async lock(userId, id) {
      const row = await runner.first(s.lock, { userId, id })
      return row === undefined ? undefined : tokenOf(row)
    },
    async replaceValue(userId, id, { hash, lastEight, createdAt, expiresAt }) {
      await runner.run(s.replaceValue, {
        userId,
        id,
        hash,
        lastEight,
        createdAt,
        expiresAt,
      })
    },
    async isInForce(userId, id, createdAt) {
      const row = await runner.first(s.madeAt, { userId, id })
      return row !== undefined && row.createdAt.getTime() === createdAt?.getTime()
    },
    async lockOwner(userId) {
      await runner.first(s.lockOwner, { userId })
    },
    async ofCluster(userId, clusterId) {
      return (await runner.all(s.ofCluster, { userId, clusterId })).map(tokenOf)
    },
  })
}

const notWarned =
  (column: 't.warned_days' | 'warned_days', days: Slot<'integer'>) =>
  (query: Knex.QueryBuilder): void => {
    query.whereNull(column).orWhere(column, '>', days)
  }

const expiryStatements = (db: SqlDatabase) => ({
  due: db.prepare(
    {
      now: present(accessTokens.expiresAt),
      until: present(accessTokens.expiresAt),
      life: long(),
      days: int(),
      limit: int(),
    },
    {
      id: aliased(accessTokens, 't').id,
      userId: aliased(accessTokens, 't').userId,
      login: aliased(accounts, 'a').name,
      email: aliased(emails, 'e').email,
      name: aliased(accessTokens, 't').name,
      lastEight: aliased(accessTokens, 't').lastEight,
      expiresAt: present(aliased(accessTokens, 't').expiresAt),
    },
    (k, p) =>
      k('access_tokens as t')
        .join('users as u', 'u.id', 't.user_id')
        .join('accounts as a', 'a.id', 't.user_id')
        .join('emails as e', (join) =>
          join.on('e.user_id', 't.user_id').andOn('e.is_primary', k.raw('1')).andOn('e.verified', k.raw('1')),
        )
        .where('t.expires_at', '>', p.now)
        .where('t.expires_at', '<=', p.until)
        .whereRaw('t.expires_at - t.created_at > ?', [p.life])
        .where(notWarned('t.warned_days', p.days))
        .where('u.is_active', true)
        // A kubeconfig's token is issued again with the kubeconfig.
        .whereNull('t.only_cluster_id')
        // So is the token of an application.
        .whereNull('t.application_id')
        .orderBy(['t.expires_at', 't.id'])
        .limit(p.limit),
  ),
  mark: db.prepare({ id: accessTokens.id, days: accessTokens.warnedDays, seen: int() }, (k, p) =>
    k('access_tokens')
      .where('id', p.id)
      .where(notWarned('warned_days', p.seen))
      .update(values(accessTokens, { warnedDays: p.days })),
  ),
  ended: db.prepare(
    { at: present(accessTokens.expiresAt), limit: int() },
    pick(accessTokens, 'id', 'userId', 'name'),
    (k, p) => k('access_tokens').where('expires_at', '<', p.at).orderBy(['expires_at', 'id']).limit(p.limit),
  ),
})

/** The expiry of access tokens on SQL. */
export const makeSqlTokenExpiryStore = (db: SqlDatabase): ((runner: SqlRunner) => TokenExpiryStore) => {
  const s = expiryStatements(db)
  return (runner) => ({
    async dueWarnings(days, now, limit) {
      const life = days * dayMilliseconds
      return runner.all(s.due, {
        now,
        until: new Date(now.getTime() + life),
        life,
        days,
        limit,
      })
    },
    async markWarned(id, days) {
      return (await runner.run(s.mark, { id, days, seen: days })).affected === 1
    },
    async endedBefore(at, limit) {
      return runner.all(s.ended, { at, limit })
    },
  })
}
