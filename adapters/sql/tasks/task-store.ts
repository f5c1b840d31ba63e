import type { Knex } from 'knex'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Entrant } from '../../../core/kernel/access.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { TaskFilter, TaskStore } from '../../../core/tasks/store-ports.ts'
import { entrantBinds, lettingIn } from '../authz/letting-in.ts'
import type { CountRow } from '../counted-page.ts'
import { countOf, pageOf } from '../counted-page.ts'
import type { SqlDatabase } from '../statement.ts'
import type { EventRow, TaskRow } from './rows.ts'
import { eventColumns, eventOf, taskColumns, taskOf } from './rows.ts'

type P<N extends string> = (name: N) => Knex.Value & number

/** Keeps tasks of the actor's own account and of organizations that let the actor in as a member. */
const whereBelonging = (k: Knex, actorId: UserId, entrant: Entrant) => (rows: Knex.QueryBuilder): void => {
  const binds = entrantBinds(entrant)
  const membership = k('org_members as m')
    .join('organizations as o', 'o.id', 'm.org_id')
    .whereRaw('m.org_id = tasks.tenant_id')
    .where('m.user_id', actorId)
    .modify(lettingIn(k, (name) => binds[name]))
    .select('m.org_id')
  rows.where((any) => any.where('tenant_id', actorId).orWhereExists(membership))
}

const matching = (k: Knex, rows: Knex.QueryBuilder, { actorId, entrant, tenantId, state, kind, cluster }: TaskFilter): Knex.QueryBuilder => {
  const wanted = { actor_id: actorId, tenant_id: tenantId, state, kind, cluster }
  for (const [column, value] of Object.entries(wanted)) if (value !== undefined) void rows.where(column, value)
  if (actorId !== undefined && entrant !== undefined) void rows.modify(whereBelonging(k, actorId, entrant))
  return rows
}

/** TaskStore over `tasks` and `task_events`: reads outside of any transaction. */
export const makeSqlTaskStore = (db: SqlDatabase): TaskStore => {
  const find = db.prepare((k, p: P<'ref'>) =>
    k('tasks as t').join('accounts as a', 'a.id', 't.tenant_id').where('t.ref', p('ref')).select(...taskColumns.map((column) => `t.${column}`), 'a.name as tenant_name'),
  )
  const events = db.prepare((k, p: P<'id' | 'after' | 'limit'>) =>
    k('task_events').where('task_id', p('id')).where('seq', '>', p('after')).select(...eventColumns).orderBy('seq').limit(p('limit')),
  )
  return {
    async list(filter, page) {
      const rows = await db.query<TaskRow>((k) =>
        matching(k, k('tasks').select(...taskColumns), filter).orderBy('id', 'desc').limit(page.limit).offset(pageOffset(page)),
      )
      const [count] = await db.query<CountRow>((k) => countOf(k, matching(k, k('tasks').select('id'), filter)))
      return pageOf(rows.map(taskOf), count)
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
