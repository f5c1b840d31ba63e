import type { IncomingHttpHeaders } from 'node:http'
import { crc32 } from 'node:zlib'
import type * as t from 'io-ts'
import type { PackedText } from '../../../../core/kernel/exchange.ts'
import { toWireJson } from '../../../../core/kernel/json.ts'
import type { Page, PageRequest } from '../../../../core/kernel/page.ts'
import type { Binary, CookieChange, Streamed, Versioned, WithCookies } from '../../../../plugins/kit/reply.ts'
import { EmptyAnswer, JsonText, NoContent, Redirect, scimTag, YamlAnswer } from '../../../../plugins/kit/reply.ts'
import type { Route } from '../../../../plugins/kit/route.ts'
import { shapeOf } from '../../../../plugins/kit/unknown-fields.ts'
import type { BinderDeps } from '../binder-deps.ts'
import { jsonTypeOf } from '../failure-response.ts'
import { entityTag, makeEntityTag, noneMatch } from '../request/conditional.ts'
import { setCookieHeader } from '../request/credentials.ts'
import { pageHeaders } from '../request/paging.ts'
import { readPreferences } from '../request/preferences.ts'
import type { RequestContext } from '../request/request-context.ts'
import { acceptsGzip, leastBytes, isPacked, taggedAnswer } from './packed-answer.ts'
import type { Answer } from './packed-answer.ts'

interface Tagging {
  readonly version?: number
  readonly headers?: Answer['headers']
  readonly isUntagged?: boolean | undefined
}

/** Returns JSON of a value, or JSON text that is already written. */
type Tagged = (value: unknown, context: RequestContext, tagging?: Tagging) => Answer

/** Returns the name of what a caller reads, under which its text is remembered. */
const keyOf = ({ principal, path, query }: RequestContext): string => `${principal?.userId ?? ''} ${path}?${query}`

/**
 * Returns the function that makes JSON answers, with an entity tag on reads so that a poller transfers the bytes once.
 * A read that creates a token has no tag, nor has one for proxies.
 */
const makeTagged = (route: Route, { packing }: Pick<BinderDeps, 'packing'>): Tagged => {
  const isRead = route.method === 'GET'
  const { status } = route.ok
  const jsonType = { 'Content-Type': jsonTypeOf(route.dialect) }
  const tagOf = (body: string, version: number | undefined): string =>
    route.dialect === 'scim' && version !== undefined ? scimTag(version) : entityTag(body, version)
  const answerOf = (body: string, context: RequestContext, isOwn: boolean, tagging: Tagging): Answer => {
    const { version, isUntagged } = tagging
    const headers = { ...jsonType, ...tagging.headers }
    if ((!isRead && version === undefined) || isUntagged === true) return { status, headers, body }
    if (!isOwn || body.length < leastBytes || !isPacked(route))
      return taggedAnswer(status, headers, { text: body, etag: tagOf(body, version) }, isRead)
    const packable = packing.packable(keyOf(context), body, { version })
    return taggedAnswer(status, headers, packable, isRead, packable)
  }
  const answerOfBytes = ({ bytes, etag }: OwnBytes, context: RequestContext, tagging: Tagging): Answer => {
    const headers = { ...jsonType, ...tagging.headers }
    if (!isRead) return { status, headers, body: bytes }
    if (bytes.length < leastBytes || !isPacked(route))
      return taggedAnswer(status, headers, { text: bytes, etag }, isRead)
    const packable = packing.packable(keyOf(context), bytes, { etag })
    return taggedAnswer(status, headers, packable, isRead, packable)
  }
  return (value, context, tagging = {}) => {
    if (value instanceof OwnBytes) return answerOfBytes(value, context, tagging)
    if (value instanceof JsonText) return answerOf(`${value.text}\n`, context, false, tagging)
    return answerOf(`${toWireJson(value)}\n`, context, true, tagging)
  }
}

/** JSON of a list that was encoded in steps, with its tag. */
class OwnBytes {
  readonly bytes: Uint8Array
  readonly etag: string
  constructor(bytes: Uint8Array, etag: string) {
    this.bytes = bytes
    this.etag = etag
  }
}

/** Returns bytes with a strong tag. A client that holds them revalidates each time, and usually gets 304. */
const binaryAnswer = ({ contentType, bytes, headers: own }: Binary): Answer => {
  const etag = entityTag(bytes)
  const headers = { 'Cache-Control': 'no-cache', ...own, 'Content-Type': contentType, ETag: etag }
  return {
    status: 200,
    headers,
    body: bytes,
    notModifiedFor: (header) =>
      noneMatch(header, etag) ? undefined : { status: 304, headers: { ETag: etag }, body: undefined },
  }
}

