import type { Knex } from 'knex'
import type { SessionStore } from '../../../core/identity/ports.ts'
import type { RememberedLogin, RememberedLoginStore } from '../../../core/identity/sessions/ports.ts'
import type { RememberedId } from '../../../core/identity/types.ts'
import type { SessionId, UserId } from '../../../core/kernel/ids.ts'
import { removeEach } from '../kit/fragments.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { SessionRow } from './rows.ts'
import { sessionColumns, sessionOf } from './rows.ts'

const maxListed = 100
const maxPurged = 1_000
/** An id that no row has. */
const noRow = 0

interface OwnedRow {
  readonly id: number | string
  readonly user_id: number | string
}
type InsertBind = 'userId' | 'hash' | 'remember' | 'rememberedId' | 'sourceIp' | 'userAgent' | 'at' | 'idle' | 'expires'

const statements = (db: SqlDatabase) => ({
  list: db.prepare((k, p: (n: 'userId' | 'now') => Knex.Value) =>
    k('sessions as s')
      .leftJoin('remembered_logins as r', 'r.id', 's.remembered_id')
      .where('s.user_id', p('userId'))
      .where((living) =>
        living
          .where((alive) => alive.where('s.expires_at', '>', p('now')).where('s.idle_expires_at', '>', p('now')))
          .orWhere('r.expires_at', '>', p('now')),
      )
      .select(...sessionColumns.filter((column) => column !== 'expires_at').map((column) => `s.${column}`))
      .select(k.raw('coalesce(r.expires_at, s.expires_at) as expires_at'))
      .orderBy('s.id', 'desc')
      .limit(maxListed),
  ),
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('sessions').insert({
      user_id: p('userId'),
      session_hash: p('hash'),
      remember: p('remember'),
      remembered_id: p('rememberedId'),
      source_ip: p('sourceIp'),
      user_agent: p('userAgent'),
      created_at: p('at'),
      last_seen_at: p('at'),
      idle_expires_at: p('idle'),
      expires_at: p('expires'),
    }),
  ),
  remove: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('sessions').where('user_id', p('userId')).where('id', p('id')).delete(),
  ),
  allBut: db.prepare((k, p: (n: 'userId' | 'keep') => Knex.Value) =>
    k('sessions').where('user_id', p('userId')).whereNot('id', p('keep')).select('id'),
  ),
  rememberedIdOf: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('sessions').where('user_id', p('userId')).where('id', p('id')).select('remembered_id'),
  ),
  detach: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('sessions').where('user_id', p('userId')).where('id', p('id')).update({ remembered_id: null, remember: 0 }),
  ),
  // The foreign key deletes their sessions.
  removeLogin: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('remembered_logins').where('user_id', p('userId')).where('id', p('id')).delete(),
  ),
  loginsBut: db.prepare((k, p: (n: 'userId' | 'keep') => Knex.Value) =>
    k('remembered_logins').where('user_id', p('userId')).whereNot('id', p('keep')).select('id'),
  ),
  loginsOver: db.prepare((k, p: (n: 'userId' | 'now') => Knex.Value) =>
    k('remembered_logins').where('user_id', p('userId')).where('expires_at', '<=', p('now')).select('id'),
  ),
  loginsWithout: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('remembered_logins')
      .where('user_id', p('userId'))
      .whereNotExists(k('sessions').select(k.raw('1')).whereRaw('sessions.remembered_id = remembered_logins.id'))
      .select('id'),
  ),
  over: db.prepare((k, p: (n: 'userId' | 'rememberedId' | 'now') => Knex.Value) =>
    k('sessions')
      .where('user_id', p('userId'))
      .where('remembered_id', p('rememberedId'))
      .where((over) => over.where('expires_at', '<=', p('now')).orWhere('idle_expires_at', '<=', p('now')))
      .select('id'),
  ),
  expired: db.prepare((k, p: (n: 'userId' | 'now') => Knex.Value) =>
    k('sessions')
      .where('user_id', p('userId'))
      .whereNull('remembered_id')
      .where((over) => over.where('expires_at', '<=', p('now')).orWhere('idle_expires_at', '<=', p('now')))
      .select('id'),
  ),
  oldestKept: db.prepare((k, p: (n: 'userId' | 'offset') => Knex.Value & number) =>
    k('sessions').where('user_id', p('userId')).select('id').orderBy('id', 'desc').limit(1).offset(p('offset')),
  ),
  older: db.prepare((k, p: (n: 'userId' | 'than') => Knex.Value) =>
    k('sessions').where('user_id', p('userId')).where('id', '<', p('than')).select('id'),
  ),
  loginsEnded: db.prepare((k, p: (n: 'at' | 'sessionsAt') => Knex.Value) =>
    k('remembered_logins as r')
      .where('r.expires_at', '<', p('at'))
      .whereNotExists(
        k('sessions')
          .whereRaw('sessions.remembered_id = r.id')
          .where('sessions.expires_at', '>=', p('sessionsAt'))
          .select(k.raw('1')),
      )
      .select('r.id', 'r.user_id')
      .orderBy('r.expires_at')
      .limit(maxPurged),
  ),
  ended: db.prepare((k, p: (n: 'at') => Knex.Value) =>
    k('sessions')
      .where('expires_at', '<', p('at'))
      .whereNull('remembered_id')
      .select('id', 'user_id')
      .orderBy('expires_at')
      .limit(maxPurged),
  ),
})

