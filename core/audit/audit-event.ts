import type { AuditEntry } from '../kernel/audit.ts'
import type { Call } from '../kernel/principal.ts'
import type { AuditEvent } from './types.ts'

// As the columns are wide; what is longer is cut, because a row that cannot be written would undo the change.
const maxRequestIdLength = 64
const maxObjectNameLength = 255

/** The row that tells of an entry: who (and on whose behalf), how, from where, in which request, what. */
export const auditEventOf = (call: Call, entry: AuditEntry, result: AuditEvent['result'], at: Date): Omit<AuditEvent, 'id'> => ({
  at,
  tenantId: entry.tenantId ?? 0,
  actorId: call.principal?.userId,
  actorName: call.principal?.login ?? '',
  impersonatorId: call.principal?.impersonator?.userId,
  impersonatorName: call.principal?.impersonator?.login ?? '',
  method: call.principal?.method ?? 'none',
  tokenId: call.principal?.tokenId,
  sourceIp: call.sourceIp,
  requestId: call.requestId.slice(0, maxRequestIdLength),
  operation: call.operation,
  action: entry.action,
  result,
  objectType: entry.objectType,
  objectId: entry.objectId,
  objectName: (entry.objectName ?? '').slice(0, maxObjectNameLength),
  changes: JSON.stringify(entry.changes ?? {}),
})
