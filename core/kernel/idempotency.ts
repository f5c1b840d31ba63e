import { portKey } from './port-key.ts'

/** A response stored for replays. `body` is sealed. */
export interface StoredAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
}

/**
 * What the transaction of a change under an Idempotency-Key does for its request: it marks the record as applied and
 * stores the response, so that both are committed or rolled back with the change.
 */
export interface KeyedChange<A = unknown> {
  readonly recordId: number
  /**
   * Builds the response from the transaction's result. It runs inside the transaction, runs again after a deadlock, and
   * must have no external side effects. If absent, the record is marked and the response is stored after the
   * transaction.
   */
  readonly answer?: (result: A) => Promise<StoredAnswer>
  /** Called after the transaction has committed. */
  readonly committed: () => void
}

/**
 * The state of a key. `applied-without-answer`: the change is committed, but its process ended before it stored a
 * response.
 */
export type BegunRequest =
  | { readonly kind: 'fresh'; readonly id: number }
  | { readonly kind: 'in-progress'; readonly retryAfterSeconds: number }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'applied-without-answer' }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }

/**
 * Idempotency records, one per digest of (caller, operation, key). The change's own transaction marks its record as
 * applied (`UnitOfWork`), so a retry never applies it twice, even after a crash. A record belongs to the process that
 * began it.
 */
export interface IdempotencyStore {
  /**
   * Begins a record atomically: of parallel calls with one key exactly one is fresh. A started record whose process is
   * dead is taken over.
   */
  begin(keyHash: Uint8Array, requestHash: Uint8Array): Promise<BegunRequest>
  /**
   * Returns the response under a key and the digest of its request, or undefined if there is none. Begins no record.
   */
  find(keyHash: Uint8Array): Promise<{ readonly requestHash: Uint8Array; readonly answer: StoredAnswer } | undefined>
  /** Finishes a record: stores the response if the change did not store one, or stored a different one. */
  answer(id: number, answer: StoredAnswer): Promise<void>
  /** Finishes a record whose change stored the response. */
  settle(id: number): void
  /**
   * Finishes a record. Deletes it if it was not applied, so that the request may be sent again; keeps it if it was
   * applied.
   */
  forget(id: number): Promise<void>
  /** Deletes started records of this process that are no longer in use and that an earlier attempt failed to delete. */
  sweep(): Promise<void>
  /** Deletes records older than 48 hours and returns their number. */
  purge(): Promise<number>
}
export const IdempotencyStorePort = portKey<IdempotencyStore>('kernel.IdempotencyStore')
