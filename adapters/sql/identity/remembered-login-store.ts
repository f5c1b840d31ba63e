import type { Knex } from 'knex'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { RememberedId, RememberedLogin, RememberedLoginStore } from '../../../core/identity/remembered-ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

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

type InsertBind = 'userId' | 'series' | 'secret' | 'sourceIp' | 'userAgent' | 'at' | 'expires'

const statements = (db: SqlDatabase) => ({
  bySeries: db.prepare((k, p: (n: 'series') => Knex.Value) => k('remembered_logins').where('series_hash', p('series')).select(...columns)),
  lock: db.prepare((k, p: (n: 'id') => Knex.Value) => k('remembered_logins').where('id', p('id')).select(...columns).forUpdate()),
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
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
  // Assignments run from left to right on MySQL, so the old secret is not read but bound.
  rotate: db.prepare((k, p: (n: 'id' | 'expected' | 'next' | 'at') => Knex.Value) =>
    k('remembered_logins')
      .where('id', p('id'))
      .where('secret_hash', p('expected'))
      .update({ secret_hash: p('next'), previous_hash: p('expected'), rotated_at: p('at') }),
  ),
  markUsed: db.prepare((k, p: (n: 'id' | 'at' | 'sourceIp' | 'userAgent') => Knex.Value) =>
    k('remembered_logins').where('id', p('id')).update({ last_used_at: p('at'), source_ip: p('sourceIp'), user_agent: p('userAgent') }),
  ),
})

/** Remembered logins on SQL. Only hashes of series and secrets are kept. */
export const makeSqlRememberedLoginStore = (db: SqlDatabase): ((runner: SqlRunner) => RememberedLoginStore) => {
  const s = statements(db)
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
