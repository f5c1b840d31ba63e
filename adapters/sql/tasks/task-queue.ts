import type { Knex } from 'knex'
import type { ClaimedTask, ClaimOptions, TaskQueue, TaskQueues } from '../../../core/tasks/ports.ts'
import type { TaskId, TaskState } from '../../../core/tasks/types.ts'
import { taskStates } from '../../../core/tasks/types.ts'
import { databaseNow } from '../kit/fragments.ts'
import type { Num, Params, SqlDatabase, SqlRunner, Statement } from '../kit/statement.ts'
import type { TaskRow } from './rows.ts'
import { askedOf, taskColumns, taskOf } from './rows.ts'
import { heldMilliseconds, makeAppendEvents } from './task-outbox.ts'
import { makeEndTask } from './task-store.ts'

const mostCandidates = 8

/** Selects the oldest queued task of each tenant; tenants with the fewest running tasks come first. */
const waiting = (k: Knex, p: Params<'exceptTenant'>, kinds: readonly string[]): Knex.QueryBuilder => {
  const oldest = k('tasks')
    .where('state', 'queued')
    .whereIn('kind', kinds)
    .groupBy('tenant_id')
    .select('tenant_id')
    .min({ id: 'id' })
    .as('q')
  const running = k('tasks')
    .where('state', 'running')
    .groupBy('tenant_id')
    .select('tenant_id')
    .count({ running: '*' })
    .as('r')
  return k
    .from(oldest)
    .leftJoin(running, 'r.tenant_id', 'q.tenant_id')
    .whereNot('q.tenant_id', p('exceptTenant'))
    .select('q.id')
    .orderByRaw('coalesce(r.running, 0), q.id')
    .limit(mostCandidates)
}

/** Statements of a queue for these kinds. Candidates are read without locks; each is then locked, or skipped, by id. */
const queueStatements = (db: SqlDatabase, kinds: readonly string[]) => {
  const now = databaseNow(db.dialect)
  const signed = db.dialect === 'mysql' ? 'signed' : 'integer'
  const until = (k: Knex, p: Params<'lease'>) => k.raw(`${now} + cast(? as ${signed})`, [p('lease')])
  const expired = `lease_until <= ${now}`
  const lock = (rows: Knex.QueryBuilder) => (db.dialect === 'mysql' ? rows.forUpdate().skipLocked() : rows)
  return {
    waiting: db.prepare((k, p: Params<'exceptTenant'>) => waiting(k, p, kinds)),
    dead: db.prepare((k) =>
      k('tasks')
        .where('state', 'running')
        .whereRaw(expired)
        .whereIn('kind', kinds)
        .select('id')
        .orderBy('lease_until')
        .limit(mostCandidates),
    ),
    lockWaiting: db.prepare((k, p: Params<'id'>) =>
      lock(k('tasks').where('id', p('id')).where('state', 'queued').select('id')),
    ),
    lockDead: db.prepare((k, p: Params<'id'>) =>
      lock(k('tasks').where('id', p('id')).where('state', 'running').whereRaw(expired).select('id')),
    ),
    take: db.prepare((k, p: Params<'id' | 'holder' | 'lease' | 'message'>) =>
      k('tasks')
        .where('id', p('id'))
        .update({
          state: 'running',
          holder: p('holder'),
          fence: k.raw('fence + 1'),
          lease_until: until(k, p),
          message: p('message'),
          started_at: k.raw(`coalesce(started_at, ${now})`),
          last_seq: k.raw('last_seq + 1'),
        }),
    ),
    takeOutbox: db.prepare((k, p: Params<'id' | 'holder'>) =>
      k('task_outbox')
        .where('task_id', p('id'))
        .update({ holder: p('holder'), held_until: k.raw(`${now} + ${heldMilliseconds}`) }),
    ),
    taken: db.prepare((k, p: Params<'id'>) =>
      k('tasks')
        .where('id', p('id'))
        .select(...taskColumns, 'actor', 'sealed_input', 'last_seq'),
    ),
    renew: db.prepare((k, p: Params<'id' | 'fence' | 'lease'>) =>
      k('tasks')
        .where({ id: p('id'), fence: p('fence') })
        .where('state', 'running')
        .update({ lease_until: until(k, p) }),
    ),
    // A task that another worker had started must still be recovered.
    expire: db.prepare((k, p: Params<'id' | 'fence'>) =>
      k('tasks')
        .where({ id: p('id'), fence: p('fence') })
        .where('state', 'running')
        .update({ lease_until: k.raw(now), holder: null }),
    ),
    requeue: db.prepare((k, p: Params<'id' | 'fence' | 'message'>) =>
      k('tasks')
        .where({ id: p('id'), fence: p('fence') })
        .where('state', 'running')
        .update({ state: 'queued', lease_until: null, holder: null, started_at: null, message: p('message') }),
    ),
    number: db.prepare((k, p: Params<'id' | 'fence' | 'count'>) =>
      k('tasks')
        .where({ id: p('id'), fence: p('fence') })
        .where('state', 'running')
        .update({ last_seq: k.raw('last_seq + ?', [p('count')]) }),
    ),
    lastSeq: db.prepare((k, p: Params<'id'>) => k('tasks').where('id', p('id')).select('last_seq')),
    cancelRequested: db.prepare((k, p: Params<'holder'>) =>
      k('tasks')
        .where({ holder: p('holder'), state: 'running' })
        .where('is_cancel_requested', 1)
        .select('id'),
    ),
  }
}

