import type { AuditChain, DenialWriter, ToldEntry } from '../../../core/audit/ports.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import type { GatheringAuditTrail } from '../../../core/kernel/unit-of-work.ts'
import { databaseNow } from '../kit/fragments.ts'
import type { Row } from '../kit/columns.ts'
import { computed, instant, pick } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, newRow, values } from '../kit/values.ts'
import { auditEvents, auditHeads } from '../tables/audit.ts'

/** An entry to append, without the time, which comes from the database. */
type Untimed = Omit<ToldEntry, 'at'>

/** Appends rows to the chains of their tenants, in the caller's transaction. */
type AppendAuditRows = (tx: SqlRunner, told: readonly Untimed[]) => Promise<void>

/** The last hash of a chain, and the database's clock. */
const headRow = (now: string) => ({ hash: auditHeads.hash, at: computed(instant(), now) })
type HeadRow = Row<ReturnType<typeof headRow>>

/**
 * Appends under a lock on each tenant's row of `audit_heads`, held until the transaction ends. Rows of one tenant are
 * chained in the order of their commits, and tenants do not wait for each other. Several heads are locked in the order
 * of their tenants, so two transactions do not deadlock.
 */
const makeAppendAuditRows = (db: SqlDatabase, chain: AuditChain): AppendAuditRows => {
  const sql = prepareStatements(db)
  const lockedHead = async (tx: SqlRunner, tenantId: number): Promise<HeadRow> => {
    const found = await tx.first(sql.lockHead, { tenantId })
    if (found !== undefined) return found
    await tx.run(sql.insertHead, { tenantId, hash: chain.start })
    const made = await tx.first(sql.lockHead, { tenantId })
    if (made === undefined) throw new Error('The end of the audit chain cannot be read back.')
    return made
  }
  const appendTo = async (tx: SqlRunner, tenantId: number, told: readonly Untimed[]): Promise<void> => {
    const head = await lockedHead(tx, tenantId)
    let hash = head.hash
    for (const one of told) {
      const row = chain.link(hash, { ...one, at: head.at })
      await tx.run(sql.insertRow, row)
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
  lockHead: db.prepare(pick(auditHeads, 'tenantId'), headRow(databaseNow(db.dialect)), (k, p) =>
    k('audit_heads').where('tenant_id', p.tenantId).forUpdate(),
  ),
  // The update that changes nothing takes an exclusive lock, where `insert ignore` would take a shared one. Two holders
  // of a shared lock that both want to write deadlock.
  insertHead: db.prepare(pick(auditHeads, 'tenantId', 'hash'), (k, p) =>
    k('audit_heads')
      .insert(newRow(auditHeads, { tenantId: p.tenantId, hash: p.hash }))
      .onConflict('tenant_id')
      .merge(['tenant_id']),
  ),
  moveHead: db.prepare(pick(auditHeads, 'tenantId', 'hash'), (k, p) =>
    k('audit_heads')
      .update(values(auditHeads, { hash: p.hash }))
      .where('tenant_id', p.tenantId),
  ),
  insertRow: insertInto(db, auditEvents, { omitted: ['id'] }),
})

/** DenialWriter over the tables of the audit log. */
export const makeSqlDenialWriter = (db: SqlDatabase, chain: AuditChain): DenialWriter => {
  const append = makeAppendAuditRows(db, chain)
  return { write: (call, entry) => db.transaction((tx) => append(tx, [{ call, entry, result: 'denied' }])) }
}
