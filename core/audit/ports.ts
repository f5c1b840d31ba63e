import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { KeyedPage, KeyedPageRequest } from '../kernel/page.ts'
import type { Call } from '../kernel/principal.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditEvent, AuditFilter, ChainedEvent } from './types.ts'

/** A keyed digest (HMAC-SHA256, 32 bytes). It cannot be computed without the audit key. */
export interface KeyedDigest {
  digest(text: string): Uint8Array
}
export const KeyedDigestPort = portKey<KeyedDigest>('audit.KeyedDigest')

/** Builds the rows of a chain. Each row's hash covers the row and the hash of the previous row. */
export interface AuditChain {
  /** The hash before a chain's first row. */
  readonly start: Uint8Array
  /** Returns the row for an entry: actor (and impersonator), method, source address, request, and change. */
  link(previousHash: Uint8Array, told: ToldEntry): Omit<ChainedEvent, 'id'>
}
export const AuditChainPort = portKey<AuditChain>('audit.AuditChain')

/** An entry with its context. */
export interface ToldEntry {
  readonly call: Call<never>
  readonly entry: AuditEntry
  readonly result: AuditEvent['result']
  /** Set by the database's clock. */
  readonly at: Date
}

/** A refusal, and the account whose log shows it. */
export interface Denial extends Pick<AuditEntry, 'objectType' | 'objectId' | 'objectName' | 'tenantId'> {
  /** The wire code of the refusal: `AccessDenied`, `NotAuthenticated`. */
  readonly code: string
  /** Defaults to `access.denied`. */
  readonly action?: string
  readonly reason?: string
}

/**
 * Records refusals: each 403 of a signed-in caller, each 401 with a wrong credential, each refused sign-in. Repeats of
 * the same (caller or address, operation, object) within a minute are counted, not stored, so that a flood cannot fill
 * the disk. Never throws: a refusal is returned even when it cannot be recorded, and the error is logged.
 */
export interface AuditDenials {
  recordDenial(call: Call, denial: Denial): Promise<void>
  /** Writes the pending counts. Called at shutdown. */
  flush(): Promise<void>
}
export const AuditDenialsPort = portKey<AuditDenials>('audit.AuditDenials')

/** Writes the row of a refusal, in its own transaction. */
export interface DenialWriter {
  write(call: Call, entry: AuditEntry): Promise<void>
}

/** Reads the audit log. */
export interface AuditLog {
  /**
   * Lists rows, newest first. With `tenantId`, only that account's rows; without it, all rows (for site admins).
   * Counting stops at 10,000. With `since`, or with both `action` and `actor`, a page examines 10,000 rows at most: it may
   * have fewer items than its limit, or none, before the last page. `since` allows for clocks that were set back by an
   * hour at most.
   */
  list(filter: AuditFilter, page: KeyedPageRequest): Promise<KeyedPage<AuditEvent>>
  /**
   * Lists at most `limit` rows after the row `after`, oldest first. Used to copy the log elsewhere: no row appears
   * later with a lower number than one that was listed.
   */
  listAfter(filter: AuditFilter, after: number, limit: number): Promise<readonly AuditEvent[]>
  /**
   * Returns the chain of every account that has a recorded last hash or rows, for `verifyChain`. Rows are read in
   * batches.
   */
  chains(): AsyncIterable<StoredChain>
}
export const AuditLogPort = portKey<AuditLog>('audit.AuditLog')

/** The point from which a chain continues after its oldest rows were removed on purpose. */
export interface ChainBase {
  /** The hash of the last removed row. */
  readonly hash: Uint8Array
  /** The keyed digest of tenant and hash. Only the holder of the audit key can compute it. */
  readonly seal: Uint8Array
}

/** Removes rows past the retention period, each chain from its oldest row. */
export interface AuditRetention {
  /**
   * Removes at most `limit` of the oldest rows of one account that are older than `before`, and records the point from
   * which the chain continues, in one transaction. `isDone` reports that no older row is left to remove.
   */
  removeOldest(
    before: Date,
    limit: number,
    sealOf: (tenantId: number, hash: Uint8Array) => Uint8Array,
  ): Promise<{ readonly removed: number; readonly isDone: boolean }>
}
export const AuditRetentionPort = portKey<AuditRetention>('audit.AuditRetention')

/** The operator's settings for the audit log. */
export interface AuditSettings {
  /** In days; 0 keeps every row. */
  readonly retentionDays: number
}
export const AuditSettingsPort = portKey<AuditSettings>('audit.Settings')

/** One account's chain: its recorded last hash, and its rows, oldest first. The rows are read after the hash. */
export interface StoredChain {
  readonly tenantId: number
  /** Undefined if no row of the chain has ever been removed. */
  readonly base: ChainBase | undefined
  /** Undefined if there are rows without one: it was removed. */
  readonly head: Uint8Array | undefined
  readonly events: AsyncIterable<ChainedEvent>
}
