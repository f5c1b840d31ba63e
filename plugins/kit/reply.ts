import type * as t from 'io-ts'
import type { Page } from '../../core/kernel/page.ts'

/** A cookie to set; `value: undefined` clears it. */
export interface CookieChange {
  readonly name: string
  readonly value: string | undefined
  readonly httpOnly: boolean
  readonly path: string
  readonly maxAgeSeconds?: number
  /** Send with the `__Host-` prefix when the service is reached by https. */
  readonly hostPrefix?: boolean
}

/** A value with its row version, from which a strong ETag is made. */
export interface Versioned<A> {
  readonly value: A
  readonly version: number
}

/** Another place to ask, answered instead of the declared value. The path stands below the listener's root, percent-encoded. */
export class Redirect {
  readonly status: RedirectStatus
  readonly path: string
  constructor(status: RedirectStatus, path: string) {
    this.status = status
    this.path = path
  }
}
/** YAML, answered instead of the declared JSON to a caller who asked for it (`format=yaml`). */
export class YamlAnswer {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** 204, answered instead of the declared value. */
export class NoContent {
  readonly status = 204
}

/** 302: look there; 307: send the same request there. */
export type RedirectStatus = 302 | 307

/** An object around the items of a list: `{ok: true, data: [...]}`. */
export interface ListEnvelope {
  /** Of the whole body. */
  readonly codec: t.Any
  /** The key of the items. */
  readonly key: string
  /** What stands beside them. */
  readonly constants: Readonly<Record<string, boolean | string>>
}

/** Bytes with their type, as an image or a document. */
export interface Binary {
  readonly contentType: string
  readonly bytes: Uint8Array
  /** Further headers of this answer. */
  readonly headers?: Readonly<Record<string, string>>
}

/** One thing of a feed; ids grow. */
export interface FeedItem<A> {
  readonly id: number
  readonly value: A
}

/** What grows: sent as server-sent events while it does, or as an array of what there is. */
export interface Feed<A> {
  /** In order, those after the id: first what is there, then what comes, until nothing more can come or the signal aborts. */
  follow(afterId: number, signal: AbortSignal): AsyncIterable<FeedItem<A>>
  /** What is there after the id, in order, as far as one answer holds it. */
  now(afterId: number): Promise<readonly FeedItem<A>[]>
}

/** What a route answers when all went well. `__result` is what its handler returns. */
export interface ReplySpec<Result> {
  readonly kind: 'json' | 'versioned' | 'list' | 'empty' | 'cookies' | 'text' | 'binary' | 'feed'
  readonly status: number
  readonly description: string
  readonly codec?: t.Any
  readonly contentType?: string
  /** For `binary`: every type that the handler may answer. */
  readonly contentTypes?: readonly string[]
  /** For `list`: the object that the items stand in, where they are not the whole body. */
  readonly envelope?: ListEnvelope
  /** An answer body that decodes with the codec; shown in the documentation. */
  readonly example?: unknown
  /** Statuses of the redirects that the handler may answer instead. */
  readonly redirects?: readonly RedirectStatus[]
  /** The handler may answer a `YamlAnswer` instead. */
  readonly isYamlToo?: boolean
  /** The handler may answer a `NoContent` instead. */
  readonly isEmptyToo?: boolean
  readonly __result?: Result
}

/** JSON of one value. */
export const json = <A>(status: number, codec: t.Type<A, unknown>, example: unknown, description = 'OK'): ReplySpec<A> => ({
  kind: 'json',
  status,
  codec,
  example,
  description,
})

/** JSON of one value that carries a row version: answers with ETag, and If-Match guards changes. */
export const versioned = <A>(
  status: number,
  codec: t.Type<A, unknown>,
  example: unknown,
  description = 'OK',
): ReplySpec<Versioned<A>> => ({ kind: 'versioned', status, codec, example, description })

/** A JSON array, paged, with `Link` and `X-Total-Count`. The example is one element. */
export const list = <A>(codec: t.Type<A, unknown>, example: unknown, description = 'OK'): ReplySpec<Page<A>> => ({
  kind: 'list',
  status: 200,
  codec,
  example: [example],
  description,
})

/** As `list`, its items within an object. The example is one element. */
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

/** Bytes of one of these types. */
export const binary = (contentTypes: readonly [string, ...string[]], description = 'OK'): ReplySpec<Binary> => ({
  kind: 'binary',
  status: 200,
  contentTypes,
  description,
})

/** No body. */
export const empty = (status: number, description = 'Done, no body'): ReplySpec<void> => ({ kind: 'empty', status, description })

/** No body, cookies set or cleared. */
export const cookies = (status: number, description = 'Done, cookies changed'): ReplySpec<readonly CookieChange[]> => ({
  kind: 'cookies',
  status,
  description,
})

/**
 * A feed: `text/event-stream`, or a JSON array for who asks for `application/json`. Where to begin is told by the header
 * `Last-Event-ID`, else by the query parameter `after`, which the route declares. The example is one element.
 */
export const feed = <A>(codec: t.Type<A, unknown>, example: unknown, description = 'OK'): ReplySpec<Feed<A>> => ({
  kind: 'feed',
  status: 200,
  codec,
  example: [example],
  description,
})

/** Text of the given type. */
export const text = (contentType: string, example: string, description = 'OK'): ReplySpec<string> => ({
  kind: 'text',
  status: 200,
  contentType,
  example,
  description,
})

/** The same reply, or a redirect: the handler may answer a `Redirect` of one of these statuses. */
export const orRedirect = <R>(reply: ReplySpec<R>, ...redirects: readonly RedirectStatus[]): ReplySpec<R | Redirect> => ({
  ...reply,
  redirects,
})

/** The same JSON reply, or YAML of the same value: the handler may answer a `YamlAnswer`. */
export const orYaml = <R>(reply: ReplySpec<R>): ReplySpec<R | YamlAnswer> => ({ ...reply, isYamlToo: true })

/** The same reply, or 204 without a body: the handler may answer a `NoContent`. */
export const orNoContent = <R>(reply: ReplySpec<R>): ReplySpec<R | NoContent> => ({ ...reply, isEmptyToo: true })
