import type { Knex } from 'knex'
import { databaseNow } from '../database-clock.ts'
import type { SqlDatabase } from '../statement.ts'
import { heldMilliseconds } from './append-events.ts'
import { taskColumns } from './rows.ts'

type P<N extends string> = (name: N) => Knex.Value & number

const mostCandidates = 8

/** The oldest queued task of each tenant, those first whose tenant has the fewest running. */
const waiting = (k: Knex, p: P<'exceptTenant'>, kinds: readonly string[]): Knex.QueryBuilder => {
  const oldest = k('tasks').where('state', 'queued').whereIn('kind', kinds).groupBy('tenant_id').select('tenant_id').min({ id: 'id' }).as('q')
  const running = k('tasks').where('state', 'running').groupBy('tenant_id').select('tenant_id').count({ running: '*' }).as('r')
  return k
    .from(oldest)
    .leftJoin(running, 'r.tenant_id', 'q.tenant_id')
    .whereNot('q.tenant_id', p('exceptTenant'))
    .select('q.id')
    .orderByRaw('coalesce(r.running, 0), q.id')
    .limit(mostCandidates)
}

/** Statements of a queue that knows these kinds. Candidates are read without locks; a lock is taken, or passed over, by id. */
export const queueStatements = (db: SqlDatabase, kinds: readonly string[]) => {
  const now = databaseNow(db.dialect)
  const signed = db.dialect === 'mysql' ? 'signed' : 'integer'
  const until = (k: Knex, p: P<'lease'>) => k.raw(`${now} + cast(? as ${signed})`, [p('lease')])
  const expired = `lease_until <= ${now}`
  const lock = (rows: Knex.QueryBuilder) => (db.dialect === 'mysql' ? rows.forUpdate().skipLocked() : rows)
  return {
    waiting: db.prepare((k, p: P<'exceptTenant'>) => waiting(k, p, kinds)),
    dead: db.prepare((k) => k('tasks').where('state', 'running').whereRaw(expired).whereIn('kind', kinds).select('id').orderBy('lease_until').limit(mostCandidates)),
    lockWaiting: db.prepare((k, p: P<'id'>) => lock(k('tasks').where('id', p('id')).where('state', 'queued').select('id'))),
    lockDead: db.prepare((k, p: P<'id'>) => lock(k('tasks').where('id', p('id')).where('state', 'running').whereRaw(expired).select('id'))),
    take: db.prepare((k, p: P<'id' | 'holder' | 'lease' | 'message'>) =>
      k('tasks').where('id', p('id')).update({
        state: 'running', holder: p('holder'), fence: k.raw('fence + 1'), lease_until: until(k, p), message: p('message'),
        started_at: k.raw(`coalesce(started_at, ${now})`), last_seq: k.raw('last_seq + 1'),
      }),
    ),
    takeOutbox: db.prepare((k, p: P<'id' | 'holder'>) =>
      k('task_outbox').where('task_id', p('id')).update({ holder: p('holder'), held_until: k.raw(`${now} + ${heldMilliseconds}`) }),
    ),
    taken: db.prepare((k, p: P<'id'>) => k('tasks').where('id', p('id')).select(...taskColumns, 'actor', 'sealed_input', 'last_seq')),
    renew: db.prepare((k, p: P<'id' | 'fence' | 'lease'>) =>
      k('tasks').where({ id: p('id'), fence: p('fence') }).where('state', 'running').update({ lease_until: until(k, p) }),
    ),
    // A task that somebody else had begun before stays one to recover.
    expire: db.prepare((k, p: P<'id' | 'fence'>) =>
      k('tasks').where({ id: p('id'), fence: p('fence') }).where('state', 'running').update({ lease_until: k.raw(now), holder: null }),
    ),
    requeue: db.prepare((k, p: P<'id' | 'fence' | 'message'>) =>
      k('tasks')
        .where({ id: p('id'), fence: p('fence') })
        .where('state', 'running')
        .update({ state: 'queued', lease_until: null, holder: null, started_at: null, message: p('message') }),
    ),
    number: db.prepare((k, p: P<'id' | 'fence' | 'count'>) =>
      k('tasks').where({ id: p('id'), fence: p('fence') }).where('state', 'running').update({ last_seq: k.raw('last_seq + ?', [p('count')]) }),
    ),
    lastSeq: db.prepare((k, p: P<'id'>) => k('tasks').where('id', p('id')).select('last_seq')),
    cancelRequested: db.prepare((k, p: P<'holder'>) =>
      k('tasks').where({ holder: p('holder'), state: 'running' }).where('is_cancel_requested', 1).select('id'),
    ),
  }
}

export const countStatements = (db: SqlDatabase) => ({
  byState: db.prepare((k) => k('tasks').groupBy('state').select('state').count({ count: '*' })),
  oldestQueued: db.prepare((k) => k('tasks').where('state', 'queued').select(k.raw(`${databaseNow(db.dialect)} - min(created_at) as age`))),
})
