import type { Knex } from 'knex'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { Num, SqlDatabase, SqlRunner } from '../statement.ts'

type P<N extends string> = (name: N) => Knex.Value & number

export const endedStatements = (db: SqlDatabase) => {
  const ended = (k: Knex, tenantId: Knex.Value) => k('tasks').where('tenant_id', tenantId).whereNotNull('ended_at').select('id')
  return {
    count: db.prepare((k, p: P<'tenantId' | 'most'>) => k.from(ended(k, p('tenantId')).limit(p('most')).as('counted')).count({ count: '*' })),
    oldest: db.prepare((k, p: P<'tenantId' | 'limit'>) => ended(k, p('tenantId')).orderBy('ended_at').orderBy('id').limit(p('limit'))),
    remove: db.prepare((k, p: P<'id'>) => k('tasks').where('id', p('id')).delete()),
  }
}

/**
 * Removes of a tenant's ended tasks beyond the newest `kept` the oldest, with their events, and answers how many of at
 * most `limit`. Counting stops where the answer does not depend on it any more.
 */
export const makeRemoveEndedBeyond = (db: SqlDatabase) => {
  const { count, oldest, remove } = endedStatements(db)
  return async (runner: SqlRunner, tenantId: AccountId, kept: number, limit: number): Promise<number> => {
    const found = Number((await runner.first<{ count: Num }>(count, { tenantId, most: kept + limit }))?.count ?? 0)
    if (found <= kept) return 0
    let removed = 0
    for (const { id } of await runner.all<{ id: Num }>(oldest, { tenantId, limit: found - kept })) removed += (await runner.run(remove, { id: Number(id) })).affected
    return removed
  }
}
