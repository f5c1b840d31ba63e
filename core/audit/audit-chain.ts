import type { AuditChain, KeyedDigest, ToldEntry } from './ports.ts'
import type { AuditEvent } from './types.ts'
import { hex } from '../kernel/entropy.ts'

/** The hash before a chain's first row. */
export const chainStart: Uint8Array = new Uint8Array(32)

// As the columns are wide; what is longer is cut, because a row that cannot be written would undo the change.
const maxRequestIdLength = 64
const maxObjectNameLength = 255

/** Forms rows under the audit key. */
export const makeAuditChain = (key: KeyedDigest): AuditChain => ({
  start: chainStart,
  link(previousHash, told) {
    const event = eventOf(told)
    return { ...event, previousHash, hash: key.digest(sealedText(previousHash, event)) }
  },
})

/**
 * The text that a row's hash is made of: the hash before it, then every column but the row number, in this order. A
 * JSON array keeps neighbouring fields apart. Never change the order: old rows must verify.
 */
export const sealedText = (previousHash: Uint8Array, event: Omit<AuditEvent, 'id'>): string =>
  JSON.stringify([
    hex(previousHash),
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

/** What a removed beginning is sealed by: nobody without the audit key can pretend that a chain starts later. */
export const sealOfBase = (key: KeyedDigest, tenantId: number, hash: Uint8Array): Uint8Array =>
  key.digest(JSON.stringify(['retained from', tenantId, hex(hash)]))

const eventOf = ({ call, entry, result, at }: ToldEntry): Omit<AuditEvent, 'id'> => ({
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
