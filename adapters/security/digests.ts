import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { KeyedDigest } from '../../core/audit/ports.ts'
import type { ContentDigest } from '../../core/identity/accounts/ports.ts'
import type { CsrfTokens, TokenDigest } from '../../core/identity/ports.ts'
import type { Secret } from '../../core/kernel/secret.ts'

export const sha256TokenDigest: TokenDigest = {
  digest: (value) => hash('sha256', value, 'buffer'),
  checksum: (ascii) => crc32(ascii),
}

export const sha256ContentDigest: ContentDigest = { of: (bytes) => hash('sha256', bytes, 'base64url') }

/** CSRF tokens as HMAC-SHA256 of the session's key: they need no state and do not reveal the session's key. */
export const makeHmacCsrfTokens = (key: Secret<Uint8Array>): CsrfTokens => {
  const of = (sessionKey: Secret): string =>
    createHmac('sha256', key.reveal()).update(sessionKey.reveal()).digest('base64url')
  return {
    of,
    matches(sessionKey, presented) {
      const expected = Buffer.from(of(sessionKey))
      const given = Buffer.from(presented)
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}

/** KeyedDigest by HMAC-SHA256 under a key of at least 32 bytes. */
export const makeHmacDigest = (key: Uint8Array): KeyedDigest => {
  if (key.length < 32) throw new Error('The audit key must have at least 32 bytes.')
  return { digest: (text) => createHmac('sha256', key).update(text, 'utf8').digest() }
}
