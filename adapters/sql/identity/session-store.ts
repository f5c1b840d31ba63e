import type { Knex } from 'knex'
import type { SessionId } from '../../../core/kernel/brand.ts'
import type { SessionStore } from '../../../core/identity/ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import type { SessionRow } from './rows.ts'
import { sessionColumns, sessionOf } from './rows.ts'

const maxListed = 100

type InsertBind = 'userId' | 'hash' | 'remember' | 'sourceIp' | 'userAgent' | 'at' | 'idle' | 'expires'

const statements = (db: SqlDatabase) => ({
  list: db.prepare((k, p: (n: 'userId' | 'now') => Knex.Value) =>
    k('sessions')
      .where('user_id', p('userId'))
      .where('expires_at', '>', p('now'))
      .where('idle_expires_at', '>', p('now'))
      .select(...sessionColumns)
      .orderBy('id', 'desc')
      .limit(maxListed),
  ),
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('sessions').insert({
      user_id: p('userId'),
      session_hash: p('hash'),
      remember: p('remember'),
      source_ip: p('sourceIp'),
      user_agent: p('userAgent'),
      created_at: p('at'),
      last_seen_at: p('at'),
      idle_expires_at: p('idle'),
      expires_at: p('expires'),
    }),
  ),
  remove: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) => k('sessions').where('user_id', p('userId')).where('id', p('id')).delete()),
  removeAllBut: db.prepare((k, p: (n: 'userId' | 'keep') => Knex.Value) =>
    k('sessions').where('user_id', p('userId')).whereNot('id', p('keep')).delete(),
  ),
  removeExpired: db.prepare((k, p: (n: 'userId' | 'now') => Knex.Value) =>
    k('sessions')
      .where('user_id', p('userId'))
      .where((over) => over.where('expires_at', '<=', p('now')).orWhere('idle_expires_at', '<=', p('now')))
      .delete(),
  ),
  oldestKept: db.prepare((k, p: (n: 'userId' | 'offset') => Knex.Value & number) =>
    k('sessions').where('user_id', p('userId')).select('id').orderBy('id', 'desc').limit(1).offset(p('offset')),
  ),
  removeOlder: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('sessions').where('user_id', p('userId')).where('id', '<', p('id')).delete(),
  ),
})

/** Sessions on SQL. Only the hash of a key is kept. */
export const makeSqlSessionStore = (db: SqlDatabase): ((runner: SqlRunner) => SessionStore) => {
  const s = statements(db)
  return (runner) => ({
    async list(userId, now) {
      return (await runner.all<SessionRow>(s.list, { userId, now: now.getTime() })).map(sessionOf)
    },
    async insert(session) {
      const inserted = await runner.run(s.insert, {
        userId: session.userId,
        hash: session.hash,
        remember: session.remember,
        sourceIp: session.sourceIp,
        userAgent: session.userAgent,
        at: session.createdAt.getTime(),
        idle: session.idleExpiresAt.getTime(),
        expires: session.expiresAt.getTime(),
      })
      return inserted.insertId as SessionId
    },
    async remove(userId, id) {
      return (await runner.run(s.remove, { userId, id })).affected > 0
    },
    async removeAll(userId, keep) {
      // No row has the id 0.
      return (await runner.run(s.removeAllBut, { userId, keep: keep ?? 0 })).affected
    },
    async trim(userId, count, now) {
      await runner.run(s.removeExpired, { userId, now: now.getTime() })
      const oldest = await runner.first<{ id: number | string }>(s.oldestKept, { userId, offset: count - 1 })
      if (oldest !== undefined) await runner.run(s.removeOlder, { userId, id: Number(oldest.id) })
    },
  })
}
