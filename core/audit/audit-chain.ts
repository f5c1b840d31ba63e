import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import { hex } from '../kernel/secret.ts'
import type { Log } from '../kernel/log.ts'
import type { AuditChain, AuditRetention, AuditSettings, KeyedDigest, StoredChain, ToldEntry } from './ports.ts'
import type { AuditEvent, ChainedEvent } from './types.ts'
import { toWireJson } from '../kernel/json.ts'

/** The hash before a chain's first row. */
const chainStart: Uint8Array = new Uint8Array(32)

// The widths of the columns. A longer value is truncated, because a row that cannot be written would undo the change.
const maxRequestIdLength = 64
const maxObjectNameLength = 255

/** Returns an AuditChain that seals rows with the audit key. */
export const makeAuditChain = (key: KeyedDigest): AuditChain => ({
  start: chainStart,
  link(previousHash, told) {
    const event = eventOf(told)
    return { ...event, previousHash, hash: key.digest(sealedText(previousHash, event)) }
  },
})

/**
 * Returns the text that a row's hash is computed from: the previous hash, then every column except the row number, in
 * this order. The JSON array separates neighbouring fields. The order must never change: old rows must still verify.
 */
const sealedText = (previousHash: Uint8Array, event: Omit<AuditEvent, 'id'>): string =>
  toWireJson([
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

/** Reports whether the hash of a row was made with this key. */
export const isSealedBy = (key: KeyedDigest, { previousHash, hash, ...event }: ChainedEvent): boolean =>
  hex(key.digest(sealedText(previousHash, event))) === hex(hash)

/**
 * Returns the seal of a removed prefix. Without the audit key it is not possible to claim that a chain starts later.
 */
const sealOfBase = (key: KeyedDigest, tenantId: number, hash: Uint8Array): Uint8Array =>
  key.digest(toWireJson(['retained from', tenantId, hex(hash)]))

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
  changes: toWireJson(entry.changes ?? {}),
})

/** The result of checking one chain. `brokenAt` is the id of the first row that does not match. */
export type ChainVerdict =
  | { readonly state: 'whole'; readonly rows: number }
  | { readonly state: 'altered'; readonly rows: number; readonly brokenAt: number }
  | { readonly state: 'cut'; readonly rows: number }
  | { readonly state: 'base-forged'; readonly rows: 0 }
  | { readonly state: 'headless'; readonly rows: 0 }

/**
 * Checks one account's chain, oldest row first. Each row's hash must be the keyed digest of its columns and the
 * previous hash (else `altered`: a row was changed, inserted, or removed from the middle). One of the hashes must equal
 * `head`, which was read before the rows (else `cut`: rows are missing from the end). Rows appended after `head` was
 * read are checked too. A chain whose oldest rows were retired starts at its sealed base (else `base-forged`). Rows of
 * an account without a recorded head are not accepted (`headless`): any of them may be missing.
 */
export const verifyChain = async (
  key: KeyedDigest,
  { tenantId, base, head, events }: StoredChain,
): Promise<ChainVerdict> => {
  if (base !== undefined && hex(base.seal) !== hex(sealOfBase(key, tenantId, base.hash)))
    return { state: 'base-forged', rows: 0 }
  if (head === undefined) return { state: 'headless', rows: 0 }
  let previous = base?.hash ?? chainStart
  let rows = 0
  let hasHead = hex(head) === hex(previous)
  for await (const event of events) {
    rows += 1
    const expected = key.digest(sealedText(previous, event))
    if (hex(event.previousHash) !== hex(previous) || hex(event.hash) !== hex(expected)) {
      return { state: 'altered', rows, brokenAt: event.id }
    }
    previous = expected
    hasHead ||= hex(expected) === hex(head)
  }
  return hasHead ? { state: 'whole', rows } : { state: 'cut', rows }
}

export interface RetireEventsDeps {
  readonly retention: AuditRetention
  readonly settings: AuditSettings
  readonly key: KeyedDigest
  readonly clock: Clock
  readonly log: Log
}

/** The number of rows removed in one transaction. It is small so that concurrent appends wait only briefly. */
const pieceRows = 500

/** Removes audit rows older than the retention period, in batches. Does nothing when all rows are kept. */
export const makeRetireEvents =
  ({ retention, settings, key, clock, log }: RetireEventsDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    if (settings.retentionDays === 0) return
    const before = laterByDays(clock.now(), -settings.retentionDays)
    let removed = 0
    for (let isDone = false; !isDone && !signal.aborted;) {
      const piece = await retention.removeOldest(before, pieceRows, (tenantId, hash) => sealOfBase(key, tenantId, hash))
      removed += piece.removed
      isDone = piece.isDone
    }
    if (removed > 0) log.info({ removed, before: before.toISOString() }, 'old rows of the audit log were removed')
  }
