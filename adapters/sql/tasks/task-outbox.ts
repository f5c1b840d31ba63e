import type { Knex } from 'knex'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import type { TaskOutbox } from '../../../core/tasks/store-ports.ts'
import { databaseNow } from '../database-clock.ts'
import type { Num, SqlDatabase } from '../statement.ts'
import { heldMilliseconds } from './append-events.ts'
import type { EventRow } from './rows.ts'
import { eventColumns, eventOf } from './rows.ts'

type P<N extends string> = (name: N) => Knex.Value & number

interface ItemRow extends EventRow {
  readonly id: Num
  readonly ref: string
  readonly response_id: string
  readonly subject: string
  readonly tenant_id: Num
  readonly actor_id: Num
}

/** TaskOutbox over `task_outbox`; `holder` is this process. */
export const makeSqlTaskOutbox = (db: SqlDatabase, holder: string): TaskOutbox => {
  const now = databaseNow(db.dialect)
  const held = (k: Knex) => k.raw(`${now} + ${heldMilliseconds}`)
  const mine = db.prepare((k, p: P<'holder' | 'limit'>) =>
    k('task_outbox as o')
      .join('tasks as t', 't.id', 'o.task_id')
      .join('task_events as e', (on) => on.on('e.task_id', 'o.task_id').andOn('e.seq', 'o.seq'))
      .where('o.holder', p('holder'))
      .select('o.id', 't.ref', 't.response_id', 't.subject', 't.tenant_id', 't.actor_id', ...eventColumns.map((column) => `e.${column}`))
      .orderBy('o.id')
      .limit(p('limit')),
  )
  const keep = db.prepare((k, p: P<'holder' | 'upTo'>) => k('task_outbox').where('holder', p('holder')).where('id', '<=', p('upTo')).update({ held_until: held(k) }))
  const remove = db.prepare((k, p: P<'id'>) => k('task_outbox').where('id', p('id')).delete())
  const left = db.prepare((k, p: P<'limit'>) => k('task_outbox').whereRaw(`held_until <= ${now}`).select('id', 'held_until').orderBy('id').limit(p('limit')))
  const adopt = db.prepare((k, p: P<'id' | 'seen' | 'holder'>) =>
    k('task_outbox').where({ id: p('id'), held_until: p('seen') }).update({ holder: p('holder'), held_until: held(k) }),
  )
  return {
    async mine(limit) {
      const rows = await db.all<ItemRow>(mine, { holder, limit })
      const last = rows.at(-1)
      if (last !== undefined) await db.run(keep, { holder, upTo: Number(last.id) })
      return rows.map((row) => ({
        id: Number(row.id),
        message: {
          task: {
            ref: row.ref, responseId: row.response_id, subject: row.subject, tenantId: Number(row.tenant_id) as AccountId, actorId: Number(row.actor_id) as UserId,
          },
          event: eventOf(row),
          isNotable: Number(row.is_notable) === 1,
        },
      }))
    },
    async published(ids) {
      await db.transaction(async (tx) => {
        for (const id of ids) await tx.run(remove, { id })
      })
    },
    async adopt(limit) {
      let adopted = 0
      for (const row of await db.all<{ id: Num; held_until: Num }>(left, { limit })) {
        adopted += (await db.run(adopt, { id: Number(row.id), seen: Number(row.held_until), holder })).affected
      }
      return adopted
    },
  }
}
