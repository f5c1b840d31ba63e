import { token } from './token.ts'

/** An answer kept for replays; `body` is sealed. */
export interface StoredAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
}

/** What became of a key. `applied-without-answer`: the change is committed, the process died before its answer was kept. */
export type BegunRequest =
  | { readonly kind: 'fresh'; readonly id: number }
  | { readonly kind: 'in-progress' }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'applied-without-answer' }
  | { readonly kind: 'answered'; readonly answer: StoredAnswer }

/**
 * Idempotency records, one for each (caller, operation, key) digest. The change's own transaction marks its record as
 * applied (`UnitOfWork`), so a retry never applies it twice, whatever dies in between.
 */
export interface IdempotencyStore {
  /** Atomic: of parallel calls with one key exactly one is fresh. A started record whose owner died is taken over after two minutes. */
  begin(keyHash: Uint8Array, requestHash: Uint8Array): Promise<BegunRequest>
  answer(id: number, answer: StoredAnswer): Promise<void>
  /** Drops a record that was not applied, so that the request may be sent again; an applied one is kept. */
  forget(id: number): Promise<void>
  /** Drops records older than 48 hours; answers how many. */
  purge(): Promise<number>
}
export const IdempotencyStoreToken = token<IdempotencyStore>('kernel.IdempotencyStore')
