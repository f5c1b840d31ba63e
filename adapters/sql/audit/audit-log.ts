import type { Knex } from 'knex'
import type { AuditLog, AuditRetention, StoredChain } from '../../../core/audit/ports.ts'
import type { AuditEvent, AuditFilter, ChainedEvent } from '../../../core/audit/types.ts'
import { mapPage, rowsById } from '../../../core/kernel/page.ts'
import { databaseNow } from '../kit/fragments.ts'
import { filteredPage } from '../kit/page-query.ts'
import type { Num, SqlDatabase } from '../kit/statement.ts'
import type { AuditRow } from './audit-trail.ts'
import { chainedEvent } from './audit-trail.ts'

const pieceRows = 500

/** Longer than the transaction that writes a row takes, also if its process stood still and was given up. */
const settledMilliseconds = 60_000

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

export const makeSqlAuditLog = (db: SqlDatabase): AuditLog => {
  const heads = db.prepare((k) =>
    k('audit_heads').select('tenant_id', 'hash', 'base_hash', 'base_seal').orderBy('tenant_id'),
  )
  // One statement, so that a first row that another transaction writes at the same time has its head.
  const headless = db.prepare((k) =>
    k('audit_events')
      .distinct('tenant_id')
      .whereNotIn('tenant_id', k('audit_heads').select('tenant_id'))
      .orderBy('tenant_id'),
  )
  const piece = db.prepare((k, p: (n: 'tenantId' | 'after' | 'limit') => number) =>
    k('audit_events')
      .select('*')
      .where('tenant_id', p('tenantId'))
      .where('id', '>', p('after'))
      .orderBy('id')
      .limit(p('limit')),
  )

  const eventsOf = async function* (tenantId: number): AsyncIterable<ChainedEvent> {
    for await (const row of rowsById(pieceRows, (after, limit) => db.all<AuditRow>(piece, { tenantId, after, limit })))
      yield chainedEvent(row)
  }

  /**
   * Numbers are given before the commit: of two changes at the same time, the one with the higher number may be visible
   * first. So a recent row that follows a missing number waits, until that number is there or the row is no longer
   * recent. One statement reads the last row before the first gap, since a row of the gap may appear at any time.
   */
  const settled = db.prepare((k, p: (n: 'after') => number) => {
    const afterGap = k('audit_events as e')
      .min('e.id')
      .where('e.at', '>=', k.raw(`${databaseNow(db.dialect)} - ${settledMilliseconds}`))
      .whereRaw('e.id > ? + 1', [p('after')])
      .whereNotExists(k('audit_events as p').select('p.id').where('p.id', k.raw('e.id - 1')))
    return k('audit_events')
      .select({ last: 'id' })
      .where('id', '<', k.raw('coalesce((?), 9007199254740991)', [afterGap]))
      .orderBy('id', 'desc')
      .limit(1)
  })
  /** Returns the last number up to which every row that will exist is visible. */
  const settledUpTo = async (after: number): Promise<number> => {
    const found = await db.first<{ readonly last: Num }>(settled, { after })
    return Number(found?.last ?? 0)
  }

  return {
    async list(filter, page) {
      const found = await filteredPage<AuditRow>(
        db,
        (k) => filtered(k, filter),
        (_, rows, cut) => cut(rows.select('*').orderBy('id', 'desc')),
        page,
      )
      return mapPage(found, eventOf)
    },

    async listAfter(filter, after, limit) {
      // The rows of one account are written one after the other, and SQLite has one writer at a time.
      const isConcurrent = filter.tenantId === undefined && db.dialect === 'mysql'
      const upTo = isConcurrent ? await settledUpTo(after) : undefined
      const rows = await db.query<AuditRow>((k) => {
        const later = filtered(k, filter).select('*').where('id', '>', after)
        return (upTo === undefined ? later : later.where('id', '<=', upTo)).orderBy('id').limit(limit)
      })
      return rows.map(eventOf)
    },

    async *chains(): AsyncIterable<StoredChain> {
      for (const head of await db.all<HeadRow>(heads, {})) {
        const { tenant_id: tenantId, base_hash: hash, base_seal: seal } = head
        const base = hash === null || seal === null ? undefined : { hash, seal }
        yield { tenantId, base, head: head.hash, events: eventsOf(tenantId) }
      }
      for (const { tenant_id: tenantId } of await db.all<Pick<HeadRow, 'tenant_id'>>(headless, {}))
        yield { tenantId, base: undefined, head: undefined, events: eventsOf(tenantId) }
    },
  }
}

