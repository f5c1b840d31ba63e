import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { EntryContext } from '../../../core/kernel/access.ts'
import { dayMilliseconds } from '../../../core/kernel/clock.ts'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import { toWireJson } from '../../../core/kernel/json.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { NewTask, TaskChanges, TaskEnd, TaskFilter, TaskRetention, TaskStore } from '../../../core/tasks/ports.ts'
import { LockHeld } from '../../../core/tasks/ports.ts'
import type { TaskId } from '../../../core/tasks/types.ts'
import { entryBinds, entryParams, whereEntryAllowed } from '../authz/access-context.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { databaseNow } from '../kit/fragments.ts'
import { filteredPage } from '../kit/page-query.ts'
import type { Bind, Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { EventRow, TaskRow } from './rows.ts'
import { askedToText, eventColumns, eventOf, taskColumns, taskOf } from './rows.ts'
import { makeAppendEvents } from './task-outbox.ts'
import { fixedSlots } from '../kit/values.ts'

/** @internal */
export const endedStatements = (db: SqlDatabase) => {
  const ended = (k: Knex, tenantId: Knex.Value) =>
    k('tasks').where('tenant_id', tenantId).whereNotNull('ended_at').select('id')
  return {
    count: db.prepare((k, p: Params<'tenantId' | 'most'>) =>
      k.from(ended(k, p('tenantId')).limit(p('most')).as('counted')).count({ count: '*' }),
    ),
    oldest: db.prepare((k, p: Params<'tenantId' | 'limit'>) =>
      ended(k, p('tenantId')).orderBy('ended_at').orderBy('id').limit(p('limit')),
    ),
    remove: db.prepare((k, p: Params<'id'>) => k('tasks').where('id', p('id')).delete()),
  }
}

/**
 * Removes the oldest ended tasks of a tenant beyond the newest `kept`, with their events: at most `limit`. Returns the
 * number removed. Counting stops where the result no longer depends on it.
 */
const makeRemoveEndedBeyond = (db: SqlDatabase) => {
  const { count, oldest, remove } = endedStatements(db)
  return async (runner: SqlRunner, tenantId: AccountId, kept: number, limit: number): Promise<number> => {
    const found = Number((await runner.first<{ count: Num }>(count, { tenantId, most: kept + limit }))?.count ?? 0)
    if (found <= kept) return 0
    let removed = 0
    for (const { id } of await runner.all<{ id: Num }>(oldest, { tenantId, limit: found - kept }))
      removed += (await runner.run(remove, { id: Number(id) })).affected
    return removed
  }
}

/** TaskRetention over `tasks`. Events and outbox entries are removed with their task. */
export const makeSqlTaskRetention = (db: SqlDatabase): TaskRetention => {
  const now = databaseNow(db.dialect)
  const days = (p: Params<'days'>): Knex.RawBinding[] => [p('days')]
  const old = (column: string) =>
    `${column} < ${now} - ${dayMilliseconds} * cast(? as ${db.dialect === 'mysql' ? 'signed' : 'integer'})`
  const ended = db.prepare((k, p: Params<'days' | 'limit'>) =>
    k('tasks').whereRaw(old('ended_at'), days(p)).select('id').orderBy('ended_at').limit(p('limit')),
  )
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
    k('tasks')
      .whereNotNull('ended_at')
      .groupBy('tenant_id')
      .havingRaw('count(*) > ?', [p('kept')])
      .select('tenant_id')
      .orderBy('tenant_id')
      .limit(p('limit')),
  )
  const removeEndedBeyond = makeRemoveEndedBeyond(db)
  return {
    async tenantsBeyond(kept, limit) {
      return (await db.all<{ tenant_id: Num }>(crowded, { kept, limit })).map(
        ({ tenant_id }) => Number(tenant_id) as AccountId,
      )
    },
    removeEndedBeyond: (tenantId, kept, limit) => removeEndedBeyond(db, tenantId, kept, limit),
    async removeEnded(keptDays, limit) {
      let removed = 0
      for (const { id } of await db.all<{ id: Num }>(ended, { days: keptDays, limit }))
        removed += (await db.run(remove, { id: Number(id) })).affected
      return removed
    },
    async abandoned(afterDays, limit) {
      return (await db.all<{ id: Num }>(abandoned, { days: afterDays, limit })).map(({ id }) => Number(id) as TaskId)
    },
  }
}

type EndBind = 'state' | 'message' | 'error' | 'result'

const endBinds = ({ state, message, error, result }: TaskEnd): Record<EndBind, Bind> => ({
  state,
  message,
  error: error ?? null,
  result: result === undefined ? null : toWireJson(result),
})

