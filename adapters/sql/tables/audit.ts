import type { AuditEvent } from '../../../core/audit/types.ts'
import { fixedBytes, id, instant, long, longText, nullable, rowId, table, text, withDefault } from '../kit/columns.ts'

export const auditEvents = table('audit_events', {
  id: rowId(),
  at: instant(),
  tenantId: id(),
  actorId: nullable(id()),
  actorName: withDefault(text(63)),
  impersonatorId: nullable(id()),
  impersonatorName: withDefault(text(63)),
  method: text(16),
  tokenId: nullable(id()),
  sourceIp: text(45),
  requestId: text(64),
  operation: text(64),
  action: text(64),
  result: text<AuditEvent['result']>(16),
  objectType: text(32),
  objectId: nullable(long()),
  objectName: withDefault(text(255)),
  changes: longText(),
  previousHash: fixedBytes(32),
  hash: fixedBytes(32),
})

export const auditHeads = table('audit_heads', {
  tenantId: id(),
  hash: fixedBytes(32),
  baseHash: nullable(fixedBytes(32)),
  baseSeal: nullable(fixedBytes(32)),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    audit: typeof import('./audit.ts')
  }
}
