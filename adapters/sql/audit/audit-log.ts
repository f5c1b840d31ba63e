import type { Knex } from 'knex'
import type { AuditLog, AuditRetention, StoredChain } from '../../../core/audit/ports.ts'
import type { AuditFilter, ChainedEvent } from '../../../core/audit/types.ts'
import { rowsById } from '../../../core/kernel/page.ts'
import { databaseNow, queryRows } from '../kit/fragments.ts'
import { columnsOf, int, pick, selectedAs, without } from '../kit/columns.ts'
import { filteredRows } from '../kit/page-query.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { values } from '../kit/values.ts'
import { auditEvents, auditHeads } from '../tables/audit.ts'

const pieceRows = 500

/** Longer than the transaction that writes a row takes, also if its process stood still and was given up. */
const settledMilliseconds = 60_000

const chainedRow = columnsOf(auditEvents)
const eventRow = without(auditEvents, 'previousHash', 'hash')

export const makeSqlAuditLog = (db: SqlDatabase): AuditLog => {
  const heads = db.prepare({}, columnsOf(auditHeads), (k) => k('audit_heads').orderBy('tenant_id'))
  // One statement, so that a first row that another transaction writes at the same time has its head.
  const headless = db.prepare({}, { tenantId: selectedAs(auditEvents.tenantId) }, (k) =>
    k('audit_events')
      .distinct('tenant_id')
      .whereNotIn('tenant_id', k('audit_heads').select('tenant_id'))
      .orderBy('tenant_id'),
  )
  const piece = db.prepare(
    { ...pick(auditEvents, 'tenantId'), after: auditEvents.id, limit: int() },
    chainedRow,
    (k, p) => k('audit_events').where('tenant_id', p.tenantId).where('id', '>', p.after).orderBy('id').limit(p.limit),
  )

  const eventsOf = async function* (tenantId: number): AsyncIterable<ChainedEvent> {
    yield* rowsById(pieceRows, (after, limit) => db.all(piece, { tenantId, after, limit }))
  }

  /**
   * Numbers are given before the commit: of two changes at the same time, the one with the higher number may be visible
   * first. So a recent row that follows a missing number waits, until that number is there or the row is no longer
   * recent. One statement reads the last row before the first gap, since a row of the gap may appear at any time.
   */
  const settled = db.prepare({ after: auditEvents.id }, { last: selectedAs(auditEvents.id) }, (k, p) => {
    const afterGap = k('audit_events as e')
      .min('e.id')
      .where('e.at', '>=', k.raw(`${databaseNow(db.dialect)} - ${settledMilliseconds}`))
      .whereRaw('e.id > ? + 1', [p.after])
      .whereNotExists(k('audit_events as p').select('p.id').where('p.id', k.raw('e.id - 1')))
    return k('audit_events')
      .select({ last: 'id' })
      .where('id', '<', k.raw('coalesce((?), 9007199254740991)', [afterGap]))
      .orderBy('id', 'desc')
      .limit(1)
  })
  /** Returns the last number up to which every row that will exist is visible. */
  const settledUpTo = async (after: number): Promise<number> => {
    return (await db.first(settled, { after }))?.last ?? 0
  }

  return {
    async list(filter, page) {
      return filteredRows(
        db,
        eventRow,
        (k) => filtered(k, filter),
        (_, rows, cut) => cut(rows.orderBy('id', 'desc')),
        page,
      )
    },

    async listAfter(filter, after, limit) {
      // The rows of one account are written one after the other, and SQLite has one writer at a time.
      const isConcurrent = filter.tenantId === undefined && db.dialect === 'mysql'
      const upTo = isConcurrent ? await settledUpTo(after) : undefined
      return queryRows(db, eventRow, (k) => {
        const later = filtered(k, filter).where('id', '>', after)
        return (upTo === undefined ? later : later.where('id', '<=', upTo)).orderBy('id').limit(limit)
      })
    },

    async *chains(): AsyncIterable<StoredChain> {
      for (const { tenantId, hash: head, baseHash: hash, baseSeal: seal } of await db.all(heads, {})) {
        const base = hash === undefined || seal === undefined ? undefined : { hash, seal }
        yield { tenantId, base, head, events: eventsOf(tenantId) }
      }
      for (const { tenantId } of await db.all(headless, {}))
        yield { tenantId, base: undefined, head: undefined, events: eventsOf(tenantId) }
    },
  }
}

