import { hex } from '../kernel/entropy.ts'
import { chainStart, sealedText, sealOfBase } from './audit-chain.ts'
import type { KeyedDigest, StoredChain } from './ports.ts'

/** What the check of one chain found. `brokenAt` is the id of the first row that does not fit. */
export type ChainVerdict =
  | { readonly state: 'whole'; readonly rows: number }
  | { readonly state: 'altered'; readonly rows: number; readonly brokenAt: number }
  | { readonly state: 'cut'; readonly rows: number }
  | { readonly state: 'base-forged'; readonly rows: 0 }

/**
 * Checks one account's chain, oldest row first: each row's hash must be the keyed digest of its columns and the hash
 * before it (else `altered`: a row was changed, removed from the middle, or put in), and one of them must be `head`, which
 * was read before the rows (else `cut`: rows are gone from the end). Rows that came after `head` was read are checked too.
 * A chain whose oldest rows were retired starts at its sealed base (else `base-forged`).
 */
export const verifyChain = async (
  key: KeyedDigest,
  { tenantId, base, head, events }: StoredChain,
): Promise<ChainVerdict> => {
  if (base !== undefined && hex(base.seal) !== hex(sealOfBase(key, tenantId, base.hash))) return { state: 'base-forged', rows: 0 }
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