/** Sessions on SQL. Only the hash of a key is stored. */
export const makeSqlSessionStore = (db: SqlDatabase): ((runner: SqlRunner) => SessionStore) => {
  const s = statements(db)
  return (runner) => {
    const rememberedIdOf = async (userId: UserId, id: SessionId): Promise<number> =>
      Number(
        (await runner.first<{ remembered_id: number | string | null }>(s.rememberedIdOf, { userId, id }))
          ?.remembered_id ?? noRow,
      )
    return {
      async list(userId, now) {
        return (await runner.all<SessionRow>(s.list, { userId, now: now.getTime() })).map(sessionOf)
      },
      async insert(session) {
        const inserted = await runner.run(s.insert, {
          userId: session.userId,
          hash: session.hash,
          remember: session.rememberedId !== undefined,
          rememberedId: session.rememberedId ?? null,
          sourceIp: session.sourceIp,
          userAgent: session.userAgent,
          at: session.createdAt.getTime(),
          idle: session.idleExpiresAt.getTime(),
          expires: session.expiresAt.getTime(),
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
        const removed = await removeEach(runner, s.allBut, s.remove, { userId, keep: keep ?? noRow })
        if (keep !== undefined) await runner.run(s.detach, { userId, id: keep })
        await removeEach(runner, s.loginsBut, s.removeLogin, { userId, keep: noRow })
        return removed
      },
      async removeOthers(userId, keep) {
        const removed = await removeEach(runner, s.allBut, s.remove, { userId, keep })
        await removeEach(runner, s.loginsBut, s.removeLogin, { userId, keep: await rememberedIdOf(userId, keep) })
        return removed
      },
      async trim(userId, count, now) {
        await removeEach(runner, s.loginsOver, s.removeLogin, { userId, now: now.getTime() })
        await removeEach(runner, s.expired, s.remove, { userId, now: now.getTime() })
        const oldest = await runner.first<{ id: number | string }>(s.oldestKept, { userId, offset: count - 1 })
        if (oldest === undefined) return
        const removed = await removeEach(runner, s.older, s.remove, { userId, than: Number(oldest.id) })
        if (removed > 0) await removeEach(runner, s.loginsWithout, s.removeLogin, { userId })
      },
      async removeOver(userId, rememberedId, now) {
        await removeEach(runner, s.over, s.remove, { userId, rememberedId, now: now.getTime() })
      },
      async purge(at) {
        const logins = await runner.all<OwnedRow>(s.loginsEnded, { at: at.getTime(), sessionsAt: at.getTime() })
        for (const row of logins) await runner.run(s.removeLogin, { userId: Number(row.user_id), id: Number(row.id) })
        const sessions = await runner.all<OwnedRow>(s.ended, { at: at.getTime() })
        for (const row of sessions) await runner.run(s.remove, { userId: Number(row.user_id), id: Number(row.id) })
        return logins.length + sessions.length
      },
    }
  }
}

interface RememberedRow {
  readonly id: number | string
  readonly user_id: number | string
  readonly secret_hash: Uint8Array
  readonly previous_hash: Uint8Array | null
  readonly rotated_at: number | string | null
  readonly created_at: number | string
  readonly expires_at: number | string
}
const columns = ['id', 'user_id', 'secret_hash', 'previous_hash', 'rotated_at', 'created_at', 'expires_at'] as const

const rememberedOf = (row: RememberedRow): RememberedLogin => ({
  id: Number(row.id) as RememberedId,
  userId: Number(row.user_id) as UserId,
  secretHash: row.secret_hash,
  previousHash: row.previous_hash ?? undefined,
  rotatedAt: row.rotated_at === null ? undefined : new Date(Number(row.rotated_at)),
  createdAt: new Date(Number(row.created_at)),
  expiresAt: new Date(Number(row.expires_at)),
})

type RememberedBind = 'userId' | 'series' | 'secret' | 'sourceIp' | 'userAgent' | 'at' | 'expires'

const rememberedStatements = (db: SqlDatabase) => ({
  bySeries: db.prepare((k, p: (n: 'series') => Knex.Value) =>
    k('remembered_logins')
      .where('series_hash', p('series'))
      .select(...columns),
  ),
  lock: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('remembered_logins')
      .where('id', p('id'))
      .select(...columns)
      .forUpdate(),
  ),
  insert: db.prepare((k, p: (n: RememberedBind) => Knex.Value) =>
    k('remembered_logins').insert({
      user_id: p('userId'),
      series_hash: p('series'),
      secret_hash: p('secret'),
      source_ip: p('sourceIp'),
      user_agent: p('userAgent'),
      created_at: p('at'),
      last_used_at: p('at'),
      expires_at: p('expires'),
    }),
  ),
  // MySQL assigns from left to right, so the old secret is passed as a bind instead of read from the row.
  rotate: db.prepare((k, p: (n: 'id' | 'expected' | 'next' | 'at') => Knex.Value) =>
    k('remembered_logins')
      .where('id', p('id'))
      .where('secret_hash', p('expected'))
      .update({ secret_hash: p('next'), previous_hash: p('expected'), rotated_at: p('at') }),
  ),
  markUsed: db.prepare((k, p: (n: 'id' | 'at' | 'sourceIp' | 'userAgent') => Knex.Value) =>
    k('remembered_logins')
      .where('id', p('id'))
      .update({ last_used_at: p('at'), source_ip: p('sourceIp'), user_agent: p('userAgent') }),
  ),
})

/** Remembered logins on SQL. Only hashes of series and secrets are stored. */
export const makeSqlRememberedLoginStore = (db: SqlDatabase): ((runner: SqlRunner) => RememberedLoginStore) => {
  const s = rememberedStatements(db)
  return (runner) => ({
    async bySeries(hash) {
      const row = await runner.first<RememberedRow>(s.bySeries, { series: hash })
      return row === undefined ? undefined : rememberedOf(row)
    },
    async lock(id) {
      const row = await runner.first<RememberedRow>(s.lock, { id })
      return row === undefined ? undefined : rememberedOf(row)
    },
    async insert(login) {
      const inserted = await runner.run(s.insert, {
        userId: login.userId,
        series: login.seriesHash,
        secret: login.secretHash,
        sourceIp: login.sourceIp,
        userAgent: login.userAgent,
        at: login.createdAt.getTime(),
        expires: login.expiresAt.getTime(),
      })
      return inserted.insertId as RememberedId
    },
    async rotate(id, expected, next, at) {
      return (await runner.run(s.rotate, { id, expected, next, at: at.getTime() })).affected > 0
    },
    async markUsed(id, at, sourceIp, userAgent) {
      await runner.run(s.markUsed, { id, at: at.getTime(), sourceIp, userAgent })
    },
  })
}
