import type { AuditEvent } from './types.ts'

/**
 * The text of a row that its hash is made of: every column but the row number, in this order, after the previous
 * row's hash in hex. A JSON array keeps neighbouring fields apart. Never change the order: old rows must verify.
 */
export const sealedText = (previousHash: string, event: Omit<AuditEvent, 'id'>): string =>
  JSON.stringify([
    previousHash,
    event.at.getTime(),
    event.tenantId,
    event.actorId ?? null,
    event.actorName,
    event.impersonatorId ?? null,
    event.impersonatorName,
    event.method,
    event.tokenId ?? null,
    event.sourceIp,
    event.requestId,
    event.operation,
    event.action,
    event.result,
    event.objectType,
    event.objectId ?? null,
    event.objectName,
    event.changes,
  ])