/** Returns the newest rows of all chains, at most `limit`. */
export const newestEvents = async (db: SqlDatabase, limit: number): Promise<readonly ChainedEvent[]> => {
  const rows = await db.query<AuditRow>((k) => k('audit_events').select('*').orderBy('id', 'desc').limit(limit))
  return rows.map(chainedEvent)
}

const filtered = (k: Knex, { tenantId, action, actor, since }: AuditFilter): Knex.QueryBuilder => {
  const rows = k('audit_events')
  if (tenantId !== undefined) rows.where('tenant_id', tenantId)
  if (action !== undefined) rows.where('action', action)
  if (actor !== undefined) rows.whereRaw('lower(actor_name) = ?', [actor.toLowerCase()])
  if (since !== undefined) rows.where('at', '>=', since.getTime())
  return rows
}

interface OldRow {
  readonly id: number
  readonly hash: Uint8Array
}

/**
 * AuditRetention over the audit tables. The account's head is locked first, as for appending, so that a chain has only
 * one writer at a time.
 */
export const makeSqlAuditRetention = (db: SqlDatabase): AuditRetention => {
  // Uses the index of instants, so that it costs nothing if no row is old enough.
  const anyOld = db.prepare((k, p: (n: 'before') => number) =>
    k('audit_events').where('at', '<', p('before')).select('tenant_id').orderBy('at').limit(1),
  )
  const lockHead = db.prepare((k, p: (n: 'tenantId') => number) =>
    k('audit_heads').where('tenant_id', p('tenantId')).select('tenant_id').forUpdate(),
  )
  const oldest = db.prepare((k, p: (n: 'tenantId' | 'before' | 'limit') => number) =>
    k('audit_events')
      .where('tenant_id', p('tenantId'))
      .where('at', '<', p('before'))
      .select('id', 'hash')
      .orderBy('id')
      .limit(p('limit')),
  )
  const firstKept = db.prepare((k, p: (n: 'tenantId' | 'before') => number) =>
    k('audit_events')
      .where('tenant_id', p('tenantId'))
      .where('at', '>=', p('before'))
      .select('id')
      .orderBy('id')
      .limit(1),
  )
  const remove = db.prepare((k, p: (n: 'tenantId' | 'upTo') => number) =>
    k('audit_events').where('tenant_id', p('tenantId')).where('id', '<=', p('upTo')).delete(),
  )
  const moveBase = db.prepare((k, p: (n: 'tenantId' | 'hash' | 'seal') => number) =>
    k('audit_heads')
      .where('tenant_id', p('tenantId'))
      .update({ base_hash: p('hash'), base_seal: p('seal') }),
  )
  return {
    async removeOldest(before, limit, sealOf) {
      const found = await db.first<{ tenant_id: number }>(anyOld, { before: before.getTime() })
      if (found === undefined) return { removed: 0, isDone: true }
      const tenantId = Number(found.tenant_id)
      return db.transaction(async (tx) => {
        await tx.first(lockHead, { tenantId })
        const rows = await tx.all<OldRow>(oldest, { tenantId, before: before.getTime(), limit })
        // A clock that once went backwards must not leave a gap: no row after the first kept row is removed.
        const kept = await tx.first<{ id: number }>(firstKept, { tenantId, before: before.getTime() })
        const retired = rows.filter((row) => kept === undefined || Number(row.id) < Number(kept.id))
        const last = retired.at(-1)
        if (last === undefined) return { removed: 0, isDone: true }
        const { affected } = await tx.run(remove, { tenantId, upTo: Number(last.id) })
        await tx.run(moveBase, { tenantId, hash: last.hash, seal: sealOf(tenantId, last.hash) })
        return { removed: affected, isDone: false }
      })
    },
  }
}
