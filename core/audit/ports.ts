import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Call } from '../kernel/principal.ts'
import { token } from '../kernel/token.ts'
import type { AuditEvent, AuditFilter, ChainedEvent } from './types.ts'

/** A keyed digest (HMAC-SHA256, 32 bytes) that nobody without the audit key can make. */
export interface KeyedDigest {
  digest(text: string): Uint8Array
}
export const KeyedDigestToken = token<KeyedDigest>('audit.KeyedDigest')

/** Forms the rows of a chain: each row's hash covers the row and the hash of the row before it. */
export interface AuditChain {
  /** The hash before a chain's first row. */
  readonly start: Uint8Array
  /** The row that tells of an entry: who (and on whose behalf), how, from where, in which request, what. */
  link(previousHash: Uint8Array, told: ToldEntry): Omit<ChainedEvent, 'id'>
}
export const AuditChainToken = token<AuditChain>('audit.AuditChain')

/** An entry with what surrounds it. */
export interface ToldEntry {
  readonly call: Call<never>
  readonly entry: AuditEntry
  readonly result: AuditEvent['result']
  /** By the database's clock. */
  readonly at: Date
}

/** What was refused, and to whom it is shown. */
export interface Denial extends Pick<AuditEntry, 'objectType' | 'objectId' | 'objectName' | 'tenantId'> {
  /** The refusal's code on the wire: `AccessDenied`, `NotAuthenticated`. */
  readonly code: string
  /** `access.denied` unless told. */
  readonly action?: string
}

/**
 * Records refusals: each 403 of a signed-in caller, each 401 with a wrong credential, each refused sign-in.
 * Repeats of the same (caller or address, operation, object) within a minute are counted, not stored, so that a flood
 * cannot fill the disk. Never throws: a refusal is answered also when it cannot be recorded (that is logged).
 */
export interface AuditDenials {
  recordDenial(call: Call, denial: Denial): Promise<void>
  /** Writes what is still only counted. For the stop. */
  flush(): Promise<void>
}
export const AuditDenialsToken = token<AuditDenials>('audit.AuditDenials')

/** Writes the row of a refusal, in a transaction of its own. */
export interface DenialWriter {
  write(call: Call, entry: AuditEntry): Promise<void>
}

/** Reads the audit log. */
export interface AuditLog {
  /** Newest first. With `tenantId`, only that account's rows; without, every row (for site admins). Counting stops at 10,000. */
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditEvent>>
  /** Those after the row `after`, oldest first, at most `limit`: for whoever copies the log elsewhere. */
  listAfter(filter: AuditFilter, after: number, limit: number): Promise<readonly AuditEvent[]>
  /** Every account's chain, for `verifyChain`; read in pieces. */
  chains(): AsyncIterable<StoredChain>
}
export const AuditLogToken = token<AuditLog>('audit.AuditLog')

/** Where a chain goes on after its oldest rows were removed on purpose. */
export interface ChainBase {
  /** The hash of the last removed row. */
  readonly hash: Uint8Array
  /** The keyed digest that only the holder of the audit key can make of tenant and hash. */
  readonly seal: Uint8Array
}

/** Removes what is older than the operator wants to keep, each chain from its oldest row. */
export interface AuditRetention {
  /**
   * Removes at most `limit` of the oldest rows of one account that are older than `before`, and records where the chain
   * goes on, in one transaction. `isDone` when no row that is older could be removed any more.
   */
  removeOldest(
    before: Date,
    limit: number,
    sealOf: (tenantId: number, hash: Uint8Array) => Uint8Array,
  ): Promise<{ readonly removed: number; readonly isDone: boolean }>
}
export const AuditRetentionToken = token<AuditRetention>('audit.AuditRetention')

/** What an operator decides about the audit log. */
export interface AuditSettings {
  /** 0 keeps every row. */
  readonly retentionDays: number
}
export const AuditSettingsToken = token<AuditSettings>('audit.Settings')

/** One account's chain: its recorded last hash, and its rows from the oldest, read after that. */
export interface StoredChain {
  readonly tenantId: number
  /** Undefined while no row of the chain was ever removed. */
  readonly base: ChainBase | undefined
  readonly head: Uint8Array
  readonly events: AsyncIterable<ChainedEvent>
}
