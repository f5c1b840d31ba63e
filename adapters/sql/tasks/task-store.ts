import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { EntryContext } from '../../../core/kernel/access.ts'
import { dayMilliseconds } from '../../../core/kernel/clock.ts'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import type { NewTask, TaskChanges, TaskEnd, TaskFilter, TaskRetention, TaskStore } from '../../../core/tasks/ports.ts'
import { LockHeld } from '../../../core/tasks/ports.ts'
import type { TaskId } from '../../../core/tasks/types.ts'
import { entryBinds, entryParams, whereEntryAllowed } from '../authz/access-context.ts'
import { aliased, int, long, pick, present, qualified, selectedAs } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { databaseNow, removeRows } from '../kit/fragments.ts'
import { filteredRows } from '../kit/page-query.ts'
import type { Slot, Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, expression, fixedSlots, insertInto, values } from '../kit/values.ts'
import { accounts } from '../tables/identity.ts'
import { taskEvents, tasks } from '../tables/tasks.ts'
import { eventOf, eventRow, makeAppendEvents, taskRow } from './task-outbox.ts'

const idRow = pick(tasks, 'id')
const counted = { count: selectedAs(long()) }

/** @internal */
export const endedStatements = (db: SqlDatabase) => {
  const ended = (k: Knex, tenantId: Slot<'integer'>) => k('tasks').where('tenant_id', tenantId).whereNotNull('ended_at')
  return {
    count: db.prepare({ ...pick(tasks, 'tenantId'), most: int() }, counted, (k, p) =>
      k.from(ended(k, p.tenantId).select('id').limit(p.most).as('counted')).count({ count: '*' }),
    ),
    oldest: db.prepare({ ...pick(tasks, 'tenantId'), limit: int() }, idRow, (k, p) =>
      ended(k, p.tenantId).orderBy('ended_at').orderBy('id').limit(p.limit),
    ),
    remove: db.prepare(idRow, (k, p) => k('tasks').where('id', p.id).delete()),
  }
}

/**
 * Removes the oldest ended tasks of a tenant beyond the newest `kept`, with their events: at most `limit`. Returns the
 * number removed. Counting stops where the result no longer depends on it.
 */
const makeRemoveEndedBeyond = (db: SqlDatabase) => {
  const { count, oldest, remove } = endedStatements(db)
  return async (runner: SqlRunner, tenantId: AccountId, kept: number, limit: number): Promise<number> => {
    const found = (await runner.first(count, { tenantId, most: kept + limit }))?.count ?? 0
    return found <= kept ? 0 : removeRows(runner, oldest, remove, { tenantId, limit: found - kept })
  }
}

/** TaskRetention over `tasks`. Events and outbox entries are removed with their task. */
export const makeSqlTaskRetention = (db: SqlDatabase): TaskRetention => {
  const now = databaseNow(db.dialect)
  const old = (column: string) =>
    `${column} < ${now} - ${dayMilliseconds} * cast(? as ${db.dialect === 'mysql' ? 'signed' : 'integer'})`
  const ended = db.prepare({ days: int(), limit: int() }, idRow, (k, p) =>
    k('tasks').whereRaw(old('ended_at'), [p.days]).orderBy('ended_at').limit(p.limit),
  )
  const remove = db.prepare(idRow, (k, p) => k('tasks').where('id', p.id).delete())
  const abandoned = db.prepare({ days: int(), limit: int() }, idRow, (k, p) =>
    k('tasks')
      .whereIn('state', ['queued', 'running'])
      .whereRaw(old('created_at'), [p.days])
      .where((idle) => idle.whereNull('lease_until').orWhereRaw(`lease_until < ${now} - ${dayMilliseconds}`))
      .orderBy('id')
      .limit(p.limit),
  )
  const crowded = db.prepare({ kept: int(), limit: int() }, pick(tasks, 'tenantId'), (k, p) =>
    k('tasks')
      .whereNotNull('ended_at')
      .groupBy('tenant_id')
      .havingRaw('count(*) > ?', [p.kept as unknown as Knex.Value])
      .orderBy('tenant_id')
      .limit(p.limit),
  )
  const removeEndedBeyond = makeRemoveEndedBeyond(db)
  return {
    async tenantsBeyond(kept, limit) {
      return (await db.all(crowded, { kept, limit })).map(({ tenantId }) => tenantId)
    },
    removeEndedBeyond: (tenantId, kept, limit) => removeEndedBeyond(db, tenantId, kept, limit),
    removeEnded: (days, limit) => removeRows(db, ended, remove, { days, limit }),
    async abandoned(days, limit) {
      return (await db.all(abandoned, { days, limit })).map(({ id }) => id)
    },
  }
}

