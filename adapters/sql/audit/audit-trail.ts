import type { AuditChain, DenialWriter, ToldEntry } from '../../../core/audit/ports.ts'
import type { ChainedEvent } from '../../../core/audit/types.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import type { GatheringAuditTrail } from '../../../core/kernel/unit-of-work.ts'
import { databaseNow } from '../kit/fragments.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'

/** A row of `audit_events` as both drivers return it. */
export interface AuditRow {
  readonly id: number
  readonly at: number
  readonly tenant_id: number
  readonly actor_id: number | null
  readonly actor_name: string
  readonly impersonator_id: number | null
  readonly impersonator_name: string
  readonly method: string
  readonly token_id: number | null
  readonly source_ip: string
  readonly request_id: string
  readonly operation: string
  readonly action: string
  readonly result: string
  readonly object_type: string
  readonly object_id: number | null
  readonly object_name: string
  readonly changes: string
  readonly previous_hash: Uint8Array
  readonly hash: Uint8Array
}

type AuditColumn = Exclude<keyof AuditRow, 'id'>

/** Every column of a new row. */
const auditColumns: readonly AuditColumn[] = [
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
]

const auditColumnsOf = (event: Omit<ChainedEvent, 'id'>): Omit<AuditRow, 'id'> => ({
  at: event.at.getTime(),
  tenant_id: event.tenantId,
  actor_id: event.actorId ?? null,
  actor_name: event.actorName,
  impersonator_id: event.impersonatorId ?? null,
  impersonator_name: event.impersonatorName,
  method: event.method,
  token_id: event.tokenId ?? null,
  source_ip: event.sourceIp,
  request_id: event.requestId,
  operation: event.operation,
  action: event.action,
  result: event.result,
  object_type: event.objectType,
  object_id: event.objectId ?? null,
  object_name: event.objectName,
  changes: event.changes,
  previous_hash: event.previousHash,
  hash: event.hash,
})

export const chainedEvent = (row: AuditRow): ChainedEvent => ({
  id: row.id,
  at: new Date(row.at),
  tenantId: row.tenant_id,
  actorId: row.actor_id ?? undefined,
  actorName: row.actor_name,
  impersonatorId: row.impersonator_id ?? undefined,
  impersonatorName: row.impersonator_name,
  method: row.method,
  tokenId: row.token_id ?? undefined,
  sourceIp: row.source_ip,
  requestId: row.request_id,
  operation: row.operation,
  action: row.action,
  // As it is stored: another word would hide from the check of the chain that the row was changed.
  result: row.result as ChainedEvent['result'],
  objectType: row.object_type,
  objectId: row.object_id ?? undefined,
  objectName: row.object_name,
  changes: row.changes,
  previousHash: row.previous_hash,
  hash: row.hash,
})

/** An entry to append, without the time, which comes from the database. */
type Untimed = Omit<ToldEntry, 'at'>

/** Appends rows to the chains of their tenants, in the caller's transaction. */
type AppendAuditRows = (tx: SqlRunner, told: readonly Untimed[]) => Promise<void>

interface HeadRow {
  readonly hash: Uint8Array
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: number
}

/**
 * Appends under a lock on each tenant's row of `audit_heads`, held until the transaction ends. Rows of one tenant are
 * chained in the order of their commits, and tenants do not wait for each other. Several heads are locked in the order
 * of their tenants, so two transactions do not deadlock.
 */
const makeAppendAuditRows = (db: SqlDatabase, chain: AuditChain): AppendAuditRows => {
  const sql = prepareStatements(db)
  const lockedHead = async (tx: SqlRunner, tenantId: number): Promise<HeadRow> => {
    const found = await tx.first<HeadRow>(sql.lockHead, { tenantId })
    if (found !== undefined) return found
    await tx.run(sql.insertHead, { tenantId, hash: chain.start })
    const made = await tx.first<HeadRow>(sql.lockHead, { tenantId })
    if (made === undefined) throw new Error('The end of the audit chain cannot be read back.')
    return made
  }
  const appendTo = async (tx: SqlRunner, tenantId: number, told: readonly Untimed[]): Promise<void> => {
    const head = await lockedHead(tx, tenantId)
    let hash = head.hash
    for (const one of told) {
      const row = chain.link(hash, { ...one, at: new Date(head.at) })
      await tx.run(sql.insertRow, auditColumnsOf(row))
      hash = row.hash
    }
    await tx.run(sql.moveHead, { tenantId, hash })
  }
  return async (tx, told) => {
    const tenants = [...new Set(told.map(tenantOf))].sort((a, b) => a - b)
    for (const tenantId of tenants)
      await appendTo(
        tx,
        tenantId,
        told.filter((one) => tenantOf(one) === tenantId),
      )
  }
}

/** Site-wide entries have their own chain. */
const tenantOf = ({ entry }: Untimed): number => entry.tenantId ?? 0

/**
 * Composes the statements once. The result is the AuditTrail of a unit of work, bound to a transaction and a call. Rows
 * are written at the end, so that heads are locked after every other row of the transaction, and only briefly.
 */
export const makeSqlAuditTrail = (
  db: SqlDatabase,
  chain: AuditChain,
): ((tx: SqlRunner, call: Call<never>) => GatheringAuditTrail) => {
  const append = makeAppendAuditRows(db, chain)
  return (tx, call) => {
    const gathered: Untimed[] = []
    return {
      record: (entry) => Promise.resolve(void gathered.push({ call, entry, result: 'done' })),
      flush: () => append(tx, gathered.splice(0)),
    }
  }
}

const prepareStatements = (db: SqlDatabase) => ({
  lockHead: db.prepare((k, p: (n: 'tenantId') => number) =>
    k('audit_heads')
      .select('hash', k.raw(`${databaseNow(db.dialect)} as at`))
      .where('tenant_id', p('tenantId'))
      .forUpdate(),
  ),
  // The update that changes nothing takes an exclusive lock, where `insert ignore` would take a shared one. Two holders
  // of a shared lock that both want to write deadlock.
  insertHead: db.prepare((k, p: (n: 'tenantId' | 'hash') => number) =>
    k('audit_heads')
      .insert({ tenant_id: p('tenantId'), hash: p('hash') })
      .onConflict('tenant_id')
      .merge(['tenant_id']),
  ),
  moveHead: db.prepare((k, p: (n: 'tenantId' | 'hash') => number) =>
    k('audit_heads')
      .update({ hash: p('hash') })
      .where('tenant_id', p('tenantId')),
  ),
  insertRow: db.prepare((k, p: (n: AuditColumn) => number) =>
    k('audit_events').insert(Object.fromEntries(auditColumns.map((column) => [column, p(column)]))),
  ),
})

/** DenialWriter over the tables of the audit log. */
export const makeSqlDenialWriter = (db: SqlDatabase, chain: AuditChain): DenialWriter => {
  const append = makeAppendAuditRows(db, chain)
  return { write: (call, entry) => db.transaction((tx) => append(tx, [{ call, entry, result: 'denied' }])) }
}
