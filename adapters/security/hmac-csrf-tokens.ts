import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CsrfTokens } from '../../core/identity/ports.ts'
import type { Secret } from '../../core/kernel/secret.ts'

/** CSRF values as HMAC-SHA256 of the session's key: no state, and no way back to the session's key. */
export const makeHmacCsrfTokens = (key: Secret<Uint8Array>): CsrfTokens => {
  const of = (sessionKey: Secret): string => createHmac('sha256', key.reveal()).update(sessionKey.reveal()).digest('base64url')
  return {
    of,
    matches(sessionKey, presented) {
      const expected = Buffer.from(of(sessionKey))
      const given = Buffer.from(presented)
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}
