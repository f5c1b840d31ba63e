import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import { LockHeld } from '../../../core/tasks/store-ports.ts'
import type { NewTask, TaskChanges } from '../../../core/tasks/store-ports.ts'
import { databaseNow } from '../database-clock.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { Bind, Num, SqlDatabase, SqlRunner } from '../statement.ts'
import { makeAppendEvents } from './append-events.ts'
import { makeEndTask } from './end-task.ts'
import { makeRemoveEndedBeyond } from './ended-beyond.ts'
import type { TaskRow } from './rows.ts'
import { askedToText, taskColumns, taskOf } from './rows.ts'

type P<N extends string> = (name: N) => Knex.Value & number

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
  about: JSON.stringify(task.about),
  cluster: task.about['cluster'] ?? '',
  lock_key: task.lockKey ?? null,
  sealed_input: task.sealedInput,
  digest: task.digest,
  message: task.message,
})
const insertColumns = [
  'ref', 'response_id', 'subject', 'kind', 'title', 'tenant_id', 'actor_id', 'actor_login', 'actor', 'about', 'cluster', 'lock_key', 'sealed_input',
  'digest', 'message',
] as const

const statements = (db: SqlDatabase) => {
  const now = databaseNow(db.dialect)
  return {
    lockAccount: db.prepare((k, p: P<'id'>) => k('accounts').where('id', p('id')).select('id').forUpdate()),
    countUnfinished: db.prepare((k, p: P<'tenantId'>) =>
      k('tasks').where('tenant_id', p('tenantId')).whereIn('state', ['queued', 'running']).count({ count: '*' }),
    ),
    byResponse: db.prepare((k, p: P<'actorId' | 'responseId'>) =>
      k('tasks')
        .where({ actor_id: p('actorId'), response_id: p('responseId') })
        .whereRaw(`created_at > ${now} - ${responseMilliseconds}`)
        .select(...taskColumns, 'digest')
        .orderBy('id', 'desc')
        .limit(1),
    ),
    byLock: db.prepare((k, p: P<'lockKey'>) => k('tasks').where('lock_key', p('lockKey')).select(...taskColumns)),
    byId: db.prepare((k, p: P<'id'>) => k('tasks').where('id', p('id')).select(...taskColumns)),
    lock: db.prepare((k, p: P<'id'>) => k('tasks').where('id', p('id')).select(...taskColumns).forUpdate()),
    insert: db.prepare((k, p: P<(typeof insertColumns)[number]>) =>
      k('tasks').insert({ ...Object.fromEntries(insertColumns.map((name) => [name, p(name)])), state: 'queued', created_at: k.raw(now) }),
    ),
    number: db.prepare((k, p: P<'id' | 'count'>) => k('tasks').where('id', p('id')).update({ last_seq: k.raw('last_seq + ?', [p('count')]) })),
    lastSeq: db.prepare((k, p: P<'id'>) => k('tasks').where('id', p('id')).select('last_seq')),
    requestCancel: db.prepare((k, p: P<'id'>) => k('tasks').where('id', p('id')).update({ is_cancel_requested: 1 })),
  }
}

/** TaskChanges over `tasks`, bound to a transaction. `holder` is this process, which publishes what it wrote. */
export const makeSqlTaskChanges = (db: SqlDatabase, holder: string): ((tx: SqlRunner) => TaskChanges) => {
  const s = statements(db)
  const appendEvents = makeAppendEvents(db)
  const endTask = makeEndTask(db)
  const removeEndedBeyond = makeRemoveEndedBeyond(db)
  return (tx) => ({
    async lockAccounts(ids) {
      let found = 0
      for (const id of [...new Set(ids)].sort((a, b) => a - b)) if ((await tx.first(s.lockAccount, { id })) !== undefined) found += 1
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
