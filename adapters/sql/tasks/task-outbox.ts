import type { Knex } from 'knex'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import { toWireJson } from '../../../core/kernel/json.ts'
import type { NewTaskEvent, TaskOutbox } from '../../../core/tasks/ports.ts'
import type { TaskId } from '../../../core/tasks/types.ts'
import { databaseNow } from '../kit/fragments.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { EventRow } from './rows.ts'
import { eventColumns, eventOf } from './rows.ts'

/** For this long only the process that wrote an event publishes it. Shorter than any lease. */
export const heldMilliseconds = 15_000

type EventBind = 'id' | 'seq' | 'at' | 'eventId' | 'status' | 'step' | 'msg' | 'level' | 'error' | 'data' | 'isNotable'

/**
 * Numbers and stores events and adds them to the outbox. The caller's transaction holds the task's row. `upTo` is the
 * number of the last of these events, which the row already has.
 */
export const makeAppendEvents = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  const insertEvents = insertRows(db, 'task_events', (p: Params<EventBind>) => ({
    task_id: p('id'),
    seq: p('seq'),
    at: p('at'),
    event_id: p('eventId'),
    status: p('status'),
    step: p('step'),
    msg: p('msg'),
    level: p('level'),
    error: p('error'),
    data: p('data'),
    is_notable: p('isNotable'),
  }))
  const addToOutbox = insertRows(db, 'task_outbox', (p: Params<'id' | 'seq' | 'holder'>, k) => ({
    task_id: p('id'),
    seq: p('seq'),
    holder: p('holder'),
    held_until: k.raw(`${now} + ${heldMilliseconds}`),
  }))
  return async (
    tx: SqlRunner,
    id: TaskId,
    events: readonly NewTaskEvent[],
    upTo: number,
    holder: string,
  ): Promise<void> => {
    const first = upTo - events.length + 1
    await insertEvents(
      tx,
      events.map((each, index) => ({
        id,
        seq: first + index,
        at: each.at.getTime(),
        eventId: each.id,
        status: each.status,
        step: each.step ?? null,
        msg: each.msg,
        level: each.level ?? null,
        error: each.error ?? null,
        data: each.data === undefined ? null : toWireJson(each.data),
        isNotable: each.isNotable === true ? 1 : 0,
      })),
    )
    await addToOutbox(
      tx,
      events.map((_, index) => ({ id, seq: first + index, holder })),
    )
  }
}

interface ItemRow extends EventRow {
  readonly id: Num
  readonly ref: string
  readonly response_id: string
  readonly subject: string
  readonly tenant_id: Num
  readonly actor_id: Num
}

/**
 * TaskOutbox over `task_outbox`; `holder` is this process. The events of one task may belong to several processes: one
 * cancels what another runs, or adopts a part of what another left. `mine` therefore skips an event while an earlier
 * one of its task belongs to another process.
 */
export const makeSqlTaskOutbox = (db: SqlDatabase, holder: string): TaskOutbox => {
  const now = databaseNow(db.dialect)
  const held = (k: Knex) => k.raw(`${now} + ${heldMilliseconds}`)
  const mine = db.prepare((k, p: Params<'holder' | 'ownHolder' | 'limit'>) =>
    k('task_outbox as o')
      .join('tasks as t', 't.id', 'o.task_id')
      .join('task_events as e', (on) => on.on('e.task_id', 'o.task_id').andOn('e.seq', 'o.seq'))
      .where('o.holder', p('holder'))
      .whereNotExists((earlier) =>
        earlier
          .select(k.raw('1'))
          .from('task_outbox as p')
          .whereRaw('p.task_id = o.task_id')
          .whereRaw('p.id < o.id')
          .whereNot('p.holder', p('ownHolder')),
      )
      .select(
        'o.id',
        't.ref',
        't.response_id',
        't.subject',
        't.tenant_id',
        't.actor_id',
        ...eventColumns.map((column) => `e.${column}`),
      )
      .orderBy('o.id')
      .limit(p('limit')),
  )
  // All of them, not only the next to be published: while the bus is unavailable there may be more than one read
  // returns.
  const keep = db.prepare((k, p: Params<'holder'>) =>
    k('task_outbox')
      .where('holder', p('holder'))
      .whereRaw(`held_until < ${now} + ${heldMilliseconds / 2}`)
      .update({ held_until: held(k) }),
  )
  const any = db.prepare((k, p: Params<'holder'>) =>
    k('task_outbox').where('holder', p('holder')).select('id').limit(1),
  )
  const remove = db.prepare((k, p: Params<'id'>) => k('task_outbox').where('id', p('id')).delete())
  const left = db.prepare((k, p: Params<'limit'>) =>
    k('task_outbox').whereRaw(`held_until <= ${now}`).select('id', 'held_until').orderBy('id').limit(p('limit')),
  )
  const adopt = db.prepare((k, p: Params<'id' | 'seen' | 'holder'>) =>
    k('task_outbox')
      .where({ id: p('id'), held_until: p('seen') })
      .update({ holder: p('holder'), held_until: held(k) }),
  )
  return {
    async mine(limit) {
      const rows = await db.all<ItemRow>(mine, { holder, ownHolder: holder, limit })
      if (rows.length > 0) await db.run(keep, { holder })
      return rows.map((row) => ({
        id: Number(row.id),
        message: {
          task: {
            ref: row.ref,
            responseId: row.response_id,
            subject: row.subject,
            tenantId: Number(row.tenant_id) as AccountId,
            actorId: Number(row.actor_id) as UserId,
          },
          event: eventOf(row),
          isNotable: Number(row.is_notable) === 1,
        },
      }))
    },
    async waits() {
      if ((await db.first(any, { holder })) === undefined) return false
      await db.run(keep, { holder })
      return true
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