const endBinds = ({ state, message, error, result }: TaskEnd) => ({ state, message, error, result })

/** Updates a row once to end a task, and clears what only an unfinished task needs. */
export const makeEndTask = (db: SqlDatabase) => {
  const end = pick(tasks, 'state', 'message', 'error', 'result')
  const ended = (k: Knex, p: Slots<typeof end>) => ({
    ...assigned(end, p),
    ...values(tasks, {
      endedAt: k.raw(databaseNow(db.dialect)),
      lockKey: null,
      sealedInput: null,
      leaseUntil: null,
      holder: null,
    }),
  })
  const unattended = db.prepare({ ...end, ...idRow }, (k, p) =>
    k('tasks')
      .where('id', p.id)
      .update({ ...ended(k, p), fence: k.raw('fence + 1') }),
  )
  const fenced = db.prepare({ ...end, ...pick(tasks, 'id', 'fence'), count: int() }, (k, p) =>
    k('tasks')
      .where(values(tasks, { id: p.id, fence: p.fence }))
      .where('state', 'running')
      .update({ ...ended(k, p), last_seq: k.raw('last_seq + ?', [p.count]) }),
  )
  return {
    /** The caller must hold the row and know that no worker has the task. */
    unattended: async (tx: SqlRunner, id: TaskId, end: TaskEnd): Promise<void> => {
      await tx.run(unattended, { id, ...endBinds(end) })
    },
    /** Returns false if another worker has the task; `count` events follow. */
    fenced: async (
      tx: SqlRunner,
      { id, fence }: { readonly id: TaskId; readonly fence: number },
      end: TaskEnd,
      count: number,
    ): Promise<boolean> => (await tx.run(fenced, { id, fence, count, ...endBinds(end) })).affected === 1,
  }
}

/** Narrows to tasks of the actor's own account and of organizations that the actor may enter as a member. */
const whereBelonging =
  (k: Knex, actorId: UserId, entry: EntryContext) =>
  (rows: Knex.QueryBuilder): void => {
    const binds = fixedSlots(entryParams, entryBinds(entry))
    const membership = k('org_members as m')
      .join('organizations as o', 'o.id', 'm.org_id')
      .whereRaw('m.org_id = tasks.tenant_id')
      .where('m.user_id', actorId)
      .modify(whereEntryAllowed(k, binds))
      .select('m.org_id')
    rows.where((any) => any.where('tenant_id', actorId).orWhereExists(membership))
  }

const matching = (
  k: Knex,
  rows: Knex.QueryBuilder,
  { actorId, entry, tenantId, state, kind, cluster }: TaskFilter,
): Knex.QueryBuilder => {
  const wanted = { actor_id: actorId, tenant_id: tenantId, state, kind, cluster }
  for (const [column, value] of Object.entries(wanted)) if (value !== undefined) void rows.where(column, value)
  if (actorId !== undefined && entry !== undefined) void rows.modify(whereBelonging(k, actorId, entry))
  return rows
}

/** TaskStore over `tasks` and `task_events`. Reads are outside any transaction. */
export const makeSqlTaskStore = (db: SqlDatabase): TaskStore => {
  const find = db.prepare(
    pick(tasks, 'ref'),
    { ...qualified(taskRow, 't'), tenantName: aliased(accounts, 'a').name },
    (k, p) => k('tasks as t').join('accounts as a', 'a.id', 't.tenant_id').where('t.ref', p.ref),
  )
  const events = db.prepare({ id: taskEvents.taskId, after: taskEvents.seq, limit: int() }, eventRow, (k, p) =>
    k('task_events').where('task_id', p.id).where('seq', '>', p.after).orderBy('seq').limit(p.limit),
  )
  return {
    list: (filter, page) =>
      filteredRows(
        db,
        taskRow,
        (k) => matching(k, k('tasks'), filter),
        (_, rows, cut) => cut(rows.orderBy('id', 'desc')),
        page,
      ),
    async find(ref) {
      const row = await db.first(find, { ref })
      if (row === undefined) return undefined
      const { tenantName, ...task } = row
      return { task, tenantName }
    },
    async events(id, after, limit) {
      return (await db.all(events, { id, after, limit })).map(eventOf)
    },
  }
}

const responseMilliseconds = 3600 * 1000

