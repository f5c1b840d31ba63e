import { chainStart, hex, sealedText } from './audit-chain.ts'
import type { KeyedDigest } from './ports.ts'
import type { ChainedEvent } from './types.ts'

/** What the check of one chain found. `brokenAt` is the id of the first row that does not fit. */
export type ChainVerdict =
  | { readonly state: 'whole'; readonly rows: number }
  | { readonly state: 'altered'; readonly rows: number; readonly brokenAt: number }
  | { readonly state: 'cut'; readonly rows: number }

/**
 * Checks one account's chain, oldest row first: each row's hash must be the keyed digest of its columns and the hash
 * before it (else `altered`: a row was changed, removed from the middle, or put in), and one of them must be `head`, which
 * was read before the rows (else `cut`: rows are gone from the end). Rows that came after `head` was read are checked too.
 */
export const verifyChain = async (
  key: KeyedDigest,
  events: AsyncIterable<ChainedEvent>,
  head: Uint8Array,
): Promise<ChainVerdict> => {
  let previous = chainStart
  let rows = 0
  let hasHead = hex(head) === hex(chainStart)
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
