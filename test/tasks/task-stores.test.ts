import { randomUUID } from 'node:crypto'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { endedStatements, makeSqlTaskRetention } from '../../adapters/sql/tasks/task-retention.ts'
import { makeSqlTaskChanges, makeSqlTaskStore } from '../../adapters/sql/tasks/task-store.ts'
import { makeSqlTaskOutbox } from '../../adapters/sql/tasks/task-outbox.ts'
import { makeSqlTaskQueues } from '../../adapters/sql/tasks/task-queue.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import { eachDatabase } from '../support/databases.ts'
import { taskStoresSuite } from './task-stores.suite.ts'
import type { TaskWorld } from './task-world.ts'

const instants = { tasks: ['created_at', 'started_at', 'ended_at', 'lease_until'], task_outbox: ['held_until'] } as const

const endedRow = (tenantId: number, ref: string, second: number) => ({
  ref, response_id: ref, subject: ref, kind: 'tiny.work', title: 'Work', tenant_id: tenantId, actor_id: tenantId, actor_login: 'ada', actor: '{}', about: '{}',
  state: 'succeeded', digest: Buffer.alloc(32), message: 'done', created_at: Date.now(), ended_at: Date.now() - 3_600_000 + second * 1000,
})

const worldOf = (db: SqlDatabase): TaskWorld => {
  const changes = new Map<string, ReturnType<typeof makeSqlTaskChanges>>()
  let accounts = 0
  return {
    tasks: makeSqlTaskStore(db),
    queues: makeSqlTaskQueues(db),
    retention: makeSqlTaskRetention(db),
    outbox: (holder = 'own') => makeSqlTaskOutbox(db, holder),
    change: (work, holder = 'own') => {
      const bind = changes.get(holder) ?? makeSqlTaskChanges(db, holder)
      changes.set(holder, bind)
      return db.transaction((tx) => work(bind(tx)))
    },
    account: async () => {
      accounts += 1
      const name = `account-${accounts}`
      await db.query((k) => k('accounts').insert({ kind: 'user', name, lower_name: name, created_at: 0 }))
      const [row] = await db.query<{ id: number }>((k) => k('accounts').where({ name }).select('id'))
      return Number(row?.id) as UserId
    },
    removeAccount: async (id) => {
      await db.query((k) => k('accounts').where({ id }).delete())
    },
    organization: async (...members) => {
      accounts += 1
      const name = `org-${accounts}`
      await db.query((k) => k('accounts').insert({ kind: 'organization', name, lower_name: name, created_at: 0 }))
      const [row] = await db.query<{ id: number }>((k) => k('accounts').where({ name }).select('id'))
      const id = Number(row?.id) as OrgId
      await db.query((k) => k('organizations').insert({ id, created_at: 0 }))
      for (const user_id of members) {
        await db.query((k) => k('users').insert({ id: user_id, password_hash: '', created_at: 0 }))
        await db.query((k) => k('org_members').insert({ org_id: id, user_id, created_at: 0 }))
      }
      return id
    },
    leave: async (org_id, user_id) => {
      await db.query((k) => k('org_members').where({ org_id, user_id }).delete())
    },
    demandSecondFactor: async (id) => {
      await db.query((k) => k('organizations').where({ id }).update({ two_factor_from: 1 }))
    },
    endedTasks: async (tenantId, count) => {
      const refs = Array.from({ length: count }, () => randomUUID())
      const rows = refs.map((ref, index) => endedRow(tenantId, ref, index))
      for (let at = 0; at < count; at += 40) await db.query((k) => k('tasks').insert(rows.slice(at, at + 40)))
      return refs
    },
    planOfSurplus: async (tenantId) => {
      if (db.dialect === 'mysql') await db.query((k) => k.raw('analyze table tasks'))
      const { count, oldest } = endedStatements(db)
      const binds: Readonly<Record<string, number>> = { tenantId, most: 1002, limit: 2 }
      const plans: string[] = []
      for (const { sql, order } of [count, oldest]) {
        const values = order.map((slot) => (typeof slot === 'string' ? (binds[slot] ?? null) : slot.constant))
        plans.push(JSON.stringify(await db.query((k) => k.raw(`${db.dialect === 'mysql' ? 'explain' : 'explain query plan'} ${sql}`, values as never))))
      }
      return plans
    },
    age: async (seconds) => {
      for (const [table, columns] of Object.entries(instants)) {
        await db.query((k) => k(table).update(Object.fromEntries(columns.map((column) => [column, k.raw('?? - ?', [column, seconds * 1000])]))))
      }
    },
    close: () => db.close(),
  }
}

for (const database of eachDatabase()) taskStoresSuite(database.name, async () => worldOf(await database.open()))
