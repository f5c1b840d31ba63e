import type { ChainedEvent } from '../../../core/audit/types.ts'

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

export type AuditColumn = Exclude<keyof AuditRow, 'id'>

/** Every column of a new row. */
export const auditColumns: readonly AuditColumn[] = [
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

export const auditColumnsOf = (event: Omit<ChainedEvent, 'id'>): Omit<AuditRow, 'id'> => ({
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
  result: row.result === 'denied' ? 'denied' : 'done',
  objectType: row.object_type,
  objectId: row.object_id ?? undefined,
  objectName: row.object_name,
  changes: row.changes,
  previousHash: row.previous_hash,
  hash: row.hash,
})
