import type { Knex } from 'knex'
import { auditEventOf } from '../../../core/audit/audit-event.ts'
import type { AuditSeal } from '../../../core/audit/ports.ts'
import { sealedText } from '../../../core/audit/sealed-text.ts'
import type { AuditEvent } from '../../../core/audit/types.ts'
import { chainStart, hex } from '../../../core/audit/verify-chain.ts'
import type { AuditEntry, AuditTrail } from '../../../core/kernel/audit.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import { auditColumns } from './rows.ts'

/** Appends rows to the chains, in a transaction that the caller opened. */
export interface AuditAppender {
  append(tx: SqlRunner, call: Call, entry: AuditEntry, result: AuditEvent['result']): Promise<void>
}

type HeadRow = { readonly hash: Uint8Array; readonly at: number }

/** The database's clock in milliseconds, as an expression. */
const clock = (k: Knex, dialect: SqlRunner['dialect']): Knex.Raw =>
  dialect === 'mysql'
    ? k.raw('cast(unix_timestamp(now(3)) * 1000 as unsigned) as at')
    : k.raw("cast(unixepoch('now', 'subsec') * 1000 as integer) as at")

/**
 * Appends under a lock on the tenant's row of `audit_heads`, which is held until the transaction ends: rows of one
 * tenant are chained in the order of their commits, and tenants do not wait for each other. Two transactions that
 * record for two tenants in opposite orders may deadlock; the unit of work runs the loser again.
 */
export const makeSqlAuditAppender = (db: SqlDatabase, seal: AuditSeal): AuditAppender => {
  const lockHead = db.prepare((k, p: (n: 'tenantId') => Knex.Value) =>
    k('audit_heads').select('hash', clock(k, db.dialect)).where('tenant_id', p('tenantId')).forUpdate(),
  )
  // The update that changes nothing takes an exclusive lock where a plain `insert ignore` would take a shared one,
  // and two holders of a shared lock that both want to write are a deadlock.
  const insertHead = db.prepare((k, p: (n: 'tenantId' | 'hash') => Knex.Value) =>
    k('audit_heads')
      .insert({ tenant_id: p('tenantId'), hash: p('hash') })
      .onConflict('tenant_id')
      .merge(['tenant_id']),
  )
  const moveHead = db.prepare((k, p: (n: 'tenantId' | 'hash') => Knex.Value) =>
    k('audit_heads').update({ hash: p('hash') }).where('tenant_id', p('tenantId')),
  )
  const insertEvent = db.prepare((k, p: (n: keyof ReturnType<typeof auditColumns> | 'previous_hash' | 'hash') => Knex.Value) =>
    k('audit_events').insert(
      Object.fromEntries(insertedColumns.map((column) => [column, p(column)])),
    ),
  )

  const head = async (tx: SqlRunner, tenantId: number): Promise<HeadRow> => {
    const found = await tx.first<HeadRow>(lockHead, { tenantId })
    if (found !== undefined) return found
    await tx.run(insertHead, { tenantId, hash: chainStart })
    const made = await tx.first<HeadRow>(lockHead, { tenantId })
    if (made === undefined) throw new Error('The end of the audit chain cannot be read back.')
    return made
  }

  return {
    async append(tx, call, entry, result) {
      const tenantId = entry.tenantId ?? 0
      const last = await head(tx, tenantId)
      const event = auditEventOf(call, entry, result, new Date(Number(last.at)))
      const hash = seal.digest(sealedText(hex(last.hash), event))
      await tx.run(insertEvent, { ...auditColumns(event), previous_hash: last.hash, hash })
      await tx.run(moveHead, { tenantId, hash })
    },
  }
}

const insertedColumns = [
  'at',
  'tenant_id',
  'actor_id',
  'actor_name',
  'impersonator_id',
  'impersonator_name',
  'method',
  'token_id',
  'source_ip',
  'request_id',
  'operation',
  'action',
  'result',
  'object_type',
  'object_id',
  'object_name',
  'changes',
  'previous_hash',
  'hash',
] as const

/**
 * The AuditTrail of a unit of work: `makeSqlAuditTrail(db, seal)` composes the statements once, the result binds them
 * to a transaction and a call.
 */
export const makeSqlAuditTrail = (db: SqlDatabase, seal: AuditSeal): ((tx: SqlRunner, call: Call) => AuditTrail) => {
  const appender = makeSqlAuditAppender(db, seal)
  return (tx, call) => ({ record: (entry) => appender.append(tx, call, entry, 'done') })
}