const newColumns = ({ actor, origin, ...task }: NewTask) => ({
  ...task,
  actorId: actor.userId,
  actorLogin: actor.login,
  actor: { actor, origin },
  cluster: task.about['cluster'] ?? '',
})

const statements = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  return {
    lockAccount: db.prepare(pick(accounts, 'id'), pick(accounts, 'id'), (k, p) =>
      k('accounts').where('id', p.id).forUpdate(),
    ),
    countUnfinished: db.prepare(pick(tasks, 'tenantId'), counted, (k, p) =>
      k('tasks').where('tenant_id', p.tenantId).whereIn('state', ['queued', 'running']).count({ count: '*' }),
    ),
    byResponse: db.prepare(pick(tasks, 'actorId', 'responseId'), { ...taskRow, digest: tasks.digest }, (k, p) =>
      k('tasks')
        .where(values(tasks, { actorId: p.actorId, responseId: p.responseId }))
        .whereRaw(`created_at > ${now} - ${responseMilliseconds}`)
        .orderBy('id', 'desc')
        .limit(1),
    ),
    byLock: db.prepare({ lockKey: present(tasks.lockKey) }, taskRow, (k, p) => k('tasks').where('lock_key', p.lockKey)),
    byId: db.prepare(idRow, taskRow, (k, p) => k('tasks').where('id', p.id)),
    lock: db.prepare(idRow, taskRow, (k, p) => k('tasks').where('id', p.id).forUpdate()),
    insert: insertInto(db, tasks, {
      omitted: [
        'id',
        'isCancelRequested',
        'fence',
        'holder',
        'leaseUntil',
        'error',
        'result',
        'lastSeq',
        'startedAt',
        'endedAt',
      ],
      fixed: { state: 'queued', createdAt: expression(now) },
    }),
    number: db.prepare({ ...idRow, count: int() }, (k, p) =>
      k('tasks')
        .where('id', p.id)
        .update({ last_seq: k.raw('last_seq + ?', [p.count]) }),
    ),
    lastSeq: db.prepare(idRow, pick(tasks, 'lastSeq'), (k, p) => k('tasks').where('id', p.id)),
    requestCancel: db.prepare(idRow, (k, p) =>
      k('tasks')
        .where('id', p.id)
        .update(values(tasks, { isCancelRequested: true })),
    ),
  }
}

/**
 * TaskChanges over `tasks`, bound to a transaction. `holder` is this process, which publishes the events that it
 * writes.
 */
export const makeSqlTaskChanges = (db: SqlDatabase, holder: string): ((tx: SqlRunner) => TaskChanges) => {
  const s = statements(db)
  const appendEvents = makeAppendEvents(db)
  const endTask = makeEndTask(db)
  const removeEndedBeyond = makeRemoveEndedBeyond(db)
  return (tx) => ({
    async lockAccounts(ids) {
      let found = 0
      for (const id of [...new Set(ids)].sort((a, b) => a - b))
        if ((await tx.first(s.lockAccount, { id })) !== undefined) found += 1
      return found
    },
    async countUnfinished(tenantId) {
      return (await tx.first(s.countUnfinished, { tenantId }))?.count ?? 0
    },
    async findByResponse(actorId, responseId) {
      const row = await tx.first(s.byResponse, { actorId, responseId })
      if (row === undefined) return undefined
      const { digest, ...task } = row
      return { task, digest }
    },
    findByLock: (lockKey) => tx.first(s.byLock, { lockKey }),
    async insert(task) {
      try {
        const { insertId } = await tx.run(s.insert, newColumns(task))
        const inserted = await tx.first(s.byId, { id: insertId as TaskId })
        if (inserted === undefined) throw new Error('the task that was just inserted is gone')
        return right(inserted)
      } catch (error) {
        if (isUniqueViolation(error, 'lock_key')) return left(LockHeld('Another task holds the lock.'))
        throw error
      }
    },
    async append(id, events) {
      await tx.run(s.number, { id, count: events.length })
      const row = await tx.first(s.lastSeq, { id })
      if (row !== undefined) await appendEvents(tx, id, events, row.lastSeq, holder)
    },
    lock: (id) => tx.first(s.lock, { id }),
    async requestCancel(id) {
      await tx.run(s.requestCancel, { id })
    },
    async removeEndedBeyond(tenantId, kept, limit) {
      await removeEndedBeyond(tx, tenantId, kept, limit)
    },
    endUnattended: (id, end) => endTask.unattended(tx, id, end),
  })
}
