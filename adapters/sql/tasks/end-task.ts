import type { Knex } from 'knex'
import { toWireJson } from '../../../core/kernel/json.ts'
import type { TaskEnd } from '../../../core/tasks/ports.ts'
import type { TaskId } from '../../../core/tasks/types.ts'
import { databaseNow } from '../database-clock.ts'
import type { Bind, SqlDatabase, SqlRunner } from '../statement.ts'

type P<N extends string> = (name: N) => Knex.Value & number
type EndBind = 'state' | 'message' | 'error' | 'result'

const endBinds = ({ state, message, error, result }: TaskEnd): Record<EndBind, Bind> => ({
  state,
  message,
  error: error ?? null,
  result: result === undefined ? null : toWireJson(result),
})

/** The one change of a row that ends a task: what only unfinished work needs goes with it. */
export const makeEndTask = (db: SqlDatabase) => {
  const ended = (k: Knex, p: P<EndBind>) => ({
    state: p('state'), message: p('message'), error: p('error'), result: p('result'), ended_at: k.raw(databaseNow(db.dialect)),
    lock_key: null, sealed_input: null, lease_until: null, holder: null,
  })
  const unattended = db.prepare((k, p: P<EndBind | 'id'>) => k('tasks').where('id', p('id')).update({ ...ended(k, p), fence: k.raw('fence + 1') }))
  const fenced = db.prepare((k, p: P<EndBind | 'id' | 'fence' | 'count'>) =>
    k('tasks')
      .where({ id: p('id'), fence: p('fence') })
      .where('state', 'running')
      .update({ ...ended(k, p), last_seq: k.raw('last_seq + ?', [p('count')]) }),
  )
  return {
    /** The caller holds the row and knows that no worker has it. */
    unattended: async (tx: SqlRunner, id: TaskId, end: TaskEnd): Promise<void> => {
      await tx.run(unattended, { id, ...endBinds(end) })
    },
    /** False when another worker has the task; `count` events follow. */
    fenced: async (tx: SqlRunner, { id, fence }: { readonly id: TaskId; readonly fence: number }, end: TaskEnd, count: number): Promise<boolean> =>
      (await tx.run(fenced, { id, fence, count, ...endBinds(end) })).affected === 1,
  }
}
