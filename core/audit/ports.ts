import type { AuditEntry } from '../kernel/audit.ts'
import type { AccountId } from '../kernel/brand.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Call } from '../kernel/principal.ts'
import { token } from '../kernel/token.ts'
import type { AuditEvent, AuditFilter, ChainedEvent } from './types.ts'

/** A keyed digest (HMAC-SHA256, 32 bytes) that nobody without the audit key can make. */
export interface AuditSeal {
  digest(text: string): Uint8Array
}
export const AuditSealToken = token<AuditSeal>('audit.AuditSeal')

/** What was refused, and to whom it is shown. */
export interface Denial extends Pick<AuditEntry, 'objectType' | 'objectId' | 'objectName' | 'tenantId'> {
  /** The refusal's code on the wire: `AccessDenied`, `NotAuthenticated`. */
  readonly code: string
}

/**
 * Records refusals: each 403 of a signed-in caller, each 401 with a wrong credential.
 * Repeats of the same (caller or address, operation, object) within a minute are counted, not stored, so that a flood
 * cannot fill the disk. Never throws: a refusal is answered also when it cannot be recorded (that is logged).
 */
export interface AuditDenials {
  recordDenial(call: Call, denial: Denial): Promise<void>
  /** Writes what is still only counted. For the stop. */
  flush(): Promise<void>
}
export const AuditDenialsToken = token<AuditDenials>('audit.AuditDenials')

/** Reads the audit log. */
export interface AuditLog {
  /** Newest first. With `tenantId`, only that account's rows; without, every row (for site admins). */
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditEvent>>
  /** Every chain, one after the other, each oldest first; in pieces. `head` is the chain's recorded last hash. */
  chains(): AsyncIterable<{ readonly tenantId: AccountId | 0; readonly head: Uint8Array; readonly events: AsyncIterable<ChainedEvent> }>
}
export const AuditLogToken = token<AuditLog>('audit.AuditLog')
