import type { Knex } from 'knex'
import { dayMilliseconds } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { TaskRetention } from '../../../core/tasks/ports.ts'
import type { TaskId } from '../../../core/tasks/types.ts'
import { databaseNow } from '../kit/fragments.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

export const endedStatements = (db: SqlDatabase) => {
  const ended = (k: Knex, tenantId: Knex.Value) => k('tasks').where('tenant_id', tenantId).whereNotNull('ended_at').select('id')
  return {
    count: db.prepare((k, p: Params<'tenantId' | 'most'>) => k.from(ended(k, p('tenantId')).limit(p('most')).as('counted')).count({ count: '*' })),
    oldest: db.prepare((k, p: Params<'tenantId' | 'limit'>) => ended(k, p('tenantId')).orderBy('ended_at').orderBy('id').limit(p('limit'))),
    remove: db.prepare((k, p: Params<'id'>) => k('tasks').where('id', p('id')).delete()),
  }
}

/**
 * Removes the oldest ended tasks of a tenant beyond the newest `kept`, with their events: at most `limit`. Returns the
 * number removed. Counting stops where the result no longer depends on it.
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

/** TaskRetention over `tasks`. Events and outbox entries are removed with their task. */
export const makeSqlTaskRetention = (db: SqlDatabase): TaskRetention => {
  const now = databaseNow(db.dialect)
  const days = (p: Params<'days'>): Knex.RawBinding[] => [p('days')]
  const old = (column: string) => `${column} < ${now} - ${dayMilliseconds} * cast(? as ${db.dialect === 'mysql' ? 'signed' : 'integer'})`
  const ended = db.prepare((k, p: Params<'days' | 'limit'>) => k('tasks').whereRaw(old('ended_at'), days(p)).select('id').orderBy('ended_at').limit(p('limit')))
  const remove = db.prepare((k, p: Params<'id'>) => k('tasks').where('id', p('id')).delete())
  const abandoned = db.prepare((k, p: Params<'days' | 'limit'>) =>
    k('tasks')
      .whereIn('state', ['queued', 'running'])
      .whereRaw(old('created_at'), days(p))
      .where((idle) => idle.whereNull('lease_until').orWhereRaw(`lease_until < ${now} - ${dayMilliseconds}`))
      .select('id')
      .orderBy('id')
      .limit(p('limit')),
  )
  const crowded = db.prepare((k, p: Params<'kept' | 'limit'>) =>
    k('tasks').whereNotNull('ended_at').groupBy('tenant_id').havingRaw('count(*) > ?', [p('kept')]).select('tenant_id').orderBy('tenant_id').limit(p('limit')),
  )
  const removeEndedBeyond = makeRemoveEndedBeyond(db)
  return {
    async tenantsBeyond(kept, limit) {
      return (await db.all<{ tenant_id: Num }>(crowded, { kept, limit })).map(({ tenant_id }) => Number(tenant_id) as AccountId)
    },
    removeEndedBeyond: (tenantId, kept, limit) => removeEndedBeyond(db, tenantId, kept, limit),
    async removeEnded(keptDays, limit) {
      let removed = 0
      for (const { id } of await db.all<{ id: Num }>(ended, { days: keptDays, limit })) removed += (await db.run(remove, { id: Number(id) })).affected
      return removed
    },
    async abandoned(afterDays, limit) {
      return (await db.all<{ id: Num }>(abandoned, { days: afterDays, limit })).map(({ id }) => Number(id) as TaskId)
    },
  }
}
