import { createHmac } from 'node:crypto'
import type { AuditSeal } from '../../../core/audit/ports.ts'

/** An AuditSeal by HMAC-SHA256 under a key of at least 32 bytes. */
export const makeHmacAuditSeal = (key: Uint8Array): AuditSeal => {
  if (key.length < 32) throw new Error('The audit key must have at least 32 bytes.')
  return { digest: (text) => createHmac('sha256', key).update(text, 'utf8').digest() }
}
