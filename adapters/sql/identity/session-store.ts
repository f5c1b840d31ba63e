import type { SessionStore } from '../../../core/identity/ports.ts'
import type { RememberedLoginStore } from '../../../core/identity/sessions/ports.ts'
import type { RememberedId } from '../../../core/identity/types.ts'
import type { SessionId, UserId } from '../../../core/kernel/ids.ts'
import { removeRows } from '../kit/fragments.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { sessionRow } from './rows.ts'
import { aliased, int, pick, present } from '../kit/columns.ts'
import { newRow, values } from '../kit/values.ts'
import { rememberedLogins, sessions } from '../tables/identity.ts'

const maxListed = 100
const maxPurged = 1_000
/** An id that no row has. */
const noRow = 0 as RememberedId & SessionId

const statements = (db: SqlDatabase) => ({
  list: db.prepare({ userId: sessions.userId, now: sessions.expiresAt }, sessionRow, (k, p) =>
    k('sessions as s')
      .leftJoin('remembered_logins as r', 'r.id', 's.remembered_id')
      .where('s.user_id', p.userId)
      .where((living) =>
        living
          .where((alive) => alive.where('s.expires_at', '>', p.now).where('s.idle_expires_at', '>', p.now))
          .orWhere('r.expires_at', '>', p.now),
      )
      .orderBy('s.id', 'desc')
      .limit(maxListed),
  ),
  insert: db.prepare(
    {
      ...pick(sessions, 'userId', 'remember', 'rememberedId', 'sourceIp', 'userAgent', 'proof'),
      hash: sessions.sessionHash,
      at: sessions.createdAt,
      idle: sessions.idleExpiresAt,
      expires: sessions.expiresAt,
    },
    (k, p) =>
      k('sessions').insert(
        newRow(sessions, {
          userId: p.userId,
          sessionHash: p.hash,
          remember: p.remember,
          rememberedId: p.rememberedId,
          sourceIp: p.sourceIp,
          userAgent: p.userAgent,
          createdAt: p.at,
          lastSeenAt: p.at,
          idleExpiresAt: p.idle,
          expiresAt: p.expires,
          proof: p.proof,
        }),
      ),
  ),
  remove: db.prepare(pick(sessions, 'userId', 'id'), (k, p) =>
    k('sessions').where('user_id', p.userId).where('id', p.id).delete(),
  ),
  allBut: db.prepare({ userId: sessions.userId, keep: sessions.id }, { id: sessions.id }, (k, p) =>
    k('sessions').where('user_id', p.userId).whereNot('id', p.keep),
  ),
  rememberedIdOf: db.prepare(pick(sessions, 'userId', 'id'), { rememberedId: sessions.rememberedId }, (k, p) =>
    k('sessions').where('user_id', p.userId).where('id', p.id),
  ),
  detach: db.prepare(pick(sessions, 'userId', 'id'), (k, p) =>
    k('sessions')
      .where('user_id', p.userId)
      .where('id', p.id)
      .update(values(sessions, { rememberedId: null, remember: false })),
  ),
  // The foreign key deletes their sessions.
  removeLogin: db.prepare(pick(rememberedLogins, 'userId', 'id'), (k, p) =>
    k('remembered_logins').where('user_id', p.userId).where('id', p.id).delete(),
  ),
  loginsBut: db.prepare(
    { userId: rememberedLogins.userId, keep: rememberedLogins.id },
    { id: rememberedLogins.id },
    (k, p) => k('remembered_logins').where('user_id', p.userId).whereNot('id', p.keep),
  ),
  loginsOver: db.prepare(
    { userId: rememberedLogins.userId, now: rememberedLogins.expiresAt },
    { id: rememberedLogins.id },
    (k, p) => k('remembered_logins').where('user_id', p.userId).where('expires_at', '<=', p.now),
  ),
  loginsWithout: db.prepare({ userId: rememberedLogins.userId }, { id: rememberedLogins.id }, (k, p) =>
    k('remembered_logins')
      .where('user_id', p.userId)
      .whereNotExists(k('sessions').select(k.raw('1')).whereRaw('sessions.remembered_id = remembered_logins.id')),
  ),
  over: db.prepare(
    { userId: sessions.userId, rememberedId: present(sessions.rememberedId), now: sessions.expiresAt },
    { id: sessions.id },
    (k, p) =>
      k('sessions')
        .where('user_id', p.userId)
        .where('remembered_id', p.rememberedId)
        .where((over) => over.where('expires_at', '<=', p.now).orWhere('idle_expires_at', '<=', p.now)),
  ),
  ...purges(db),
})