/** Returns the newest rows of all chains, at most `limit`. */
export const newestEvents = (db: SqlDatabase, limit: number): Promise<readonly ChainedEvent[]> =>
  queryRows(db, chainedRow, (k) => k('audit_events').orderBy('id', 'desc').limit(limit))

const filtered = (k: Knex, { tenantId, action, actor, since }: AuditFilter): Knex.QueryBuilder => {
  const rows = k('audit_events')
  if (tenantId !== undefined) rows.where('tenant_id', tenantId)
  if (action !== undefined) rows.where('action', action)
  if (actor !== undefined) rows.whereRaw('lower(actor_name) = ?', [actor.toLowerCase()])
  if (since !== undefined) rows.where('at', '>=', since.getTime())
  return rows
}

/**
 * AuditRetention over the audit tables. The account's head is locked first, as for appending, so that a chain has only
 * one writer at a time.
 */
export const makeSqlAuditRetention = (db: SqlDatabase): AuditRetention => {
  // Uses the index of instants, so that it costs nothing if no row is old enough.
  const anyOld = db.prepare({ before: auditEvents.at }, pick(auditEvents, 'tenantId'), (k, p) =>
    k('audit_events').where('at', '<', p.before).orderBy('at').limit(1),
  )
  const lockHead = db.prepare(pick(auditHeads, 'tenantId'), pick(auditHeads, 'tenantId'), (k, p) =>
    k('audit_heads').where('tenant_id', p.tenantId).forUpdate(),
  )
  const ofTenant = { ...pick(auditEvents, 'tenantId'), before: auditEvents.at }
  const oldest = db.prepare({ ...ofTenant, limit: int() }, pick(auditEvents, 'id', 'hash'), (k, p) =>
    k('audit_events').where('tenant_id', p.tenantId).where('at', '<', p.before).orderBy('id').limit(p.limit),
  )
  const firstKept = db.prepare(ofTenant, pick(auditEvents, 'id'), (k, p) =>
    k('audit_events').where('tenant_id', p.tenantId).where('at', '>=', p.before).orderBy('id').limit(1),
  )
  const remove = db.prepare({ ...pick(auditEvents, 'tenantId'), upTo: auditEvents.id }, (k, p) =>
    k('audit_events').where('tenant_id', p.tenantId).where('id', '<=', p.upTo).delete(),
  )
  const moveBase = db.prepare(pick(auditHeads, 'tenantId', 'baseHash', 'baseSeal'), (k, p) =>
    k('audit_heads')
      .where('tenant_id', p.tenantId)
      .update(values(auditHeads, { baseHash: p.baseHash, baseSeal: p.baseSeal })),
  )
  return {
    async removeOldest(before, limit, sealOf) {
      const found = await db.first(anyOld, { before })
      if (found === undefined) return { removed: 0, isDone: true }
      const { tenantId } = found
      return db.transaction(async (tx) => {
        await tx.first(lockHead, { tenantId })
        const rows = await tx.all(oldest, { tenantId, before, limit })
        // A clock that once went backwards must not leave a gap: no row after the first kept row is removed.
        const kept = await tx.first(firstKept, { tenantId, before })
        const retired = rows.filter((row) => kept === undefined || row.id < kept.id)
        const last = retired.at(-1)
        if (last === undefined) return { removed: 0, isDone: true }
        const { affected } = await tx.run(remove, { tenantId, upTo: last.id })
        await tx.run(moveBase, { tenantId, baseHash: last.hash, baseSeal: sealOf(tenantId, last.hash) })
        return { removed: affected, isDone: false }
      })
    },
  }
}
