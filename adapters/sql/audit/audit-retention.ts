import type { AuditRetention } from '../../../core/audit/ports.ts'
import type { SqlDatabase } from '../statement.ts'

interface OldRow {
  readonly id: number
  readonly hash: Uint8Array
}

/**
 * AuditRetention over the audit tables. The account's head is locked first, as for appending, so that a chain has one
 * writer at a time.
 */
export const makeSqlAuditRetention = (db: SqlDatabase): AuditRetention => {
  // By the index of instants, so that it costs nothing where nothing is old enough.
  const anyOld = db.prepare((k, p: (n: 'before') => number) => k('audit_events').where('at', '<', p('before')).select('tenant_id').orderBy('at').limit(1))
  const lockHead = db.prepare((k, p: (n: 'tenantId') => number) => k('audit_heads').where('tenant_id', p('tenantId')).select('tenant_id').forUpdate())
  const oldest = db.prepare((k, p: (n: 'tenantId' | 'before' | 'limit') => number) =>
    k('audit_events').where('tenant_id', p('tenantId')).where('at', '<', p('before')).select('id', 'hash').orderBy('id').limit(p('limit')),
  )
  const firstKept = db.prepare((k, p: (n: 'tenantId' | 'before') => number) =>
    k('audit_events').where('tenant_id', p('tenantId')).where('at', '>=', p('before')).select('id').orderBy('id').limit(1),
  )
  const remove = db.prepare((k, p: (n: 'tenantId' | 'upTo') => number) =>
    k('audit_events').where('tenant_id', p('tenantId')).where('id', '<=', p('upTo')).delete(),
  )
  const moveBase = db.prepare((k, p: (n: 'tenantId' | 'hash' | 'seal') => number) =>
    k('audit_heads').where('tenant_id', p('tenantId')).update({ base_hash: p('hash'), base_seal: p('seal') }),
  )
  return {
    async removeOldest(before, limit, sealOf) {
      const found = await db.first<{ tenant_id: number }>(anyOld, { before: before.getTime() })
      if (found === undefined) return { removed: 0, isDone: true }
      const tenantId = Number(found.tenant_id)
      return db.transaction(async (tx) => {
        await tx.first(lockHead, { tenantId })
        const rows = await tx.all<OldRow>(oldest, { tenantId, before: before.getTime(), limit })
        // A clock that once went backwards must not tear a hole: nothing goes beyond the first row that is kept.
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
