import type * as t from 'io-ts'
import type { PackedText } from '../../core/kernel/exchange.ts'
import type { KeyedPage, Page } from '../../core/kernel/page.ts'

/** A cookie to set. `value: undefined` clears it. */
export interface CookieChange {
  readonly name: string
  readonly value: string | undefined
  readonly httpOnly: boolean
  readonly path: string
  readonly maxAgeSeconds?: number
  /** Send with the `__Host-` prefix when clients reach the service over https. */
  readonly hostPrefix?: boolean
}

/** A value with the cookies that its answer sets or clears. */
export interface WithCookies<A> {
  readonly value: A
  readonly cookies: readonly CookieChange[]
}

/** A value with its row version. The strong ETag is derived from the version. */
export interface Versioned<A> {
  readonly value: A
  readonly version: number
}

/**
 * A redirect, returned instead of the declared value. The path is relative to the listener's root and percent-encoded.
 */
export class Redirect {
  readonly status: RedirectStatus
  readonly path: string
  constructor(status: RedirectStatus, path: string) {
    this.status = status
    this.path = path
  }
}
/** YAML, returned instead of the declared JSON to a caller who requests it (`format=yaml`). */
export class YamlAnswer {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/**
 * JSON text that another system wrote, returned instead of the declared value and sent byte for byte. It must be valid
 * JSON.
 */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** No body, with the declared status, returned instead of the declared value. */
export class EmptyAnswer {
  readonly isEmpty = true
}

/** 204, returned instead of the declared value. */
export class NoContent {
  readonly status = 204
}

/** 302 redirects to another address; 307 repeats the same request there. */
export type RedirectStatus = 302 | 307

/** An object around the items of a list, such as `{ok: true, data: [...]}`. */
export interface ListEnvelope {
  /** The codec of the whole body. */
  readonly codec: t.Any
  /** The key that holds the items. */
  readonly key: string
  /** The other keys of the body. */
  readonly constants: Readonly<Record<string, boolean | string>>
}

/** Bytes with a content type, such as an image or a document. */
export interface Binary {
  readonly contentType: string
  readonly bytes: Uint8Array
  /** Additional headers of this answer. */
  readonly headers?: Readonly<Record<string, string>>
}

/** One form of a long answer. */
export interface Representation {
  readonly contentType: string
  /** Identifies the bytes: the content of the strong ETag, without quotes. */
  readonly tag: string
  /** Additional headers of this answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** Returns the pieces in order. */
  pieces(): AsyncIterable<string | Uint8Array>
  /** Returns the same content for clients that accept gzip, to which packed pieces are sent as they are. */
  readonly packedPieces?: () => AsyncIterable<string | PackedText>
}

/**
 * An answer that is sent while it is read, in the form that the client prefers by `Accept`; the first form if it has no
 * preference.
 */
export interface Streamed {
  readonly lastModified: Date
  readonly representations: readonly [Representation, ...Representation[]]
}

/** An item of a feed. Ids increase. */
export interface FeedItem<A> {
  readonly id: number
  readonly value: A
}

/** A growing sequence: sent as server-sent events while it grows, or as an array of the items that exist. */
export interface Feed<A> {
  /**
   * Yields the items after the id, in order: existing items first, then new ones until no more can come or the signal
   * aborts.
   */
  follow(afterId: number, signal: AbortSignal): AsyncIterable<FeedItem<A>>
  /** Returns the existing items after the id, in order, up to the size of one answer. */
  now(afterId: number): Promise<readonly FeedItem<A>[]>
}

/** The answer of a route on success. `__result` is the type of the reply. */
export interface ReplySpec<Result> {
  readonly kind: 'json' | 'versioned' | 'list' | 'empty' | 'cookies' | 'text' | 'binary' | 'streamed' | 'feed'
  readonly status: number
  readonly description: string
  readonly codec?: t.Any
  readonly contentType?: string
  /** For `binary`: every content type of the reply. For `streamed`: those beside JSON of the codec, if it has one. */
  readonly contentTypes?: readonly string[]
  /** For `list`: a request without `page` and `limit` gets the first page instead of the whole list. */
  readonly isPaged?: boolean
  /** For `list`: the result is a `KeyedPage`. */
  readonly isKeyed?: boolean
  /** For `list`: the object that holds the items, when they are not the whole body. */
  readonly envelope?: ListEnvelope
  /** An answer body that decodes with the codec. The documentation shows it. */
  readonly example?: unknown
  /** Statuses of the redirects that `reply` may return instead. */
  readonly redirects?: readonly RedirectStatus[]
  /** Reports that `reply` may return a `YamlAnswer` instead. */
  readonly isYamlToo?: boolean
  /** Reports that `reply` may return a `JsonText` instead. */
  readonly isJsonTextToo?: boolean
  /** Reports that `reply` may return a `NoContent` instead. */
  readonly isEmptyToo?: boolean
  /** Reports that `reply` may return an `EmptyAnswer` instead. */
  readonly isBodilessToo?: boolean
  /** For `json`: `reply` returns the value `WithCookies`. */
  readonly setsCookies?: boolean
  /** The answers to GET are sent compressed to clients that accept it. */
  readonly isPacked?: boolean
  /** For `json` and `versioned`: a header that repeats a text of the value, for proxies that read headers only. */
  readonly header?: { readonly name: string; textOf(value: Result): string }
  readonly __result?: Result
}

/** Returns the entity tag of a version of a SCIM resource, which the resource repeats in `meta.version`. */
export const scimTag = (version: number): string => `"${version}-0"`

/** Declares JSON of one value. */
export const json = <A>(
  status: number,
  codec: t.Type<A, unknown>,
  example: unknown,
  description = 'OK',
): ReplySpec<A> => ({
  kind: 'json',
  status,
  codec,
  example,
  description,
})

/** Declares JSON of one value with a row version. The answer carries an ETag, and If-Match guards changes. */
export const versioned = <A>(
  status: number,
  codec: t.Type<A, unknown>,
  example: unknown,
  description = 'OK',
): ReplySpec<Versioned<A>> => ({ kind: 'versioned', status, codec, example, description })

/**
 * Declares a JSON array with `Link` and `X-Total-Count`. A request with `page` or `limit` gets a page, any other the
 * whole list, up to 10,000 items. The example is one element.
 */
export const list = <A>(codec: t.Type<A, unknown>, example: unknown, description = 'OK'): ReplySpec<Page<A>> => ({
  kind: 'list',
  status: 200,
  codec,
  example: [example],
  description,
})

/**
 * Declares the same list, of which a request without `page` and `limit` gets the first page: lists that grow without
 * end, and searches.
 */
export const paged = <A>(reply: ReplySpec<Page<A>>): ReplySpec<Page<A>> => ({ ...reply, isPaged: true })

/**
 * Declares a list of the newest rows first that grows without end: `reply` returns a `KeyedPage`. The next page begins
 * below a key (`before`, which the query declares). Numbered pages end after `maxListRows` items.
 */
export const keyed = <A>(reply: ReplySpec<Page<A>>): ReplySpec<KeyedPage<A>> =>
  ({ ...reply, isPaged: true, isKeyed: true }) as ReplySpec<KeyedPage<A>>

/** Declares a list whose items are inside an object. The example is one element. */
export const listWithin = <A>(
  codec: t.Type<A, unknown>,
  example: unknown,
  envelope: ListEnvelope,
  description = 'OK',
): ReplySpec<Page<A>> => ({
  kind: 'list',
  status: 200,
  codec,
  example: { ...envelope.constants, [envelope.key]: [example] },
  envelope,
  description,
})

/** Declares bytes of one of these types. */
export const binary = (contentTypes: readonly [string, ...string[]], description = 'OK'): ReplySpec<Binary> => ({
  kind: 'binary',
  status: 200,
  contentTypes,
  description,
})

/** Declares JSON that the codec describes, sent while it is read, or the same content as one of the other types. */
export const streamed = (
  codec: t.Any,
  example: unknown,
  contentTypes: readonly string[],
  description = 'OK',
): ReplySpec<Streamed> => ({
  kind: 'streamed',
  status: 200,
  codec,
  example,
  contentTypes,
  description,
})

/** Declares bytes of one of these types, sent while they are read. */
export const streamedFile = (
  contentTypes: readonly [string, ...string[]],
  description = 'OK',
): ReplySpec<Streamed> => ({
  kind: 'streamed',
  status: 200,
  contentTypes,
  description,
})

/** Declares an answer without a body. */
export const empty = (status: number, description = 'Done, no body'): ReplySpec<void> => ({
  kind: 'empty',
  status,
  description,
})

/** Declares an answer without a body that sets or clears cookies. */
export const cookies = (status: number, description = 'Done, cookies changed'): ReplySpec<readonly CookieChange[]> => ({
  kind: 'cookies',
  status,
  description,
})

/** Declares JSON of one value, with cookies that are set or cleared. The answer has no entity tag. */
export const jsonWithCookies = <A>(
  status: number,
  codec: t.Type<A, unknown>,
  example: unknown,
  description = 'OK, cookies changed',
): ReplySpec<WithCookies<A>> => ({ kind: 'json', status, codec, example, description, setsCookies: true })

/** Reports whether an answer signs in or out. */
export const changesCookies = ({ kind, setsCookies }: Pick<ReplySpec<unknown>, 'kind' | 'setsCookies'>): boolean =>
  kind === 'cookies' || setsCookies === true

/**
 * Declares a feed: `text/event-stream`, or a JSON array for a client that requests `application/json`. The feed starts
 * after the id in the header `Last-Event-ID`, or else in the query parameter `after`, which the route declares. The
 * example is one element.
 */
export const feed = <A>(codec: t.Type<A, unknown>, example: unknown, description = 'OK'): ReplySpec<Feed<A>> => ({
  kind: 'feed',
  status: 200,
  codec,
  example: [example],
  description,
})

/** Declares text of the given type. */
export const text = (contentType: string, example: string, description = 'OK'): ReplySpec<string> => ({
  kind: 'text',
  status: 200,
  contentType,
  example,
  description,
})

/** Declares the same reply, or a redirect: `reply` may return a `Redirect` with one of these statuses. */
export const orRedirect = <R>(
  reply: ReplySpec<R>,
  ...redirects: readonly RedirectStatus[]
): ReplySpec<R | Redirect> => ({
  ...reply,
  redirects,
})

/** Declares the same JSON reply, or YAML of the same value: `reply` may return a `YamlAnswer`. */
export const orYaml = <R>(reply: ReplySpec<R>): ReplySpec<R | YamlAnswer> => ({ ...reply, isYamlToo: true })

/** Declares the same JSON reply, whose text may be that of another system: `reply` may return a `JsonText`. */
export const orJsonText = <R>(reply: ReplySpec<R>): ReplySpec<R | JsonText> => ({ ...reply, isJsonTextToo: true })

/** Declares the same reply, or 204 without a body: `reply` may return a `NoContent`. */
export const orNoContent = <R>(reply: ReplySpec<R>): ReplySpec<R | NoContent> => ({ ...reply, isEmptyToo: true })

/**
 * Declares the same JSON reply, with a text of it in a header. It has no entity tag: a proxy that asks on behalf of a
 * request passes that request's `If-None-Match`, and does not understand 304. The text must be printable ASCII.
 */
export const withHeader = <R>(reply: ReplySpec<R>, name: string, textOf: (value: R) => string): ReplySpec<R> => ({
  ...reply,
  header: { name, textOf },
})

/**
 * Declares the same JSON reply, sent compressed to clients that accept it (from 1 KiB on). Only for answers without a
 * secret: the length of a compressed answer shows that a text that others may choose occurs in the secret (BREACH).
 * Documents that others wrote, such as objects of clusters and values of charts, may hold secrets.
 */
export const packed = <R>(reply: ReplySpec<R>): ReplySpec<R> => ({ ...reply, isPacked: true })

/** Declares the same reply, or the same status without a body: `reply` may return an `EmptyAnswer`. */
export const orEmpty = <R>(reply: ReplySpec<R>): ReplySpec<R | EmptyAnswer> => ({ ...reply, isBodilessToo: true })

/** Returns the value of `Content-Disposition` (RFC 6266) of a download with this file name. */
export const attachment = (name: string): string =>
  `attachment; filename="${name.replace(/[^A-Za-z0-9._-]/g, '_')}"; ` +
  `filename*=UTF-8''${encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)}`
