import { makeSqlAuditLog, makeSqlAuditRetention } from '../../adapters/sql/audit/audit-log.ts'
import { makeSqlAuditTrail, makeSqlDenialWriter } from '../../adapters/sql/audit/audit-trail.ts'
import { makeHmacDigest } from '../../adapters/security/digests.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import type { ChainVerdict } from '../../core/audit/audit-chain.ts'
import { makeAuditChain, verifyChain } from '../../core/audit/audit-chain.ts'
import type { AuditEntry, AuditTrail } from '../../core/kernel/unit-of-work.ts'
import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import type { Call } from '../../core/kernel/principal.ts'
import { callBy, principal } from '../authz/callers.ts'

export const auditKey = makeHmacDigest(new Uint8Array(32).fill(7))

export const tenant = 11 as AccountId
export const otherTenant = 12 as AccountId

/** A change by user 5, with whom a site admin stands behind. */
export const someCall: Call = callBy(
  principal(5, { login: 'ada', impersonator: { userId: 1 as UserId, login: 'admin' } }),
  'authz.createRole',
)

export const entry = (changes: Partial<AuditEntry> = {}): AuditEntry => ({
  action: 'role.created',
  objectType: 'role',
  objectId: 3,
  objectName: 'Viewers',
  tenantId: tenant,
  changes: { permissions: ['cluster_mgmt/view clusters'], count: 1 },
  ...changes,
})

/** The audit adapters over one database, wired as the composition root wires them. */
export const makeAuditFixture = (db: SqlDatabase) => {
  const chain = makeAuditChain(auditKey)
  const trail = makeSqlAuditTrail(db, chain)
  const write = (call: Call, one: AuditEntry): Promise<void> =>
    db.transaction(async (tx) => {
      const gathering = trail(tx, call)
      await gathering.record(one)
      await gathering.flush()
    })
  return {
    db,
    write,
    log: makeSqlAuditLog(db),
    denials: makeSqlDenialWriter(db, chain),
    retention: makeSqlAuditRetention(db),
    unitOfWork: makeSqlUnitOfWork<{ readonly audit: AuditTrail }>(db, (_tx, audit) => ({ audit }), trail),
    /** Records entries, each in a transaction of its own. */
    async record(...entries: readonly AuditEntry[]): Promise<void> {
      for (const one of entries) await write(someCall, one)
    },
    /** What the check of each chain finds, by tenant. */
    async verdicts(): Promise<Readonly<Record<number, ChainVerdict>>> {
      const found: Record<number, ChainVerdict> = {}
      for await (const chain of makeSqlAuditLog(db).chains()) found[chain.tenantId] = await verifyChain(auditKey, chain)
      return found
    },
    close: () => db.close(),
  }
}
export type AuditFixture = ReturnType<typeof makeAuditFixture>
