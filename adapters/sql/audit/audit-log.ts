import type { Knex } from 'knex'
import type { AuditLog, AuditRetention, StoredChain } from '../../../core/audit/ports.ts'
import type { AuditEvent, AuditFilter, ChainedEvent } from '../../../core/audit/types.ts'
import { rowsById } from '../../../core/kernel/page.ts'
import { pauseInLongTurn } from '../engine/event-loop-turns.ts'
import { databaseNow, queryRows } from '../kit/fragments.ts'
import { columnsOf, int, pick, selectedAs, without } from '../kit/columns.ts'
import { filteredRows } from '../kit/page-query.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { values } from '../kit/values.ts'
import { auditEvents, auditHeads } from '../tables/audit.ts'

const pieceRows = 500

/** Longer than the transaction that writes a row takes, also if its process stood still and was given up. */
const settledMilliseconds = 60_000

/** Rows that one statement examines where no index decides alone: about 10 ms of SQLite. */
const mostExamined = 10_000

/** Rows are looked for from this long before an instant. Ids grow with time, unless the clock is set back. */
const clockSetBackMilliseconds = 3_600_000

const maxId = Number.MAX_SAFE_INTEGER - 1

const chainedRow = columnsOf(auditEvents)
const eventRow = without(auditEvents, 'previousHash', 'hash')

/** @param examined the most rows that a statement examines where no index decides alone. */
export const makeSqlAuditLog = (db: SqlDatabase, examined = mostExamined): AuditLog => {
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

  const firstSince = db.prepare({ since: auditEvents.at }, pick(auditEvents, 'id'), (k, p) =>
    k('audit_events').where('at', '>=', p.since).orderBy('at').orderBy('id').limit(1),
  )
  /** Returns the id from which rows are at or after the instant, or undefined if no row is. */
  const firstIdSince = async (since: Date): Promise<number | undefined> =>
    (await db.first(firstSince, { since: new Date(since.getTime() - clockSetBackMilliseconds) }))?.id

  /**
   * Returns the id of the last row that one statement examines, from the end of the range where `direction` begins.
   * Returns undefined if it can examine the whole range.
   */
  const edgeOf = async (
    filter: AuditFilter,
    range: IdRange,
    direction: 'asc' | 'desc',
  ): Promise<number | undefined> => {
    const [edge] = await queryRows(db, pick(auditEvents, 'id'), (k) =>
      indexed(k, filter, range).orderBy('id', direction).limit(1).offset(examined),
    )
    return edge?.id
  }

  return {
    async list(filter, page) {
      const from = filter.since === undefined ? 0 : await firstIdSince(filter.since)
      if (from === undefined) return { items: [], total: 0, nextBefore: undefined }
      const below = page.before ?? maxId
      const edge = needsRowsFor(filter) ? await edgeOf(filter, { from, below }, 'desc') : undefined
      const range = { from: edge ?? from, below }
      const found = await filteredRows(
        db,
        eventRow,
        (k) => filtered(k, filter, range),
        (_, rows, cut) => cut(rows.orderBy('id', 'desc')),
        page,
      )
      const hasMore =
        page.before === undefined && found.totalIsCapped !== true
          ? page.page * page.limit < found.total
          : found.items.length >= page.limit
      const counts = edge === undefined ? found : { ...found, totalIsCapped: true }
      return { ...counts, nextBefore: hasMore ? found.items.at(-1)?.id : edge }
    },

    async listAfter(filter, after, limit) {
      // The rows of one account are written one after the other, and SQLite has one writer at a time.
      const isConcurrent = filter.tenantId === undefined && db.dialect === 'mysql'
      const upTo = isConcurrent ? await settledUpTo(after) : maxId
      const first = filter.since === undefined ? 0 : await firstIdSince(filter.since)
      if (first === undefined) return []
      const events: AuditEvent[] = []
      for (let from: number | undefined = Math.max(first, after + 1); from !== undefined && events.length < limit;) {
        const range: IdRange = { from, below: upTo + 1 }
        const next: number | undefined = needsRowsFor(filter) ? await edgeOf(filter, range, 'asc') : undefined
        const piece = { from, below: next ?? range.below }
        events.push(
          ...(await queryRows(db, eventRow, (k) =>
            filtered(k, filter, piece)
              .orderBy('id')
              .limit(limit - events.length),
          )),
        )
        from = next
        await pauseInLongTurn()
      }
      return events
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

/** Rows with an id from `from` on and below `below`. */
interface IdRange {
  readonly from: number
  readonly below: number
}

/** Reports whether an index with the id at its end does not decide alone which rows match. */
const needsRowsFor = ({ action, actor, since }: AuditFilter): boolean =>
  since !== undefined || (action !== undefined && actor !== undefined)

/** Selects rows by what one index has: the account, and the actor or the action. */
const indexed = (k: Knex, { tenantId, action, actor }: AuditFilter, { from, below }: IdRange): Knex.QueryBuilder => {
  const rows = k('audit_events').where('id', '>=', from).where('id', '<', below)
  if (tenantId !== undefined) rows.where('tenant_id', tenantId)
  if (actor !== undefined) return rows.where('actor_key', actor.toLowerCase())
  return action === undefined ? rows : rows.where('action', action)
}

const filtered = (k: Knex, filter: AuditFilter, range: IdRange): Knex.QueryBuilder => {
  const rows = indexed(k, filter, range)
  const { action, actor, since } = filter
  if (action !== undefined && actor !== undefined) rows.where('action', action)
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
  const firstKept = db.prepare({ ...ofTenant, upTo: auditEvents.id }, pick(auditEvents, 'id'), (k, p) =>
    k('audit_events')
      .where('tenant_id', p.tenantId)
      .where('at', '>=', p.before)
      .where('id', '<=', p.upTo)
      .orderBy('id')
      .limit(1),
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
        const upTo = rows.at(-1)?.id ?? 0
        const kept = await tx.first(firstKept, { tenantId, before, upTo })
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
