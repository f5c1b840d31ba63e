import { createHmac } from 'node:crypto'
import type { KeyedDigest } from '../../../core/audit/ports.ts'

/** A KeyedDigest by HMAC-SHA256 under a key of at least 32 bytes. */
export const makeHmacDigest = (key: Uint8Array): KeyedDigest => {
  if (key.length < 32) throw new Error('The audit key must have at least 32 bytes.')
  return { digest: (text) => createHmac('sha256', key).update(text, 'utf8').digest() }
}
