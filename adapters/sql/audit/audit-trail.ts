import type { AuditChain, ToldEntry } from '../../../core/audit/ports.ts'
import type { AuditTrail } from '../../../core/kernel/audit.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import { databaseNow } from '../database-clock.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import type { AuditColumn } from './rows.ts'
import { auditColumns, auditColumnsOf } from './rows.ts'

/** Appends one row to its account's chain, in a transaction that the caller opened. */
export type AppendAuditRow = (tx: SqlRunner, told: Omit<ToldEntry, 'at'>) => Promise<void>

interface HeadRow {
  readonly hash: Uint8Array
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: number
}

/**
 * Appends under a lock on the tenant's row of `audit_heads`, which is held until the transaction ends: rows of one
 * tenant are chained in the order of their commits, and tenants do not wait for each other. Two transactions that
 * record for two tenants in opposite orders may deadlock; the unit of work runs the loser again.
 */
export const makeAppendAuditRow = (db: SqlDatabase, chain: AuditChain): AppendAuditRow => {
  const sql = prepareStatements(db)
  const lockedHead = async (tx: SqlRunner, tenantId: number): Promise<HeadRow> => {
    const found = await tx.first<HeadRow>(sql.lockHead, { tenantId })
    if (found !== undefined) return found
    await tx.run(sql.insertHead, { tenantId, hash: chain.start })
    const made = await tx.first<HeadRow>(sql.lockHead, { tenantId })
    if (made === undefined) throw new Error('The end of the audit chain cannot be read back.')
    return made
  }
  return async (tx, told) => {
    const tenantId = told.entry.tenantId ?? 0
    const head = await lockedHead(tx, tenantId)
    const row = chain.link(head.hash, { ...told, at: new Date(head.at) })
    await tx.run(sql.insertRow, auditColumnsOf(row))
    await tx.run(sql.moveHead, { tenantId, hash: row.hash })
  }
}

/** Composes the statements once; the result is the AuditTrail of a unit of work: bound to a transaction and a call. */
export const makeSqlAuditTrail = (db: SqlDatabase, chain: AuditChain): ((tx: SqlRunner, call: Call) => AuditTrail) => {
  const append = makeAppendAuditRow(db, chain)
  return (tx, call) => ({ record: (entry) => append(tx, { call, entry, result: 'done' }) })
}

const prepareStatements = (db: SqlDatabase) => ({
  lockHead: db.prepare((k, p: (n: 'tenantId') => number) =>
    k('audit_heads').select('hash', k.raw(`${databaseNow(db.dialect)} as at`)).where('tenant_id', p('tenantId')).forUpdate(),
  ),
  // The update that changes nothing takes an exclusive lock where `insert ignore` would take a shared one, and two
  // holders of a shared lock that both want to write are a deadlock.
  insertHead: db.prepare((k, p: (n: 'tenantId' | 'hash') => number) =>
    k('audit_heads')
      .insert({ tenant_id: p('tenantId'), hash: p('hash') })
      .onConflict('tenant_id')
      .merge(['tenant_id']),
  ),
  moveHead: db.prepare((k, p: (n: 'tenantId' | 'hash') => number) =>
    k('audit_heads').update({ hash: p('hash') }).where('tenant_id', p('tenantId')),
  ),
  insertRow: db.prepare((k, p: (n: AuditColumn) => number) =>
    k('audit_events').insert(Object.fromEntries(auditColumns.map((column) => [column, p(column)]))),
  ),
})
