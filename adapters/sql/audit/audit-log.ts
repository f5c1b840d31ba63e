import type { Knex } from 'knex'
import type { AuditLog, StoredChain } from '../../../core/audit/ports.ts'
import type { AuditEvent, AuditFilter, ChainedEvent } from '../../../core/audit/types.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { SqlDatabase } from '../statement.ts'
import type { AuditRow } from './rows.ts'
import { chainedEvent } from './rows.ts'

const countedRows = 10_000
const pieceRows = 500

interface HeadRow {
  readonly tenant_id: number
  readonly hash: Uint8Array
  readonly base_hash: Uint8Array | null
  readonly base_seal: Uint8Array | null
}

const eventOf = (row: AuditRow): AuditEvent => {
  const { previousHash: _previous, hash: _hash, ...event } = chainedEvent(row)
  return event
}

/** AuditLog over the table audit_events. */
export const makeSqlAuditLog = (db: SqlDatabase): AuditLog => {
  const heads = db.prepare((k) => k('audit_heads').select('tenant_id', 'hash', 'base_hash', 'base_seal').orderBy('tenant_id'))
  const piece = db.prepare((k, p: (n: 'tenantId' | 'after' | 'limit') => number) =>
    k('audit_events').select('*').where('tenant_id', p('tenantId')).where('id', '>', p('after')).orderBy('id').limit(p('limit')),
  )

  const eventsOf = async function* (tenantId: number): AsyncIterable<ChainedEvent> {
    for (let after = 0; ; ) {
      const rows = await db.all<AuditRow>(piece, { tenantId, after, limit: pieceRows })
      for (const row of rows) yield chainedEvent(row)
      const last = rows.at(-1)
      if (last === undefined || rows.length < pieceRows) return
      after = last.id
    }
  }

  return {
    async list(filter, page) {
      const rows = await db.query<AuditRow>((k) =>
        filtered(k, filter).select('*').orderBy('id', 'desc').limit(page.limit).offset(pageOffset(page)),
      )
      const counted = await db.query<{ total: number }>((k) =>
        k.count('* as total').from(filtered(k, filter).select('id').limit(countedRows + 1).as('counted')),
      )
      const total = Number(counted[0]?.total ?? 0)
      return { items: rows.map(eventOf), total: Math.min(total, countedRows), ...(total > countedRows ? { totalIsCapped: true } : {}) }
    },

    async listAfter(filter, after, limit) {
      const rows = await db.query<AuditRow>((k) => filtered(k, filter).select('*').where('id', '>', after).orderBy('id').limit(limit))
      return rows.map(eventOf)
    },

    async *chains(): AsyncIterable<StoredChain> {
      for (const head of await db.all<HeadRow>(heads, {})) {
        const { tenant_id: tenantId, base_hash: hash, base_seal: seal } = head
        const base = hash === null || seal === null ? undefined : { hash, seal }
        yield { tenantId, base, head: head.hash, events: eventsOf(tenantId) }
      }
    },
  }
}

const filtered = (k: Knex, { tenantId, action, actor, since }: AuditFilter): Knex.QueryBuilder => {
  const rows = k('audit_events')
  if (tenantId !== undefined) rows.where('tenant_id', tenantId)
  if (action !== undefined) rows.where('action', action)
  if (actor !== undefined) rows.whereRaw('lower(actor_name) = ?', [actor.toLowerCase()])
  if (since !== undefined) rows.where('at', '>=', since.getTime())
  return rows
}
