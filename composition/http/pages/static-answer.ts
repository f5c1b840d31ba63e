import { hash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Answer } from '../answer/write-answer.ts'
import { noneMatch } from '../request/conditional.ts'
import { qualityOf } from '../request/preferences.ts'

/** Returns an answer whose bytes never change while the process runs. It is serialised and tagged once. */
export const staticAnswer = (
  contentType: string,
  body: string | Uint8Array,
  headers: Answer['headers'] = {},
): Answer => {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  const all = { 'Content-Type': contentType, 'Cache-Control': 'no-cache', ETag: etag, ...headers }
  const unchanged: Answer = {
    status: 304,
    headers: { ...headers, ETag: etag, 'Cache-Control': 'no-cache' },
    body: undefined,
  }
  return {
    status: 200,
    headers: all,
    body,
    notModifiedFor: (header) => (noneMatch(header, etag) ? undefined : unchanged),
  }
}

/** An answer in the coding that a client accepts, by its `Accept-Encoding`. */
export type PackedAnswer = (acceptEncoding: string | undefined) => Answer

type Coding = 'br' | 'gzip'

/** The quality at which brotli takes no longer than gzip. */
const brotliQuality = 5

const pack: Readonly<Record<Coding, (bytes: Uint8Array) => Uint8Array>> = {
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  gzip: (bytes) => gzipSync(bytes),
}

/** From this size on the text is sent compressed. */
const leastBytes = 1024

/**
 * Returns an answer that never changes, compressed for the clients that accept it. Each coding is made once, at the
 * first request that accepts it: the largest text, the API description, takes about 15 ms.
 */
export const packedAnswer = (
  contentType: string,
  body: string | Uint8Array,
  headers: Answer['headers'] = {},
): PackedAnswer => {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length < leastBytes) {
    const only = staticAnswer(contentType, bytes, headers)
    return () => only
  }
  const vary = {
    ...headers,
    Vary: ['Accept-Encoding', headers['Vary']].filter((name) => name !== undefined).join(', '),
  }
  const plain = staticAnswer(contentType, bytes, vary)
  const made = new Map<Coding, Answer>()
  return (acceptEncoding) => {
    const coding = (['br', 'gzip'] as const).find((each) => qualityOf(acceptEncoding, each) > 0)
    if (coding === undefined) return plain
    const known = made.get(coding)
    if (known !== undefined) return known
    const answer = staticAnswer(contentType, pack[coding](bytes), { ...vary, 'Content-Encoding': coding })
    made.set(coding, answer)
    return answer
  }
}
