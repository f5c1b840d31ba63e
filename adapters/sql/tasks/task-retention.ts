import type { Knex } from 'knex'
import { dayMilliseconds } from '../../../core/kernel/clock.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { TaskRetention } from '../../../core/tasks/store-ports.ts'
import type { TaskId } from '../../../core/tasks/types.ts'
import { databaseNow } from '../database-clock.ts'
import type { Num, SqlDatabase } from '../statement.ts'
import { makeRemoveEndedBeyond } from './ended-beyond.ts'

type P<N extends string> = (name: N) => Knex.Value & number

/** TaskRetention over `tasks`; events and what waits for the bus go with their task. */
export const makeSqlTaskRetention = (db: SqlDatabase): TaskRetention => {
  const now = databaseNow(db.dialect)
  const days = (p: P<'days'>): Knex.RawBinding[] => [p('days')]
  const old = (column: string) => `${column} < ${now} - ${dayMilliseconds} * cast(? as ${db.dialect === 'mysql' ? 'signed' : 'integer'})`
  const ended = db.prepare((k, p: P<'days' | 'limit'>) => k('tasks').whereRaw(old('ended_at'), days(p)).select('id').orderBy('ended_at').limit(p('limit')))
  const remove = db.prepare((k, p: P<'id'>) => k('tasks').where('id', p('id')).delete())
  const abandoned = db.prepare((k, p: P<'days' | 'limit'>) =>
    k('tasks')
      .whereIn('state', ['queued', 'running'])
      .whereRaw(old('created_at'), days(p))
      .where((idle) => idle.whereNull('lease_until').orWhereRaw(`lease_until < ${now} - ${dayMilliseconds}`))
      .select('id')
      .orderBy('id')
      .limit(p('limit')),
  )
  const crowded = db.prepare((k, p: P<'kept' | 'limit'>) =>
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