const countStatements = (db: SqlDatabase) => ({
  byState: db.prepare((k) => k('tasks').groupBy('state').select('state').count({ count: '*' })),
  oldestQueued: db.prepare((k) =>
    k('tasks')
      .where('state', 'queued')
      .select(k.raw(`${databaseNow(db.dialect)} - min(created_at) as age`)),
  ),
})

interface TakenRow extends TaskRow {
  readonly actor: string
  readonly sealed_input: Uint8Array
  readonly last_seq: Num
}

const milliseconds = (seconds: number): number => Math.round(seconds * 1000)
/** A worker that loses every row of one read to other workers reads again. */
const claimRounds = 5

export const makeSqlTaskQueues = (db: SqlDatabase): TaskQueues => {
  const counts = countStatements(db)
  return {
    open: (holder, kinds) => openQueue(db, holder, kinds),
    async counts() {
      const rows = await db.all<{ state: TaskState; count: Num }>(counts.byState, {})
      const oldest = await db.first<{ age: Num | null }>(counts.oldestQueued, {})
      const byState = Object.fromEntries(taskStates.map((state) => [state, 0])) as Record<TaskState, number>
      for (const row of rows) byState[row.state] = Number(row.count)
      return { byState, oldestQueuedSeconds: Math.max(0, Number(oldest?.age ?? 0)) / 1000 }
    },
  }
}

const openQueue = (db: SqlDatabase, holder: string, kinds: readonly string[]): TaskQueue => {
  const s = queueStatements(db, kinds)
  const appendEvents = makeAppendEvents(db)
  const endTask = makeEndTask(db)

  const take = (
    id: number,
    lock: Statement,
    isTakenOver: boolean,
    { leaseSeconds, opening }: ClaimOptions,
  ): Promise<ClaimedTask | undefined> =>
    db.transaction(async (tx) => {
      if ((await tx.first(lock, { id })) === undefined) return undefined
      const before = await rowOf(tx, id)
      const event = opening(taskOf(before), isTakenOver)
      await tx.run(s.take, { id, holder, lease: milliseconds(leaseSeconds), message: event.msg })
      // In this order: a reader of the outbox must see the earlier events of the task first.
      await tx.run(s.takeOutbox, { id, holder })
      const row = await rowOf(tx, id)
      await appendEvents(tx, id as TaskId, [event], Number(row.last_seq), holder)
      return { task: taskOf(row), ...askedOf(row.actor), sealedInput: row.sealed_input, isTakenOver }
    })

  const rowOf = async (tx: SqlRunner, id: number): Promise<TakenRow> => {
    const row = await tx.first<TakenRow>(s.taken, { id })
    if (row === undefined) throw new Error('the task whose row is locked is gone')
    return row
  }

  const firstOf = async (candidates: Statement, lock: Statement, isTakenOver: boolean, options: ClaimOptions) => {
    for (let round = 0; round < claimRounds; round++) {
      const rows = await db.all<{ id: Num }>(candidates, { exceptTenant: options.exceptTenant ?? 0 })
      if (rows.length === 0) return undefined
      for (const { id } of rows) {
        const claimed = await take(Number(id), lock, isTakenOver, options)
        if (claimed !== undefined) return claimed
      }
    }
    return undefined
  }

  return {
    async claim(options) {
      if (kinds.length === 0) return undefined
      return (
        (await firstOf(s.dead, s.lockDead, true, options)) ?? (await firstOf(s.waiting, s.lockWaiting, false, options))
      )
    },
    async renew({ task: { id, fence } }, leaseSeconds) {
      return (await db.run(s.renew, { id, fence, lease: milliseconds(leaseSeconds) })).affected === 1
    },
    record: ({ task: { id, fence } }, events) =>
      db.transaction(async (tx) => {
        if ((await tx.run(s.number, { id, fence, count: events.length })).affected !== 1) return false
        await appendEvents(
          tx,
          id,
          events,
          Number((await tx.first<{ last_seq: Num }>(s.lastSeq, { id }))?.last_seq),
          holder,
        )
        return true
      }),
    end: ({ task }, end, events) =>
      db.transaction(async (tx) => {
        if (!(await endTask.fenced(tx, task, end, events.length))) return false
        await appendEvents(
          tx,
          task.id,
          events,
          Number((await tx.first<{ last_seq: Num }>(s.lastSeq, { id: task.id }))?.last_seq),
          holder,
        )
        return true
      }),
    async giveBack({ task: { id, fence }, isTakenOver }) {
      if (isTakenOver) await db.run(s.expire, { id, fence })
      else await db.run(s.requeue, { id, fence, message: 'Waits for a worker.' })
    },
    async cancelRequested() {
      return (await db.all<{ id: Num }>(s.cancelRequested, { holder })).map(({ id }) => Number(id) as TaskId)
    },
  }
}
