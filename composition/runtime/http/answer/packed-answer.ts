import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import type { BrotliOptions } from 'node:zlib'
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { getOrMake } from '../../../../core/kernel/cache.ts'
import type { Route } from '../../../../plugins/kit/route.ts'
import { entityTag, noneMatch } from '../request/conditional.ts'
import { readPreferences } from '../request/preferences.ts'

/** An answer that is completely in memory. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | Uint8Array | undefined
  /** Returns the 304 to send instead, when the client already holds this representation. */
  readonly notModifiedFor?: (ifNoneMatch: string | undefined) => Answer | undefined
  /**
   * Returns the answer in the form that the request prefers, or its 304. It has the headers of both, a 304 only its
   * own.
   */
  readonly negotiate?: (headers: IncomingHttpHeaders) => Answer
  /** The body, if it may be sent compressed. */
  readonly packable?: Packable
  /** The body of an answer that is sent while it is read, instead of `body`. */
  readonly pieces?: AsyncIterable<Uint8Array>
}

/** A content coding in which answers are sent, in the order of our preference. */
const codings = ['br', 'gzip'] as const
export type Coding = (typeof codings)[number]

/** A text that is sent compressed to those who accept it. Each form is made at most once. */
export interface Packable {
  readonly text: string | Uint8Array
  /** The version of the object, if it has one. */
  readonly version: number | undefined
  readonly etag: string
  readonly forms: Map<Coding, Uint8Array>
}

/** From this size in bytes on a text is sent compressed. */
export const leastBytes = 1024

/** Clients send few different headers. Longer ones are read each time. */
const chosen = new LRUCache<string, Coding | 'identity'>({ max: 100 })
const longestKept = 100

/** Returns how much a client prefers each coding by its `Accept-Encoding`; 0 if it does not accept it. */
const qualitiesIn = (accepted: string): ((coding: Coding | 'identity') => number) => {
  const preferences = new Map(readPreferences(accepted).map(({ name, quality }) => [name, quality]))
  return (coding) => preferences.get(coding) ?? preferences.get('*') ?? 0
}

const choose = (accepted: string): Coding | 'identity' => {
  const qualityOf = qualitiesIn(accepted)
  const [best] = codings.toSorted((a, b) => qualityOf(b) - qualityOf(a))
  return best !== undefined && qualityOf(best) > 0 && qualityOf(best) >= qualityOf('identity') ? best : 'identity'
}

/**
 * Returns the coding that a client prefers by its `Accept-Encoding` (RFC 9110 §12.5.3), or undefined for none.
 *
 * @internal
 */
export const codingOf = (accepted: string | readonly string[] | undefined): Coding | undefined => {
  if (accepted === undefined) return undefined
  const header = accepted.toString()
  const known = chosen.get(header)
  const coding = known ?? choose(header)
  if (known === undefined && header.length <= longestKept) chosen.set(header, coding)
  return coding === 'identity' ? undefined : coding
}

/** Reports whether a client takes gzip, for a text that is kept in that form only. */
export const acceptsGzip = (accepted: string | readonly string[] | undefined): boolean =>
  accepted !== undefined && qualitiesIn(accepted.toString())('gzip') > 0

/** Returns an answer whose bytes never change while the process runs. It is serialised and tagged once. */
export const staticAnswer = (
  contentType: string,
  body: string | Uint8Array,
  headers: Answer['headers'] = {},
): Answer => {
  const etag = entityTag(body)
  const all = { 'Content-Type': contentType, 'Cache-Control': 'no-cache', ETag: etag, ...headers }
  const unchanged: Answer = {
    status: 304,
    headers: { 'Cache-Control': 'no-cache', ...headers, ETag: etag },
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
export type PackedAnswer = (acceptEncoding: string | readonly string[] | undefined) => Answer

const brotliOptions = (quality: number, window: number): BrotliOptions => ({
  params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_LGWIN]: window },
})

/** What is compressed once is worth the quality at which brotli takes no longer than gzip. */
const packOnce: Readonly<Record<Coding, (bytes: Uint8Array) => Uint8Array>> = {
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes) => gzipSync(bytes),
}

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
    const coding = codingOf(acceptEncoding)
    if (coding === undefined) return plain
    return getOrMake(made, coding, () =>
      staticAnswer(contentType, packOnce[coding](bytes), { ...vary, 'Content-Encoding': coding }),
    )
  }
}

/** Reports whether the answers of a route are sent compressed to clients that accept it (docs/security.md). */
export const isPacked = ({ method, ok, makesToken }: Route): boolean =>
  ok.isPacked === true && method === 'GET' && makesToken !== true

const formTag = (etag: string, coding: Coding): string => `${etag.slice(0, -1)}-${coding}"`

/**
 * Returns the tag of the form that the client holds, or undefined. The forms of a text are equally current: a client
 * that accepts another coding than before need not transfer it again.
 */
const heldTag = (ifNoneMatch: string | undefined, etag: string, isPackable: boolean): string | undefined => {
  if (ifNoneMatch === undefined) return undefined
  const forms = isPackable ? [etag, ...codings.map((coding) => formTag(etag, coding))] : [etag]
  return forms.find((form) => !noneMatch(ifNoneMatch, form))
}

