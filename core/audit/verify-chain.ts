import type { AuditSeal } from './ports.ts'
import { sealedText } from './sealed-text.ts'
import type { ChainedEvent } from './types.ts'

/** What the check of one chain found. `brokenAt` is the id of the first row that does not fit. */
export type ChainVerdict =
  | { readonly state: 'whole'; readonly rows: number }
  | { readonly state: 'altered'; readonly rows: number; readonly brokenAt: number }
  | { readonly state: 'cut'; readonly rows: number }

/** The previous hash of a chain's first row. */
export const chainStart: Uint8Array = new Uint8Array(32)

export const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Checks one account's chain, oldest row first: each row's hash must be the seal over its columns and the hash before
 * it (else `altered`: a row was changed, removed from the middle, or put in), and the last must be `head` (else `cut`:
 * rows are gone from the end).
 */
export const verifyChain = async (
  seal: AuditSeal,
  events: AsyncIterable<ChainedEvent>,
  head: Uint8Array,
): Promise<ChainVerdict> => {
  let previous = hex(chainStart)
  let rows = 0
  for await (const event of events) {
    rows += 1
    const expected = hex(seal.digest(sealedText(previous, event)))
    if (hex(event.previousHash) !== previous || hex(event.hash) !== expected) {
      return { state: 'altered', rows, brokenAt: event.id }
    }
    previous = expected
  }
  return previous === hex(head) ? { state: 'whole', rows } : { state: 'cut', rows }
}
