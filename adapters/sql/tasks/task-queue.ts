import type { ClaimedTask, ClaimOptions, TaskQueue, TaskQueues } from '../../../core/tasks/store-ports.ts'
import type { TaskId, TaskState } from '../../../core/tasks/types.ts'
import { taskStates } from '../../../core/tasks/types.ts'
import type { Num, SqlDatabase, SqlRunner, Statement } from '../statement.ts'
import { makeAppendEvents } from './append-events.ts'
import { makeEndTask } from './end-task.ts'
import { countStatements, queueStatements } from './queue-statements.ts'
import type { TaskRow } from './rows.ts'
import { askedOf, taskOf } from './rows.ts'

interface TakenRow extends TaskRow {
  readonly actor: string
  readonly sealed_input: Uint8Array
  readonly last_seq: Num
}

const milliseconds = (seconds: number): number => Math.round(seconds * 1000)
/** Whoever lost every row of one reading to others reads again: by then they have moved on. */
const claimRounds = 5

/** TaskQueues over `tasks`. */
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

  const take = (id: number, lock: Statement, isTakenOver: boolean, { leaseSeconds, opening }: ClaimOptions): Promise<ClaimedTask | undefined> =>
    db.transaction(async (tx) => {
      if ((await tx.first(lock, { id })) === undefined) return undefined
      const before = await rowOf(tx, id)
      const event = opening(taskOf(before), isTakenOver)
      await tx.run(s.take, { id, holder, lease: milliseconds(leaseSeconds), message: event.msg })
      // In this order: a reader of the outbox must meet the earlier events of the task first.
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
      return (await firstOf(s.dead, s.lockDead, true, options)) ?? (await firstOf(s.waiting, s.lockWaiting, false, options))
    },
    async renew({ task: { id, fence } }, leaseSeconds) {
      return (await db.run(s.renew, { id, fence, lease: milliseconds(leaseSeconds) })).affected === 1
    },
    record: ({ task: { id, fence } }, events) =>
      db.transaction(async (tx) => {
        if ((await tx.run(s.number, { id, fence, count: events.length })).affected !== 1) return false
        await appendEvents(tx, id, events, Number((await tx.first<{ last_seq: Num }>(s.lastSeq, { id }))?.last_seq), holder)
        return true
      }),
    end: ({ task }, end, events) =>
      db.transaction(async (tx) => {
        if (!(await endTask.fenced(tx, task, end, events.length))) return false
        await appendEvents(tx, task.id, events, Number((await tx.first<{ last_seq: Num }>(s.lastSeq, { id: task.id }))?.last_seq), holder)
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
