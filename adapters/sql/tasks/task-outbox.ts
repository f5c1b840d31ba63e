import type { Knex } from 'knex'
import type { NewTaskEvent, TaskOutbox } from '../../../core/tasks/ports.ts'
import type { TaskEvent, TaskId } from '../../../core/tasks/types.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, computed, int, long, pick, qualified, selectedAs, without } from '../kit/columns.ts'
import { databaseNow } from '../kit/fragments.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { expression, insertAllInto, values } from '../kit/values.ts'
import { taskEvents, taskOutbox, tasks } from '../tables/tasks.ts'
import { definedFields } from '../../../core/kernel/json.ts'

/** A task as its readers have it. */
export const taskRow = without(
  tasks,
  'actor',
  'cluster',
  'holder',
  'leaseUntil',
  'lockKey',
  'sealedInput',
  'digest',
  'lastSeq',
)

/** An event of a task. */
export const eventRow = without(taskEvents, 'taskId', 'isNotable')

export const eventOf = ({ step, level, error, data, ...event }: Row<typeof eventRow>): TaskEvent => ({
  ...event,
  ...definedFields({ step, level, error, data }),
})

/** For this long only the process that wrote an event publishes it. Shorter than any lease. */
export const heldMilliseconds = 15_000

/**
 * Numbers and stores events and adds them to the outbox. The caller's transaction holds the task's row. `upTo` is the
 * number of the last of these events, which the row already has.
 */
export const makeAppendEvents = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  const insertEvents = insertAllInto(db, taskEvents)
  const addToOutbox = insertAllInto(db, taskOutbox, {
    omitted: ['id'],
    fixed: { heldUntil: expression(`${now} + ${heldMilliseconds}`) },
  })
  return async (
    tx: SqlRunner,
    taskId: TaskId,
    events: readonly NewTaskEvent[],
    upTo: number,
    holder: string,
  ): Promise<void> => {
    const first = upTo - events.length + 1
    await insertEvents(
      tx,
      events.map(({ step, level, error, data, isNotable, ...event }, index) => ({
        ...event,
        taskId,
        seq: first + index,
        step,
        level,
        error,
        data,
        isNotable: isNotable === true,
      })),
    )
    await addToOutbox(
      tx,
      events.map((_, index) => ({ taskId, seq: first + index, holder })),
    )
  }
}

/** An event `e` of the task `t` in the outbox `o`. */
const itemRow = {
  itemId: aliased(taskOutbox, 'o').id,
  ...pick(aliased(tasks, 't'), 'ref', 'responseId', 'subject', 'tenantId', 'actorId'),
  ...qualified(eventRow, 'e'),
  isNotable: aliased(taskEvents, 'e').isNotable,
}

/**
 * TaskOutbox over `task_outbox`; `holder` is this process. The events of one task may belong to several processes: one
 * cancels what another runs, or adopts a part of what another left. `mine` therefore skips an event while an earlier
 * one of its task belongs to another process.
 */
export const makeSqlTaskOutbox = (db: SqlDatabase, holder: string): TaskOutbox => {
  const now = databaseNow(db.dialect)
  const held = (k: Knex) => k.raw(`${now} + ${heldMilliseconds}`)
  const mine = db.prepare(
    { ...pick(taskOutbox, 'holder'), ownHolder: taskOutbox.holder, limit: int() },
    itemRow,
    (k, p) =>
      k('task_outbox as o')
        .join('tasks as t', 't.id', 'o.task_id')
        .join('task_events as e', (on) => on.on('e.task_id', 'o.task_id').andOn('e.seq', 'o.seq'))
        .where('o.holder', p.holder)
        .whereNotExists((earlier) =>
          earlier
            .select(k.raw('1'))
            .from('task_outbox as p')
            .whereRaw('p.task_id = o.task_id')
            .whereRaw('p.id < o.id')
            .whereNot('p.holder', p.ownHolder),
        )
        .orderBy('o.id')
        .limit(p.limit),
  )
  // All of them, not only the next to be published: while the bus is unavailable there may be more than one read
  // returns.
  const keep = db.prepare(pick(taskOutbox, 'holder'), (k, p) =>
    k('task_outbox')
      .where('holder', p.holder)
      .whereRaw(`held_until < ${now} + ${heldMilliseconds / 2}`)
      .update(values(taskOutbox, { heldUntil: held(k) })),
  )
  const any = db.prepare(pick(taskOutbox, 'holder'), pick(taskOutbox, 'id'), (k, p) =>
    k('task_outbox').where('holder', p.holder).limit(1),
  )
  const count = db.prepare({}, { count: selectedAs(long()) }, (k) => k('task_outbox').count({ count: '*' }))
  // The oldest is the one with the lowest id: events are inserted as they happen.
  const oldest = db.prepare({}, { age: computed(long(), `${now} - e.at`) }, (k) =>
    k('task_outbox as o')
      .join('task_events as e', (on) => on.on('e.task_id', 'o.task_id').andOn('e.seq', 'o.seq'))
      .orderBy('o.id')
      .limit(1),
  )
  const remove = db.prepare(pick(taskOutbox, 'id'), (k, p) => k('task_outbox').where('id', p.id).delete())
  const left = db.prepare({ limit: int() }, pick(taskOutbox, 'id', 'heldUntil'), (k, p) =>
    k('task_outbox').whereRaw(`held_until <= ${now}`).orderBy('id').limit(p.limit),
  )
  const adopt = db.prepare({ ...pick(taskOutbox, 'id', 'holder'), seen: taskOutbox.heldUntil }, (k, p) =>
    k('task_outbox')
      .where(values(taskOutbox, { id: p.id, heldUntil: p.seen }))
      .update(values(taskOutbox, { holder: p.holder, heldUntil: held(k) })),
  )
  return {
    async mine(limit) {
      const rows = await db.all(mine, { holder, ownHolder: holder, limit })
      if (rows.length > 0) await db.run(keep, { holder })
      return rows.map(({ itemId, ref, responseId, subject, tenantId, actorId, isNotable, ...event }) => ({
        id: itemId,
        message: { task: { ref, responseId, subject, tenantId, actorId }, event: eventOf(event), isNotable },
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
    async lag() {
      const [counted, first] = [await db.first(count, {}), await db.first(oldest, {})]
      return { count: counted?.count ?? 0, oldestSeconds: Math.max(0, first?.age ?? 0) / 1000 }
    },
    async adopt(limit) {
      let adopted = 0
      for (const { id, heldUntil: seen } of await db.all(left, { limit }))
        adopted += (await db.run(adopt, { id, seen, holder })).affected
      return adopted
    },
  }
}