const yamlType = { 'Content-Type': 'application/yaml; charset=utf-8' }

/** Returns YAML in the same way as JSON, with a tag of its own bytes on reads. */
const yamlAnswer = (route: Route, { text }: YamlAnswer): Answer => {
  if (route.method !== 'GET') return { status: route.ok.status, headers: yamlType, body: text }
  const etag = entityTag(text)
  return {
    status: route.ok.status,
    headers: { ...yamlType, ETag: etag },
    body: text,
    notModifiedFor: (header) =>
      noneMatch(header, etag) ? undefined : { status: 304, headers: { ETag: etag }, body: undefined },
  }
}

/** Returns the listener's root of a path that matches the template of the route. */
const rootOf = (route: Route, path: string): string =>
  path
    .split('/')
    .slice(0, 1 - route.path.split('/').length)
    .join('/')

/** Redirects by path alone, so that the client keeps the scheme and host that it used. */
const redirected = (route: Route, context: RequestContext, { status, path }: Redirect): Answer => ({
  status,
  headers: { Location: rootOf(route, context.path) + path },
  body: undefined,
})

/** Converts a handler's result to an answer. A long list takes several turns of the event loop. */
export type Reply = (result: unknown, context: RequestContext, request: PageRequest) => Answer | Promise<Answer>

type ReplyDeps = Pick<BinderDeps, 'secureCookies' | 'pauseInLongTurn' | 'names' | 'packing'>

/** Returns the function that converts a handler's result to an answer, as the route declares it. */
export const makeReply = (route: Route, deps: ReplyDeps): Reply => {
  const { redirects, isYamlToo, isJsonTextToo, isEmptyToo, isBodilessToo } = route.ok
  const tagged = makeTagged(route, deps)
  const answer = makeDeclaredReply(route, deps, tagged)
  const hasOthers = [isYamlToo, isJsonTextToo, isEmptyToo, isBodilessToo].includes(true)
  if (redirects === undefined && !hasOthers) return answer
  return (result, context, request) => {
    if (result instanceof Redirect) return redirected(route, context, result)
    if (result instanceof JsonText) return tagged(result, context)
    if (result instanceof NoContent) return { status: 204, headers: {}, body: undefined }
    if (result instanceof EmptyAnswer) return { status: route.ok.status, headers: {}, body: undefined }
    return result instanceof YamlAnswer ? yamlAnswer(route, result) : answer(result, context, request)
  }
}

/** Returns the function that encodes the value, or an item, of a route's answer. */
const encoderOf = ({ ok: { codec } }: Route, { names }: ReplyDeps): ((value: unknown) => unknown) => {
  const plain = (value: unknown): unknown => (codec as t.Any).encode(value)
  const shape = names === undefined || codec === undefined ? undefined : shapeOf(codec)
  return names === undefined || shape === undefined ? plain : (value) => names.withOtherFields(shape, plain(value))
}

/** Items that are encoded and written as text in one step. */
const itemsInStep = 100

/** Returns the JSON of a list and of the object around it. Other requests are answered between the steps. */
const encodeList = async (
  { ok }: Route,
  encode: (item: unknown) => unknown,
  items: readonly unknown[],
  { pauseInLongTurn }: ReplyDeps,
): Promise<OwnBytes> => {
  const { envelope } = ok
  const pieces: Uint8Array[] = []
  const tag = makeEntityTag()
  const add = (text: string): void => {
    const bytes = Buffer.from(text)
    tag.add(bytes)
    pieces.push(bytes)
  }
  if (envelope !== undefined) add(`${toWireJson(envelope.constants).slice(0, -1)},${toWireJson(envelope.key)}:`)
  for (let from = 0; from < items.length; from += itemsInStep) {
    // The answer has just waited for its first step.
    const turn = from === 0 ? undefined : pauseInLongTurn()
    if (turn !== undefined) await turn
    const text = toWireJson(items.slice(from, from + itemsInStep).map(encode))
    add(`${from === 0 ? '[' : ','}${text.slice(1, -1)}`)
  }
  add(envelope === undefined ? ']\n' : ']}\n')
  return new OwnBytes(Buffer.concat(pieces), tag.tag())
}

