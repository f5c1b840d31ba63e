import type { Knex } from 'knex'
import type { ClaimedTask, ClaimOptions, NewTaskEvent, TaskQueue, TaskQueues } from '../../../core/tasks/ports.ts'
import type { Task, TaskId, TaskState } from '../../../core/tasks/types.ts'
import { taskStates } from '../../../core/tasks/types.ts'
import { aliased, computed, int, long, pick, present, selectedAs } from '../kit/columns.ts'
import { databaseNow } from '../kit/fragments.ts'
import type { Prepared, Slot, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { values } from '../kit/values.ts'
import { taskOutbox, tasks } from '../tables/tasks.ts'
import { heldMilliseconds, makeAppendEvents, taskRow } from './task-outbox.ts'
import { makeEndTask } from './task-store.ts'

const mostCandidates = 8

/** Selects the oldest queued task of each tenant; tenants with the fewest running tasks come first. */
const waiting = (k: Knex, exceptTenant: Slot<'integer'>, kinds: readonly string[]): Knex.QueryBuilder => {
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
    .whereNot('q.tenant_id', exceptTenant as unknown as Knex.Value)
    .orderByRaw('coalesce(r.running, 0), q.id')
    .limit(mostCandidates)
}

/** Statements of a queue for these kinds. Candidates are read without locks; each is then locked, or skipped, by id. */
const queueStatements = (db: SqlDatabase, kinds: readonly string[]) => {
  const now = databaseNow(db.dialect)
  const signed = db.dialect === 'mysql' ? 'signed' : 'integer'
  const until = (k: Knex, lease: Slot<'integer'>) => k.raw(`${now} + cast(? as ${signed})`, [lease])
  const expired = `lease_until <= ${now}`
  const lock = (rows: Knex.QueryBuilder) => (db.dialect === 'mysql' ? rows.forUpdate().skipLocked() : rows)
  const id = pick(tasks, 'id')
  const fenced = pick(tasks, 'id', 'fence')
  const running = (k: Knex, p: { readonly id: Slot<'integer'>; readonly fence: Slot<'integer'> }) =>
    k('tasks')
      .where(values(tasks, { id: p.id, fence: p.fence }))
      .where('state', 'running')
  return {
    waiting: db.prepare({ exceptTenant: long() }, pick(aliased(tasks, 'q'), 'id'), (k, p) =>
      waiting(k, p.exceptTenant, kinds),
    ),
    dead: db.prepare({}, id, (k) =>
      k('tasks')
        .where('state', 'running')
        .whereRaw(expired)
        .whereIn('kind', kinds)
        .orderBy('lease_until')
        .limit(mostCandidates),
    ),
    lockWaiting: db.prepare(id, id, (k, p) => lock(k('tasks').where('id', p.id).where('state', 'queued'))),
    lockDead: db.prepare(id, id, (k, p) =>
      lock(k('tasks').where('id', p.id).where('state', 'running').whereRaw(expired)),
    ),
    take: db.prepare({ ...pick(tasks, 'id', 'holder', 'message'), lease: int() }, (k, p) =>
      k('tasks')
        .where('id', p.id)
        .update(
          values(tasks, {
            state: 'running',
            holder: p.holder,
            fence: k.raw('fence + 1'),
            leaseUntil: until(k, p.lease),
            message: p.message,
            startedAt: k.raw(`coalesce(started_at, ${now})`),
            lastSeq: k.raw('last_seq + 1'),
          }),
        ),
    ),
    takeOutbox: db.prepare({ id: taskOutbox.taskId, holder: taskOutbox.holder }, (k, p) =>
      k('task_outbox')
        .where('task_id', p.id)
        .update(values(taskOutbox, { holder: p.holder, heldUntil: k.raw(`${now} + ${heldMilliseconds}`) })),
    ),
    taken: db.prepare(
      id,
      { ...taskRow, ...pick(tasks, 'actor', 'lastSeq'), sealedInput: present(tasks.sealedInput) },
      (k, p) => k('tasks').where('id', p.id),
    ),
    renew: db.prepare({ ...fenced, lease: int() }, (k, p) =>
      running(k, p).update(values(tasks, { leaseUntil: until(k, p.lease) })),
    ),
    // A task that another worker had started must still be recovered.
    expire: db.prepare(fenced, (k, p) => running(k, p).update(values(tasks, { leaseUntil: k.raw(now), holder: null }))),
    requeue: db.prepare({ ...fenced, message: tasks.message }, (k, p) =>
      running(k, p).update(
        values(tasks, { state: 'queued', leaseUntil: null, holder: null, startedAt: null, message: p.message }),
      ),
    ),
    number: db.prepare({ ...fenced, count: int() }, (k, p) =>
      running(k, p).update({ last_seq: k.raw('last_seq + ?', [p.count]) }),
    ),
    lastSeq: db.prepare(id, pick(tasks, 'lastSeq'), (k, p) => k('tasks').where('id', p.id)),
    cancelRequested: db.prepare({ holder: present(tasks.holder) }, id, (k, p) =>
      k('tasks')
        .where(values(tasks, { holder: p.holder, state: 'running' }))
        .where('is_cancel_requested', 1),
    ),
  }
}

const countStatements = (db: SqlDatabase) => ({
  byState: db.prepare({}, { state: tasks.state, count: selectedAs(long()) }, (k) =>
    k('tasks').groupBy('state').count({ count: '*' }),
  ),
  oldest: db.prepare(
    {},
    {
      ...pick(tasks, 'kind', 'state'),
      age: computed(long(), `${databaseNow(db.dialect)} - min(coalesce(started_at, created_at))`),
    },
    (k) => k('tasks').whereIn('state', ['queued', 'running']).groupBy('kind', 'state'),
  ),
})

const milliseconds = (seconds: number): number => Math.round(seconds * 1000)
/** A worker that loses every row of one read to other workers reads again. */
const claimRounds = 5

export const makeSqlTaskQueues = (db: SqlDatabase): TaskQueues => {
  const counts = countStatements(db)
  return {
    open: (holder, kinds) => openQueue(db, holder, kinds),
    async counts() {
      const rows = await db.all(counts.byState, {})
      const oldest = await db.all(counts.oldest, {})
      const byState = Object.fromEntries(taskStates.map((state) => [state, 0])) as Record<TaskState, number>
      for (const { state, count } of rows) byState[state] = count
      return {
        byState,
        oldest: oldest.map(({ kind, state, age }) => ({
          kind,
          state: state === 'running' ? state : 'queued',
          seconds: Math.max(0, age) / 1000,
        })),
      }
    },
  }
}

type Candidate = Pick<Task, 'id'>
type Lock = Prepared<Candidate, Candidate>

const openQueue = (db: SqlDatabase, holder: string, kinds: readonly string[]): TaskQueue => {
  const s = queueStatements(db, kinds)
  const appendEvents = makeAppendEvents(db)
  const endTask = makeEndTask(db)

  const take = (
    id: TaskId,
    lock: Lock,
    isTakenOver: boolean,
    { leaseSeconds, opening }: ClaimOptions,
  ): Promise<ClaimedTask | undefined> =>
    db.transaction(async (tx) => {
      if ((await tx.first(lock, { id })) === undefined) return undefined
      const event = opening((await claimedTask(tx, id)).task, isTakenOver)
      await tx.run(s.take, { id, holder, lease: milliseconds(leaseSeconds), message: event.msg })
      // In this order: a reader of the outbox must see the earlier events of the task first.
      await tx.run(s.takeOutbox, { id, holder })
      const { lastSeq, ...claimed } = await claimedTask(tx, id)
      await appendEvents(tx, id, [event], lastSeq, holder)
      return { ...claimed, isTakenOver }
    })

  const claimedTask = async (tx: SqlRunner, id: TaskId) => {
    const row = await tx.first(s.taken, { id })
    if (row === undefined) throw new Error('the task whose row is locked is gone')
    const { actor: asked, sealedInput, lastSeq, ...task } = row
    return { task, ...asked, sealedInput, lastSeq }
  }

  const firstOf = async (
    candidates: () => Promise<readonly Candidate[]>,
    lock: Lock,
    isTakenOver: boolean,
    options: ClaimOptions,
  ) => {
    for (let round = 0; round < claimRounds; round++) {
      const rows = await candidates()
      if (rows.length === 0) return undefined
      for (const { id } of rows) {
        const claimed = await take(id, lock, isTakenOver, options)
        if (claimed !== undefined) return claimed
      }
    }
    return undefined
  }

  const append = async (tx: SqlRunner, id: TaskId, events: readonly NewTaskEvent[]): Promise<void> => {
    const row = await tx.first(s.lastSeq, { id })
    if (row === undefined) throw new Error('the task whose row is locked is gone')
    await appendEvents(tx, id, events, row.lastSeq, holder)
  }

  return {
    async claim(options) {
      if (kinds.length === 0) return undefined
      const waiting = () => db.all(s.waiting, { exceptTenant: options.exceptTenant ?? 0 })
      return (
        (await firstOf(() => db.all(s.dead, {}), s.lockDead, true, options)) ??
        (await firstOf(waiting, s.lockWaiting, false, options))
      )
    },
    async renew({ task: { id, fence } }, leaseSeconds) {
      return (await db.run(s.renew, { id, fence, lease: milliseconds(leaseSeconds) })).affected === 1
    },
    record: ({ task: { id, fence } }, events) =>
      db.transaction(async (tx) => {
        if ((await tx.run(s.number, { id, fence, count: events.length })).affected !== 1) return false
        await append(tx, id, events)
        return true
      }),
    end: ({ task }, end, events) =>
      db.transaction(async (tx) => {
        if (!(await endTask.fenced(tx, task, end, events.length))) return false
        await append(tx, task.id, events)
        return true
      }),
    async giveBack({ task: { id, fence }, isTakenOver }) {
      if (isTakenOver) await db.run(s.expire, { id, fence })
      else await db.run(s.requeue, { id, fence, message: 'Waits for a worker.' })
    },
    async cancelRequested() {
      return (await db.all(s.cancelRequested, { holder })).map(({ id }) => id)
    },
  }
}
