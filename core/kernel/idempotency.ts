import { token } from './token.ts'

/** An answer kept for replays; `body` is sealed. */
export interface StoredAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
}

/**
 * What the transaction of a change under an Idempotency-Key does for its request: it marks the record as applied and stores
 * the answer, so that both stand or fall with the change.
 */
export interface KeyedChange<A = unknown> {
  readonly recordId: number
  /**
   * Makes the answer from what the transaction gives. It runs inside the transaction, again after a deadlock, and talks to
   * nothing outside. Absent: the record is marked, and the answer is stored after the transaction.
   */
  readonly answer?: (result: A) => Promise<StoredAnswer>
  /** Called once the transaction has been committed. */
  readonly committed: () => void
}

/** What became of a key. `applied-without-answer`: the change is committed, its process ended before it stored an answer. */
export type BegunRequest =
  | { readonly kind: 'fresh'; readonly id: number }
  | { readonly kind: 'in-progress'; readonly retryAfterSeconds: number }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'applied-without-answer' }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }

/**
 * Idempotency records, one for each (caller, operation, key) digest. The change's own transaction marks its record as
 * applied (`UnitOfWork`), so a retry never applies it twice, whatever dies in between. A record belongs to the process that
 * began it.
 */
export interface IdempotencyStore {
  /** Atomic: of parallel calls with one key exactly one is fresh. A started record whose process is dead is taken over. */
  begin(keyHash: Uint8Array, requestHash: Uint8Array): Promise<BegunRequest>
  /** The answer under a key and the digest of its request. Undefined while there is none. Begins nothing. */
  find(keyHash: Uint8Array): Promise<{ readonly requestHash: Uint8Array; readonly answer: StoredAnswer } | undefined>
  /** Ends the work on a record: stores the answer where the change did not, or did so with another one. */
  answer(id: number, answer: StoredAnswer): Promise<void>
  /** Ends the work on a record whose change stored the answer. */
  settle(id: number): void
  /** Ends the work on a record. Drops one that was not applied, so that the request may be sent again; an applied one is kept. */
  forget(id: number): Promise<void>
  /** Drops started records of this process that it does not work on: it could not tell the database so before. */
  sweep(): Promise<void>
  /** Drops records older than 48 hours; answers how many. */
  purge(): Promise<number>
}
export const IdempotencyStoreToken = token<IdempotencyStore>('kernel.IdempotencyStore')