/** Updates a row once to end a task, and clears what only an unfinished task needs. */
export const makeEndTask = (db: SqlDatabase) => {
  const ended = (k: Knex, p: Params<EndBind>) => ({
    state: p('state'),
    message: p('message'),
    error: p('error'),
    result: p('result'),
    ended_at: k.raw(databaseNow(db.dialect)),
    lock_key: null,
    sealed_input: null,
    lease_until: null,
    holder: null,
  })
  const unattended = db.prepare((k, p: Params<EndBind | 'id'>) =>
    k('tasks')
      .where('id', p('id'))
      .update({ ...ended(k, p), fence: k.raw('fence + 1') }),
  )
  const fenced = db.prepare((k, p: Params<EndBind | 'id' | 'fence' | 'count'>) =>
    k('tasks')
      .where({ id: p('id'), fence: p('fence') })
      .where('state', 'running')
      .update({ ...ended(k, p), last_seq: k.raw('last_seq + ?', [p('count')]) }),
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
  const find = db.prepare((k, p: Params<'ref'>) =>
    k('tasks as t')
      .join('accounts as a', 'a.id', 't.tenant_id')
      .where('t.ref', p('ref'))
      .select(...taskColumns.map((column) => `t.${column}`), 'a.name as tenant_name'),
  )
  const events = db.prepare((k, p: Params<'id' | 'after' | 'limit'>) =>
    k('task_events')
      .where('task_id', p('id'))
      .where('seq', '>', p('after'))
      .select(...eventColumns)
      .orderBy('seq')
      .limit(p('limit')),
  )
  return {
    async list(filter, page) {
      const found = await filteredPage<TaskRow>(
        db,
        (k) => matching(k, k('tasks'), filter),
        (_, rows, cut) => cut(rows.select(...taskColumns).orderBy('id', 'desc')),
        page,
      )
      return mapPage(found, taskOf)
    },
    async find(ref) {
      const row = await db.first<TaskRow & { readonly tenant_name: string }>(find, { ref })
      return row === undefined ? undefined : { task: taskOf(row), tenantName: row.tenant_name }
    },
    async events(id, after, limit) {
      return (await db.all<EventRow>(events, { id, after, limit })).map(eventOf)
    },
  }
}

const responseMilliseconds = 3600 * 1000

const newBinds = (task: NewTask): Record<string, Bind> => ({
  ref: task.ref,
  response_id: task.responseId,
  subject: task.subject,
  kind: task.kind,
  title: task.title,
  tenant_id: task.tenantId,
  actor_id: task.actor.userId,
  actor_login: task.actor.login,
  actor: askedToText({ actor: task.actor, origin: task.origin }),
  about: toWireJson(task.about),
  cluster: task.about['cluster'] ?? '',
  lock_key: task.lockKey ?? null,
  sealed_input: task.sealedInput,
  digest: task.digest,
  message: task.message,
})
const insertColumns = [
  'ref',
  'response_id',
  'subject',
  'kind',
  'title',
  'tenant_id',
  'actor_id',
  'actor_login',
  'actor',
  'about',
  'cluster',
  'lock_key',
  'sealed_input',
  'digest',
  'message',
] as const

const statements = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  return {
    lockAccount: db.prepare((k, p: Params<'id'>) => k('accounts').where('id', p('id')).select('id').forUpdate()),
    countUnfinished: db.prepare((k, p: Params<'tenantId'>) =>
      k('tasks').where('tenant_id', p('tenantId')).whereIn('state', ['queued', 'running']).count({ count: '*' }),
    ),
    byResponse: db.prepare((k, p: Params<'actorId' | 'responseId'>) =>
      k('tasks')
        .where({ actor_id: p('actorId'), response_id: p('responseId') })
        .whereRaw(`created_at > ${now} - ${responseMilliseconds}`)
        .select(...taskColumns, 'digest')
        .orderBy('id', 'desc')
        .limit(1),
    ),
    byLock: db.prepare((k, p: Params<'lockKey'>) =>
      k('tasks')
        .where('lock_key', p('lockKey'))
        .select(...taskColumns),
    ),
    byId: db.prepare((k, p: Params<'id'>) =>
      k('tasks')
        .where('id', p('id'))
        .select(...taskColumns),
    ),
    lock: db.prepare((k, p: Params<'id'>) =>
      k('tasks')
        .where('id', p('id'))
        .select(...taskColumns)
        .forUpdate(),
    ),
    insert: db.prepare((k, p: Params<(typeof insertColumns)[number]>) =>
      k('tasks').insert({
        ...Object.fromEntries(insertColumns.map((name) => [name, p(name)])),
        state: 'queued',
        created_at: k.raw(now),
      }),
    ),
    number: db.prepare((k, p: Params<'id' | 'count'>) =>
      k('tasks')
        .where('id', p('id'))
        .update({ last_seq: k.raw('last_seq + ?', [p('count')]) }),
    ),
    lastSeq: db.prepare((k, p: Params<'id'>) => k('tasks').where('id', p('id')).select('last_seq')),
    requestCancel: db.prepare((k, p: Params<'id'>) =>
      k('tasks').where('id', p('id')).update({ is_cancel_requested: 1 }),
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
      return Number((await tx.first<{ count: Num }>(s.countUnfinished, { tenantId }))?.count ?? 0)
    },
    async findByResponse(actorId, responseId) {
      const row = await tx.first<TaskRow & { readonly digest: Uint8Array }>(s.byResponse, { actorId, responseId })
      return row === undefined ? undefined : { task: taskOf(row), digest: row.digest }
    },
    async findByLock(lockKey) {
      const row = await tx.first<TaskRow>(s.byLock, { lockKey })
      return row === undefined ? undefined : taskOf(row)
    },
    async insert(task) {
      try {
        const { insertId } = await tx.run(s.insert, newBinds(task))
        const row = await tx.first<TaskRow>(s.byId, { id: insertId })
        if (row === undefined) throw new Error('the task that was just inserted is gone')
        return right(taskOf(row))
      } catch (error) {
        if (isUniqueViolation(error, 'lock_key')) return left(LockHeld('Another task holds the lock.'))
        throw error
      }
    },
    async append(id, events) {
      await tx.run(s.number, { id, count: events.length })
      const row = await tx.first<{ last_seq: Num }>(s.lastSeq, { id })
      if (row !== undefined) await appendEvents(tx, id, events, Number(row.last_seq), holder)
    },
    async lock(id) {
      const row = await tx.first<TaskRow>(s.lock, { id })
      return row === undefined ? undefined : taskOf(row)
    },
    async requestCancel(id) {
      await tx.run(s.requestCancel, { id })
    },
    async removeEndedBeyond(tenantId, kept, limit) {
      await removeEndedBeyond(tx, tenantId, kept, limit)
    },
    endUnattended: (id, end) => endTask.unattended(tx, id, end),
  })
}