const vary = { Vary: 'Accept-Encoding' }

/** Returns JSON with its tag. `packable` is the text if it may be compressed. */
export const taggedAnswer = (
  status: number,
  headers: Readonly<Record<string, string>>,
  { text, etag }: Pick<Packable, 'text' | 'etag'>,
  isRead: boolean,
  packable?: Packable,
): Answer => {
  const varying = packable === undefined ? undefined : vary
  const answer = { status, headers: { ETag: etag, ...varying, ...headers }, body: text }
  if (!isRead) return answer
  const notModifiedFor: Answer['notModifiedFor'] = (header) => {
    const held = heldTag(header, etag, packable !== undefined)
    return held === undefined ? undefined : { status: 304, headers: { ETag: held, ...varying }, body: undefined }
  }
  return packable === undefined ? { ...answer, notModifiedFor } : { ...answer, notModifiedFor, packable }
}

/** At most this many characters are compressed within a turn of the event loop. */
const inlineLength = 65_536
/** Longer texts that are compressed at the same time, each on a thread. Further ones are sent as they are. */
const mostOutside = 2

/**
 * As fast as possible at about the size of the best (docs/decisions/cost-of-a-request.md). What is compressed within a
 * turn is short: small windows and buffers are allocated for it, since memory beside the heap makes V8 collect garbage.
 */
const inlineBuffer = { chunkSize: 4096 }
const inline = {
  br: { ...brotliOptions(3, 16), ...inlineBuffer },
  gzip: { level: 4, windowBits: 13, memLevel: 6, ...inlineBuffer },
}
const outside = { br: brotliOptions(4, 18), gzip: { level: 4 } }
const [brotliOutside, gzipOutside] = [promisify(brotliCompress), promisify(gzip)]

const packInline = (text: Packable['text'], coding: Coding): Uint8Array =>
  coding === 'br' ? brotliCompressSync(text, inline.br) : gzipSync(text, inline.gzip)

const packOutside = (text: Packable['text'], coding: Coding): Promise<Uint8Array> =>
  coding === 'br' ? brotliOutside(text, outside.br) : gzipOutside(text, outside.gzip)

/** The memory of texts that callers read again and again, in characters. */
const rememberedLength = 8_388_608
const longestRemembered = 524_288
/** What an entry takes beside its text. */
const entryLength = 300

interface Tagging {
  readonly version?: number | undefined
  readonly etag?: string
}

/** Compresses answers, and remembers those that the same caller reads again. */
export interface Packing {
  /**
   * Returns a text with its tag and the forms that were made of it. `key` names the caller and the address: for a text
   * that has not changed since the last request, neither the tag nor a form is computed again. A text whose tag is known
   * is compared by it.
   */
  packable(key: string, text: string | Uint8Array, tagging?: Tagging): Packable
  /** Returns the answer in the coding that the client prefers. A long one is compressed on another thread. */
  packed(answer: Answer, acceptEncoding: string | readonly string[] | undefined): Answer | Promise<Answer>
}

export const makePacking = (): Packing => {
  // A text is kept from its second request on: most are read once.
  const recent = new LRUCache<string, Packable | 'seen'>({
    maxSize: rememberedLength,
    maxEntrySize: longestRemembered,
    sizeCalculation: (entry, key) => entryLength + key.length + (entry === 'seen' ? 0 : entry.text.length),
  })
  let running = 0

  const inForm = (answer: Answer, { etag }: Packable, coding: Coding, body: Uint8Array): Answer => ({
    ...answer,
    headers: { ...answer.headers, 'Content-Encoding': coding, ETag: formTag(etag, coding) },
    body,
  })

  const packLong = async (answer: Answer, packable: Packable, coding: Coding): Promise<Answer> => {
    running += 1
    try {
      const form = await packOutside(packable.text, coding)
      packable.forms.set(coding, form)
      return inForm(answer, packable, coding, form)
    } finally {
      running -= 1
    }
  }

  return {
    packable(key, text, { version, etag } = {}) {
      const known = recent.get(key)
      if (known !== undefined && known !== 'seen' && known.version === version) {
        if (etag === undefined ? known.text === text : known.etag === etag) return known
      }
      const made = { text, version, etag: etag ?? entityTag(text, version), forms: new Map<Coding, Uint8Array>() }
      recent.set(key, known === undefined ? 'seen' : made)
      return made
    },
    packed(answer, acceptEncoding) {
      const { packable } = answer
      const coding = packable === undefined ? undefined : codingOf(acceptEncoding)
      if (packable === undefined || coding === undefined) return answer
      const form = packable.forms.get(coding)
      if (form !== undefined) return inForm(answer, packable, coding, form)
      if (packable.text.length > inlineLength)
        return running < mostOutside ? packLong(answer, packable, coding) : answer
      const made = packInline(packable.text, coding)
      packable.forms.set(coding, made)
      return inForm(answer, packable, coding, made)
    },
  }
}
