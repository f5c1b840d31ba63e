import type { Knex } from 'knex'
import type { TokenId, UserId } from '../../../core/kernel/ids.ts'
import { dayMilliseconds } from '../../../core/kernel/clock.ts'
import type { TokenExpiryStore } from '../../../core/identity/token-expiry-ports.ts'
import type { Num, SqlDatabase, SqlRunner } from '../statement.ts'

interface ExpiringRow {
  readonly id: Num
  readonly user_id: Num
  readonly login: string
  readonly email: string
  readonly name: string
  readonly last_eight: string
  readonly expires_at: Num
}

const notWarned = (column: string, days: Knex.Value) => (query: Knex.QueryBuilder): void => {
  query.whereNull(column).orWhere(column, '>', days)
}

const statements = (db: SqlDatabase) => ({
  due: db.prepare((k, p: (n: 'now' | 'until' | 'life' | 'days' | 'limit') => Knex.Value & number) =>
    k('access_tokens as t')
      .join('users as u', 'u.id', 't.user_id')
      .join('accounts as a', 'a.id', 't.user_id')
      .join('emails as e', (join) => join.on('e.user_id', 't.user_id').andOn('e.is_primary', k.raw('1')).andOn('e.verified', k.raw('1')))
      .where('t.expires_at', '>', p('now'))
      .where('t.expires_at', '<=', p('until'))
      .whereRaw('t.expires_at - t.created_at > ?', [p('life')])
      .where(notWarned('t.warned_days', p('days')))
      .where('u.is_active', true)
      // One of a kubeconfig is made again with the kubeconfig.
      .whereNull('t.only_cluster_id')
      .select('t.id', 't.user_id', 'a.name as login', 'e.email', 't.name', 't.last_eight', 't.expires_at')
      .orderBy(['t.expires_at', 't.id'])
      .limit(p('limit')),
  ),
  mark: db.prepare((k, p: (n: 'id' | 'days' | 'seen') => Knex.Value) =>
    k('access_tokens').where('id', p('id')).where(notWarned('warned_days', p('seen'))).update({ warned_days: p('days') }),
  ),
  ended: db.prepare((k, p: (n: 'at' | 'limit') => Knex.Value & number) =>
    k('access_tokens').where('expires_at', '<', p('at')).select('id', 'user_id', 'name').orderBy(['expires_at', 'id']).limit(p('limit')),
  ),
})

/** The end of access tokens on SQL. */
export const makeSqlTokenExpiryStore = (db: SqlDatabase): ((runner: SqlRunner) => TokenExpiryStore) => {
  const s = statements(db)
  return (runner) => ({
    async dueWarnings(days, now, limit) {
      const life = days * dayMilliseconds
      const rows = await runner.all<ExpiringRow>(s.due, { now: now.getTime(), until: now.getTime() + life, life, days, limit })
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
      return rows.map((row) => ({ id: Number(row.id) as TokenId, userId: Number(row.user_id) as UserId, name: row.name }))
    },
  })
}
