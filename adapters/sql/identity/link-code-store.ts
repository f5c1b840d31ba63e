import type { Knex } from 'knex'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { LinkCodeStore } from '../../../core/identity/link-code-ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

const maxPurged = 1_000

type InsertBind = 'userId' | 'kind' | 'emailKey' | 'hash' | 'at' | 'expires'

const statements = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('identity_codes').insert({
      user_id: p('userId'),
      kind: p('kind'),
      lower_email: p('emailKey'),
      code_hash: p('hash'),
      created_at: p('at'),
      expires_at: p('expires'),
    }),
  ),
  find: db.prepare((k, p: (n: 'kind' | 'hash' | 'now') => Knex.Value) =>
    k('identity_codes')
      .where({ code_hash: p('hash'), kind: p('kind') })
      .whereNull('closed_at')
      .where('expires_at', '>', p('now'))
      .select('user_id', 'lower_email'),
  ),
  use: db.prepare((k, p: (n: 'kind' | 'hash' | 'now' | 'closedAt') => Knex.Value) =>
    k('identity_codes')
      .where({ code_hash: p('hash'), kind: p('kind') })
      .whereNull('closed_at')
      .where('expires_at', '>', p('now'))
      .update({ closed_at: p('closedAt') }),
  ),
  closeAll: db.prepare((k, p: (n: 'userId' | 'kind' | 'now') => Knex.Value) =>
    k('identity_codes').where({ user_id: p('userId'), kind: p('kind') }).whereNull('closed_at').update({ closed_at: p('now') }),
  ),
  closeSentTo: db.prepare((k, p: (n: 'userId' | 'kind' | 'emailKey' | 'now') => Knex.Value) =>
    k('identity_codes')
      .where({ user_id: p('userId'), kind: p('kind'), lower_email: p('emailKey') })
      .whereNull('closed_at')
      .update({ closed_at: p('now') }),
  ),
  sentSince: db.prepare((k, p: (n: 'emailKey' | 'since') => Knex.Value) =>
    k('identity_codes').where('lower_email', p('emailKey')).where('created_at', '>', p('since')).select('created_at').orderBy('created_at').limit(100),
  ),
  oldest: db.prepare((k, p: (n: 'at') => Knex.Value) =>
    k('identity_codes').where('created_at', '<', p('at')).select('id').orderBy('created_at').limit(maxPurged),
  ),
  remove: db.prepare((k, p: (n: 'id') => Knex.Value) => k('identity_codes').where('id', p('id')).delete()),
})

/** Link codes on SQL. */
export const makeSqlLinkCodeStore = (db: SqlDatabase): ((runner: SqlRunner) => LinkCodeStore) => {
  const s = statements(db)
  return (runner) => ({
    async insert({ userId, kind, emailKey, hash, createdAt, expiresAt }) {
      await runner.run(s.insert, { userId, kind, emailKey, hash, at: createdAt.getTime(), expires: expiresAt.getTime() })
    },
    async find(kind, hash, now) {
      const row = await runner.first<{ user_id: number | string; lower_email: string }>(s.find, { kind, hash, now: now.getTime() })
      return row === undefined ? undefined : { userId: Number(row.user_id) as UserId, emailKey: row.lower_email }
    },
    async use(kind, hash, now) {
      return (await runner.run(s.use, { kind, hash, now: now.getTime(), closedAt: now.getTime() })).affected === 1
    },
    async closeAll(userId, kind, emailKey, now) {
      if (emailKey === undefined) await runner.run(s.closeAll, { userId, kind, now: now.getTime() })
      else await runner.run(s.closeSentTo, { userId, kind, emailKey, now: now.getTime() })
    },
    async sentSince(emailKey, since) {
      const rows = await runner.all<{ created_at: number | string }>(s.sentSince, { emailKey, since: since.getTime() })
      return rows.map((row) => new Date(Number(row.created_at)))
    },
    async purge(at) {
      const rows = await runner.all<{ id: number | string }>(s.oldest, { at: at.getTime() })
      for (const row of rows) await runner.run(s.remove, { id: Number(row.id) })
      return rows.length
    },
  })
}