/** What is over, or too much. */
const purges = (db: SqlDatabase) => ({
  expired: db.prepare({ userId: sessions.userId, now: sessions.expiresAt }, { id: sessions.id }, (k, p) =>
    k('sessions')
      .where('user_id', p.userId)
      .whereNull('remembered_id')
      .where((over) => over.where('expires_at', '<=', p.now).orWhere('idle_expires_at', '<=', p.now)),
  ),
  oldestKept: db.prepare({ userId: sessions.userId, offset: int() }, { id: sessions.id }, (k, p) =>
    k('sessions').where('user_id', p.userId).orderBy('id', 'desc').limit(1).offset(p.offset),
  ),
  older: db.prepare({ userId: sessions.userId, than: sessions.id }, { id: sessions.id }, (k, p) =>
    k('sessions').where('user_id', p.userId).where('id', '<', p.than),
  ),
  loginsEnded: db.prepare(
    { at: rememberedLogins.expiresAt, sessionsAt: sessions.expiresAt },
    pick(aliased(rememberedLogins, 'r'), 'id', 'userId'),
    (k, p) =>
      k('remembered_logins as r')
        .where('r.expires_at', '<', p.at)
        .whereNotExists(
          k('sessions')
            .whereRaw('sessions.remembered_id = r.id')
            .where('sessions.expires_at', '>=', p.sessionsAt)
            .select(k.raw('1')),
        )
        .orderBy('r.expires_at')
        .limit(maxPurged),
  ),
  ended: db.prepare({ at: sessions.expiresAt }, pick(sessions, 'id', 'userId'), (k, p) =>
    k('sessions').where('expires_at', '<', p.at).whereNull('remembered_id').orderBy('expires_at').limit(maxPurged),
  ),
})

/** Sessions on SQL. Only the hash of a key is stored. */
export const makeSqlSessionStore = (db: SqlDatabase): ((runner: SqlRunner) => SessionStore) => {
  const s = statements(db)
  return (runner) => {
    const rememberedIdOf = async (userId: UserId, id: SessionId): Promise<RememberedId> =>
      (await runner.first(s.rememberedIdOf, { userId, id }))?.rememberedId ?? noRow
    return {
      async list(userId, now) {
        return runner.all(s.list, { userId, now })
      },
      async insert(session) {
        const inserted = await runner.run(s.insert, {
          userId: session.userId,
          hash: session.hash,
          remember: session.rememberedId !== undefined,
          rememberedId: session.rememberedId,
          sourceIp: session.sourceIp,
          userAgent: session.userAgent,
          at: session.createdAt,
          idle: session.idleExpiresAt,
          expires: session.expiresAt,
          proof: session.proof,
        })
        return inserted.insertId as SessionId
      },
      async remove(userId, id) {
        const login = await rememberedIdOf(userId, id)
        if (login !== noRow) await runner.run(s.removeLogin, { userId, id: login })
        const removed = await runner.run(s.remove, { userId, id })
        return removed.affected > 0 || login !== noRow
      },
      async removeAll(userId, keep) {
        const removed = await removeRows(runner, s.allBut, s.remove, { userId, keep: keep ?? noRow })
        if (keep !== undefined) await runner.run(s.detach, { userId, id: keep })
        await removeRows(runner, s.loginsBut, s.removeLogin, { userId, keep: noRow })
        return removed
      },
      async removeOthers(userId, keep) {
        const removed = await removeRows(runner, s.allBut, s.remove, { userId, keep })
        await removeRows(runner, s.loginsBut, s.removeLogin, { userId, keep: await rememberedIdOf(userId, keep) })
        return removed
      },
      async trim(userId, count, now) {
        await removeRows(runner, s.loginsOver, s.removeLogin, { userId, now })
        await removeRows(runner, s.expired, s.remove, { userId, now })
        const oldest = await runner.first(s.oldestKept, { userId, offset: count - 1 })
        if (oldest === undefined) return
        const removed = await removeRows(runner, s.older, s.remove, { userId, than: oldest.id })
        if (removed > 0) await removeRows(runner, s.loginsWithout, s.removeLogin, { userId })
      },
      async removeOver(userId, rememberedId, now) {
        await removeRows(runner, s.over, s.remove, { userId, rememberedId, now })
      },
      async purge(at) {
        const logins = await runner.all(s.loginsEnded, { at, sessionsAt: at })
        for (const row of logins) await runner.run(s.removeLogin, { userId: row.userId, id: row.id })
        const sessions = await runner.all(s.ended, { at })
        for (const row of sessions) await runner.run(s.remove, { userId: row.userId, id: row.id })
        return logins.length + sessions.length
      },
    }
  }
}

