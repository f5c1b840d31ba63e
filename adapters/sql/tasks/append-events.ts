import type { Knex } from 'knex'
import { toWireJson } from '../../../core/kernel/json.ts'
import type { NewTaskEvent } from '../../../core/tasks/store-ports.ts'
import type { TaskId } from '../../../core/tasks/types.ts'
import { databaseNow } from '../database-clock.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

/** Until then the process that wrote an event publishes it, and nobody else. Shorter than any lease. */
export const heldMilliseconds = 15_000

type P<N extends string> = (name: N) => Knex.Value & number
type EventBind = 'id' | 'seq' | 'at' | 'eventId' | 'status' | 'step' | 'msg' | 'level' | 'error' | 'data' | 'isNotable'

/**
 * Numbers events, stores them and leaves them to the bus. The caller's transaction holds the task's row; `upTo` is the
 * number of the last of these events, which the row says already.
 */
export const makeAppendEvents = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  const event = db.prepare((k, p: P<EventBind>) =>
    k('task_events').insert({
      task_id: p('id'), seq: p('seq'), at: p('at'), event_id: p('eventId'), status: p('status'), step: p('step'), msg: p('msg'),
      level: p('level'), error: p('error'), data: p('data'), is_notable: p('isNotable'),
    }),
  )
  const outbox = db.prepare((k, p: P<'id' | 'seq' | 'holder'>) =>
    k('task_outbox').insert({ task_id: p('id'), seq: p('seq'), holder: p('holder'), held_until: k.raw(`${now} + ${heldMilliseconds}`) }),
  )
  return async (tx: SqlRunner, id: TaskId, events: readonly NewTaskEvent[], upTo: number, holder: string): Promise<void> => {
    let seq = upTo - events.length
    for (const each of events) {
      seq += 1
      await tx.run(event, {
        id, seq, at: each.at.getTime(), eventId: each.id, status: each.status, step: each.step ?? null, msg: each.msg,
        level: each.level ?? null, error: each.error ?? null, data: each.data === undefined ? null : toWireJson(each.data),
        isNotable: each.isNotable === true ? 1 : 0,
      })
      await tx.run(outbox, { id, seq, holder })
    }
  }
}
