import { createHmac, timingSafeEqual } from 'node:crypto'
import { toWireJson } from '../../core/kernel/json.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import type { ArchiveLinks } from '../../core/marketplace/ports.ts'

export interface ArchiveLinkOptions {
  /** HMAC-SHA256 key of the links. */
  readonly key: Secret<Uint8Array>
  /** Returns the URL of the route that serves links, without a trailing slash. */
  readonly routeUrl: () => string
}

/** ArchiveLinks to this service, signed with HMAC-SHA256. */
export const makeArchiveLinks = ({ key, routeUrl }: ArchiveLinkOptions): ArchiveLinks => {
  const signatureOf = (installerRef: string, expires: number): Buffer =>
    createHmac('sha256', key.reveal())
      .update(toWireJson([installerRef, expires]))
      .digest()
  return {
    make(installerRef, until) {
      const expires = until.getTime()
      const signature = signatureOf(installerRef, expires).toString('base64url')
      const query = new URLSearchParams({ expires: String(expires), signature })
      return `${routeUrl()}/${installerRef}?${query.toString()}`
    },
    isSigned({ installerRef, expires, signature }) {
      const given = Buffer.from(signature, 'base64url')
      const expected = signatureOf(installerRef, expires)
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}