const rememberedRow = pick(
  rememberedLogins,
  'id',
  'userId',
  'secretHash',
  'previousHash',
  'rotatedAt',
  'createdAt',
  'expiresAt',
  'proof',
)

const rememberedStatements = (db: SqlDatabase) => ({
  bySeries: db.prepare({ series: rememberedLogins.seriesHash }, rememberedRow, (k, p) =>
    k('remembered_logins').where('series_hash', p.series),
  ),
  lock: db.prepare({ id: rememberedLogins.id }, rememberedRow, (k, p) =>
    k('remembered_logins').where('id', p.id).forUpdate(),
  ),
  insert: db.prepare(
    {
      ...pick(rememberedLogins, 'userId', 'sourceIp', 'userAgent', 'proof'),
      series: rememberedLogins.seriesHash,
      secret: rememberedLogins.secretHash,
      at: rememberedLogins.createdAt,
      expires: rememberedLogins.expiresAt,
    },
    (k, p) =>
      k('remembered_logins').insert(
        newRow(rememberedLogins, {
          userId: p.userId,
          seriesHash: p.series,
          secretHash: p.secret,
          sourceIp: p.sourceIp,
          userAgent: p.userAgent,
          createdAt: p.at,
          lastUsedAt: p.at,
          expiresAt: p.expires,
          proof: p.proof,
        }),
      ),
  ),
  // MySQL assigns from left to right, so the old secret is passed as a bind instead of read from the row.
  rotate: db.prepare(
    {
      id: rememberedLogins.id,
      expected: rememberedLogins.secretHash,
      next: rememberedLogins.secretHash,
      at: rememberedLogins.rotatedAt,
    },
    (k, p) =>
      k('remembered_logins')
        .where('id', p.id)
        .where('secret_hash', p.expected)
        .update(values(rememberedLogins, { secretHash: p.next, previousHash: p.expected, rotatedAt: p.at })),
  ),
  markUsed: db.prepare(
    { ...pick(rememberedLogins, 'id', 'sourceIp', 'userAgent'), at: rememberedLogins.lastUsedAt },
    (k, p) =>
      k('remembered_logins')
        .where('id', p.id)
        .update(values(rememberedLogins, { lastUsedAt: p.at, sourceIp: p.sourceIp, userAgent: p.userAgent })),
  ),
})

/** Remembered logins on SQL. Only hashes of series and secrets are stored. */
export const makeSqlRememberedLoginStore = (db: SqlDatabase): ((runner: SqlRunner) => RememberedLoginStore) => {
  const s = rememberedStatements(db)
  return (runner) => ({
    async bySeries(hash) {
      return runner.first(s.bySeries, { series: hash })
    },
    async lock(id) {
      return runner.first(s.lock, { id })
    },
    async insert(login) {
      const inserted = await runner.run(s.insert, {
        userId: login.userId,
        series: login.seriesHash,
        secret: login.secretHash,
        sourceIp: login.sourceIp,
        userAgent: login.userAgent,
        at: login.createdAt,
        expires: login.expiresAt,
        proof: login.proof,
      })
      return inserted.insertId as RememberedId
    },
    async rotate(id, expected, next, at) {
      return (await runner.run(s.rotate, { id, expected, next, at })).affected > 0
    },
    async markUsed(id, at, sourceIp, userAgent) {
      await runner.run(s.markUsed, { id, at, sourceIp, userAgent })
    },
  })
}