const makeDeclaredReply = (route: Route, deps: ReplyDeps, tagged: Tagged): Reply => {
  const { ok } = route
  const encode = encoderOf(route, deps)
  const setCookies = (changes: readonly CookieChange[], { isEncrypted }: RequestContext) => ({
    'Set-Cookie': changes.map((change) => setCookieHeader(change, deps.secureCookies || isEncrypted)),
  })
  switch (ok.kind) {
    case 'json': {
      const { header } = ok
      if (ok.setsCookies === true)
        return (result, context) => {
          const { value, cookies } = result as WithCookies<unknown>
          return tagged(encode(value), context, { headers: setCookies(cookies, context), isUntagged: true })
        }
      if (header !== undefined)
        return (result, context) =>
          tagged(encode(result), context, { headers: { [header.name]: header.textOf(result) }, isUntagged: true })
      return (result, context) => tagged(encode(result), context, { isUntagged: context.makesToken })
    }
    case 'versioned':
      return (result, context) => {
        const { value, version } = result as Versioned<unknown>
        const { header } = ok
        const headers = header === undefined ? {} : { [header.name]: header.textOf(result) }
        return tagged(encode(value), context, { version, headers })
      }
    case 'list':
      return async (result, context, request) => {
        const page = result as Page<unknown>
        const headers = pageHeaders(context.ownAddress.url + context.path, context.params, request, page)
        if (page.items.length > itemsInStep)
          return tagged(await encodeList(route, encode, page.items, deps), context, { headers })
        const items = page.items.map(encode)
        const value = ok.envelope === undefined ? items : { ...ok.envelope.constants, [ok.envelope.key]: items }
        return tagged(value, context, { headers })
      }
    case 'cookies':
      return (result, context) => ({
        status: ok.status,
        headers: setCookies(result as readonly CookieChange[], context),
        body: undefined,
      })
    case 'binary':
      return (result) => binaryAnswer(result as Binary)
    case 'streamed':
      return (result) => streamedAnswer(result as Streamed)
    case 'text':
      return (result) => ({
        status: ok.status,
        headers: { 'Content-Type': ok.contentType ?? 'text/plain; charset=utf-8' },
        body: result as string,
      })
    case 'feed':
      throw new Error(`${route.id} answers a feed, which has a binding of its own`)
    case 'empty':
      return () => ({ status: ok.status, headers: {}, body: undefined })
  }
}

const header = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
/** The most bytes of a deflate block that is not compressed. */
const longestBlock = 65_535

/** The reversed polynomial of CRC-32. */
const polynomial = 0xedb88320

/** Returns the product of two polynomials over GF(2), modulo that of CRC-32, as zlib does. */
const multiplied = (a: number, b: number): number => {
  let product = 0
  let factor = b
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= factor
    factor = (factor & 1) === 0 ? factor >>> 1 : (factor >>> 1) ^ polynomial
  }
  return product >>> 0
}

/** x to the power of 2^n. */
const powers: number[] = [0x40000000]
for (let n = 1; n < 32; n += 1) powers.push(multiplied(powers[n - 1] ?? 0, powers[n - 1] ?? 0))

/** Returns x to the power of 8 * bytes. */
const shiftOf = (bytes: number): number => {
  let shift = 0x80000000
  for (let rest = bytes, n = 3; rest > 0; rest = Math.floor(rest / 2), n += 1)
    if (rest % 2 === 1) shift = multiplied(powers[n % 32] ?? 0, shift)
  return shift
}

/** Returns the CRC-32 of two texts in a row from that of each and the length of the second. @internal */
export const joinedCrc = (first: number, second: number, secondBytes: number): number =>
  (multiplied(shiftOf(secondBytes), first) ^ second) >>> 0

/** Returns bytes as deflate blocks that are not compressed. */
const storedBlocks = (bytes: Uint8Array): Uint8Array => {
  const blocks: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += longestBlock) {
    const block = bytes.subarray(at, at + longestBlock)
    const head = Buffer.alloc(5)
    head.writeUInt16LE(block.length, 1)
    head.writeUInt16LE(~block.length & 0xffff, 3)
    blocks.push(head, block)
  }
  return Buffer.concat(blocks)
}

/**
 * Returns pieces as one gzip file. Packed pieces are taken as they are, so that nothing is compressed or inflated for a
 * request; what is between them is short and not compressed.
 *
 * @internal
 */
