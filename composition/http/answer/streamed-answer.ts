import type { IncomingHttpHeaders } from 'node:http'
import { unpackBytes } from '../../../adapters/sql/usage/packed-text.ts'
import type { PackedText } from '../../../core/kernel/exchange.ts'
import type { Representation, Streamed } from '../../../plugins/kit/reply.ts'
import { acceptsGzip } from '../pages/docs-page.ts'
import { noneMatch } from '../request/conditional.ts'
import { gzipPieces } from './gzip-pieces.ts'
import type { Answer } from './write-answer.ts'

const bareType = (contentType: string): string => contentType.replace(/;.*$/s, '').trim().toLowerCase()

/** Returns how much a client prefers a type, 0 to 1, by the most specific range of its `Accept` header (RFC 9110 §12.5.1). */
export const preferenceFor = (accept: string, contentType: string): number => {
  const type = bareType(contentType)
  const ranges = accept.split(',').map((range) => ({ range: bareType(range), quality: Number(/;\s*q=([01](?:\.\d{0,3})?)\s*(?:;|$)/i.exec(range)?.[1] ?? '1') }))
  const named = [type, type.replace(/\/.*$/, '/*'), '*/*'].map((name) => ranges.find(({ range }) => range === name)).find((found) => found !== undefined)
  return named?.quality ?? 0
}

/** Returns the form that the client prefers; the first of equal ones, and the first if it accepts none. */
const chosenOf = ({ representations }: Streamed, accept: string | undefined): Representation =>
  accept === undefined ? representations[0] : representations.reduce((best, each) => (preferenceFor(accept, each.contentType) > preferenceFor(accept, best.contentType) ? each : best))

/** Returns pieces for a client that does not accept gzip. They are inflated on a thread. */
const plainPieces = async function* (pieces: AsyncIterable<string | Uint8Array | PackedText>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    if (typeof piece === 'string') yield Buffer.from(piece)
    else if (piece instanceof Uint8Array) yield piece
    else yield await unpackBytes(piece)
  }
}

/** Reports whether the client holds the content (RFC 9110 §13.1.3): only looked at where there is no `If-None-Match`. */
const isUnmodified = (since: string | undefined, lastModified: Date): boolean => {
  const at = since === undefined ? Number.NaN : Date.parse(since)
  return Math.floor(lastModified.getTime() / 1000) * 1000 <= at
}

const isHeld = (headers: IncomingHttpHeaders, etag: string, lastModified: Date): boolean => {
  const tags = headers['if-none-match']
  return tags === undefined ? isUnmodified(headers['if-modified-since'], lastModified) : !noneMatch(tags, etag)
}

const shared = { 'Cache-Control': 'private, no-cache', Vary: 'Accept, Accept-Encoding' }

/** Returns an answer in the form that the request prefers. A client that holds it revalidates each time, and usually gets 304. */
export const streamedAnswer = (streamed: Streamed): Answer => ({
  status: 200,
  headers: shared,
  body: undefined,
  negotiate: (headers) => {
    const { accept } = headers
    const { contentType, tag, isPacked, headers: own, pieces } = chosenOf(streamed, accept)
    const isGzip = isPacked === true && acceptsGzip(String(headers['accept-encoding'] ?? ''))
    const etag = isGzip ? `"${tag}-gzip"` : `"${tag}"`
    if (isHeld(headers, etag, streamed.lastModified)) return { status: 304, headers: { ETag: etag, ...shared }, body: undefined }
    return {
      status: 200,
      headers: { ...own, ETag: etag, 'Last-Modified': streamed.lastModified.toUTCString(), 'Content-Type': contentType, ...(isGzip ? { 'Content-Encoding': 'gzip' } : {}) },
      body: undefined,
      pieces: isGzip ? gzipPieces(pieces()) : plainPieces(pieces()),
    }
  },
})
