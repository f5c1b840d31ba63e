import type { AuditChain, DenialWriter } from '../../../core/audit/ports.ts'
import type { SqlDatabase } from '../statement.ts'
import { makeAppendAuditRows } from './audit-trail.ts'

/** DenialWriter over the audit log's tables. */
export const makeSqlDenialWriter = (db: SqlDatabase, chain: AuditChain): DenialWriter => {
  const append = makeAppendAuditRows(db, chain)
  return { write: (call, entry) => db.transaction((tx) => append(tx, [{ call, entry, result: 'denied' }])) }
}