export const gzipPieces = async function* (pieces: AsyncIterable<string | PackedText>): AsyncGenerator<Uint8Array> {
  let crc = 0
  let size = 0
  yield header
  for await (const piece of pieces) {
    if (typeof piece === 'string') {
      const bytes = Buffer.from(piece)
      crc = crc32(bytes, crc)
      size += bytes.length
      yield storedBlocks(bytes)
    } else {
      crc = joinedCrc(crc, piece.crc32, piece.size)
      size += piece.size
      yield piece.deflated
    }
  }
  // An empty last block, and the checksum and the length of the whole, modulo 2^32.
  const end = Buffer.alloc(10)
  end.set([3, 0])
  end.writeUInt32LE(crc, 2)
  end.writeUInt32LE(size % 0x1_0000_0000, 6)
  yield end
}

const bareType = (contentType: string): string => contentType.replace(/;.*$/s, '').trim().toLowerCase()

interface TypePreference {
  /** 0 to 1. */
  readonly quality: number
  /** 0 for a type that is named itself, then those of ranges. */
  readonly breadth: number
}

/**
 * Returns how much a client prefers a type, by the most specific range of its `Accept` header (RFC 9110 §12.5.1).
 * Parameters other than `q` are no condition: `text/csv; header=present` and `application/json; charset=utf-8` ask for
 * these types. The package negotiator takes them as one, and would answer the second with another type.
 *
 * @internal
 */
export const preferenceFor = (accept: string, contentType: string): TypePreference => {
  const type = bareType(contentType)
  const ranges = readPreferences(accept)
  const found = [type, type.replace(/\/.*$/, '/*'), '*/*'].map((each) => ranges.find(({ name }) => name === each))
  const breadth = found.findIndex((each) => each !== undefined)
  return { quality: found[breadth]?.quality ?? 0, breadth }
}

const isPreferred = (a: TypePreference, b: TypePreference): boolean =>
  a.quality > b.quality || (a.quality === b.quality && a.quality > 0 && a.breadth < b.breadth)

/**
 * Returns the type that a client prefers; of equal ones, the one that it names more exactly; then the first, also if it
 * accepts none.
 *
 * @internal
 */
export const preferredType = <Type extends { readonly contentType: string }>(
  [first, ...others]: readonly [Type, ...(readonly Type[])],
  accept: string | undefined,
): Type =>
  accept === undefined
    ? first
    : others.reduce(
        (best, each) =>
          isPreferred(preferenceFor(accept, each.contentType), preferenceFor(accept, best.contentType)) ? each : best,
        first,
      )

const plainPieces = async function* (pieces: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield typeof piece === 'string' ? Buffer.from(piece) : piece
}

/**
 * Reports whether the client holds the content (RFC 9110 §13.1.3): only looked at where there is no `If-None-Match`.
 */
const isUnmodified = (since: string | undefined, lastModified: Date): boolean => {
  const at = since === undefined ? Number.NaN : Date.parse(since)
  return Math.floor(lastModified.getTime() / 1000) * 1000 <= at
}

const isHeld = (headers: IncomingHttpHeaders, etag: string, lastModified: Date): boolean => {
  const tags = headers['if-none-match']
  return tags === undefined ? isUnmodified(headers['if-modified-since'], lastModified) : !noneMatch(tags, etag)
}

const shared = { 'Cache-Control': 'private, no-cache', Vary: 'Accept, Accept-Encoding' }

/**
 * Returns an answer in the form that the request prefers. A client that holds it revalidates each time, and usually
 * gets 304.
 */
const streamedAnswer = (streamed: Streamed): Answer => ({
  status: 200,
  headers: shared,
  body: undefined,
  negotiate: (headers) => {
    const { accept } = headers
    const { contentType, tag, headers: own, pieces, packedPieces } = preferredType(streamed.representations, accept)
    const packed = acceptsGzip(headers['accept-encoding']) ? packedPieces : undefined
    const etag = packed === undefined ? `"${tag}"` : `"${tag}-gzip"`
    if (isHeld(headers, etag, streamed.lastModified))
      return { status: 304, headers: { ETag: etag, ...shared }, body: undefined }
    return {
      status: 200,
      headers: {
        ...own,
        ETag: etag,
        'Last-Modified': streamed.lastModified.toUTCString(),
        'Content-Type': contentType,
        ...(packed === undefined ? {} : { 'Content-Encoding': 'gzip' }),
      },
      body: undefined,
      pieces: packed === undefined ? plainPieces(pieces()) : gzipPieces(packed()),
    }
  },
})
