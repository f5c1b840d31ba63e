import type { Either } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { Gate } from '../../core/kernel/deployment.ts'
import type { Exchange, UpgradeExchange } from '../../core/kernel/exchange.ts'
import type { Failure, FailureType } from '../../core/kernel/failure.ts'
import type { PageRequest } from '../../core/kernel/page.ts'
import type { Call, SignedInCall, RequiredScope } from '../../core/kernel/principal.ts'
import type { Access, GrantedAccess, PublicAccess } from './access.ts'
import type { ReplySpec } from './reply.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A JSON request body. */
export interface BodySpec<B> {
  readonly codec: t.Type<B, unknown, unknown>
  readonly example: unknown
  /** Bytes; 1 MiB unless told. */
  readonly limitBytes?: number
  /** An absent body decodes as this. */
  readonly whenAbsent?: unknown
  /** For a GET: each top-level key may stand in the query string instead, and wins there. */
  readonly orQuery?: boolean
  /** Status of a body that does not decode: 422 unless the specification says 400. */
  readonly refusedAs?: 400 | 422
  /** Status of a body that is no JSON: 400, or 422 where the specification names that alone. */
  readonly malformedAs?: 400 | 422
  /** `multipart/form-data` is taken too: each field is a text, each file its bytes in base64. */
  readonly orForm?: boolean
}

/** A request body: its codec, an example that decodes, and what differs from the defaults. */
export const body = <B>(
  codec: t.Type<B, unknown, unknown>,
  example: unknown,
  options: Omit<BodySpec<B>, 'codec' | 'example'> = {},
): BodySpec<B> => ({ codec, example, ...options })

/** Everything about one route, declared once: binding, access, decoding, documentation, client and tests come from it. */
export interface Route<P = unknown, Q = unknown, B = unknown, R = unknown, F extends string = string, X extends Access = Access> {
  /** `part.verbPhrase`, unique; the operationId of the OpenAPI document. */
  readonly id: string
  readonly method: Method
  /** Below the listener's root, `{name}` for parameters: `/authz/roles/{id}`. Ends in `/*` where the rest, with its slashes, is the parameter `path`. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  /** A tag group of the specification. */
  readonly tag: string
  readonly access: X
  /** What an access token must grant; required unless the route is public or wants a password. */
  readonly scope?: RequiredScope
  readonly params?: t.Type<P, unknown, unknown>
  readonly query?: t.Type<Q, unknown, unknown>
  readonly body?: BodySpec<B>
  readonly ok: ReplySpec<R>
  /** The failures that the handler may answer. */
  readonly failures: readonly FailureType<F>[]
  /** A status for a failure where the specification wants another than its kind's. */
  readonly statusOf?: Readonly<Partial<Record<F, number>>>
  /** An id in the path that cannot exist: 404, or 400 where the specification lists it. */
  readonly badPathAs?: 400 | 404
  readonly gate?: Gate
  /** `If-Match` is honoured; implied by the `versioned` reply. Elsewhere `If-Match` is refused, since nothing would guard. */
  readonly honoursIfMatch?: boolean
  /** What authentication brings along in its own query, for a route that would need a second one for it. */
  readonly loads?: 'profile'
  /** Not allowed while a site admin impersonates (credentials would be planted). */
  readonly refusesSudo?: boolean
  /**
   * A GET whose answer holds an access token that is made for it, unless its query says `token=none`, which is no credential
   * there. Making one is a change: a session cookie needs the proof that a change needs, nothing is answered from a cache,
   * and HEAD makes none.
   */
  readonly makesToken?: boolean
  /** For access `signed-in`: knows how to serve a token for one organization or for public objects, which others refuse. */
  readonly servesConfined?: boolean
  /** Open to a user whose password must be changed first; other routes refuse, and public ones take such a user for nobody. */
  readonly beforePasswordChange?: boolean
  /** Shape of error bodies. */
  readonly dialect?: 'platform' | 'marketplace' | 'metering'
}

type CallOf<X extends Access, A> = X extends PublicAccess ? Call<A> : SignedInCall<A>
type GrantOf<X extends Access> = X extends GrantedAccess ? AccessGrant : undefined

/** What a handler is given: decoded input, the call, and what authorization already found. `A`: see `Call`. */
export interface RouteInput<P, Q, B, X extends Access, A = unknown> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly call: CallOf<X, A>
  readonly grant: GrantOf<X>
  /** From `page` and `limit`; the defaults where the route is not paged. */
  readonly page: PageRequest
  /** From `If-Match`: the row version that the change is meant for. */
  readonly expectedVersion: number | undefined
  /** Of a route with `makesToken`: whether this request is to make one. */
  readonly makesToken?: boolean
}

/** Declares a route: keeps its types for the handler and the client. Nothing is registered. */
export const defineRoute = <P = unknown, Q = unknown, B = undefined, R = void, F extends string = never, X extends Access = Access>(
  route: Route<P, Q, B, R, F, X>,
): Route<P, Q, B, R, F, X> => route

/** A declared route with its handler, types erased: what the binder takes. */
export interface BoundRoute {
  readonly kind: 'json'
  readonly route: Route
  readonly handler: (input: RouteInput<unknown, unknown, unknown, Access>) => Promise<Either<Failure, unknown>>
  /** Makes what the route answers with from what the handler gives; absent where that is the same. */
  readonly reply?: (result: unknown, input: RouteInput<unknown, unknown, unknown, Access>) => unknown
}

/**
 * Ties a handler to its declaration. A failure that the route does not declare is a compile error. A change that answers
 * with a body is tied by `handleChange`.
 */
export const handle = <P, Q, B, R, F extends string, X extends Access>(
  route: Route<P, Q, B, R, F, X>,
  handler: (input: RouteInput<P, Q, B, X>) => Promise<Either<Failure<NoInfer<F>>, NoInfer<R>>>,
): BoundRoute => ({
  kind: 'json',
  route: route as unknown as Route,
  handler: handler as unknown as BoundRoute['handler'],
})

/**
 * Ties a change that answers with a body to its declaration. The handler gives what its transaction gave, and `reply` makes
 * the body from that alone: under an Idempotency-Key it runs inside the transaction, which stores the answer, so that a retry
 * gets it whatever dies after the commit. The first parameter of `reply` has a written type.
 */
export const handleChange = <P, Q, B, R, F extends string, X extends Access, A>(
  route: Route<P, Q, B, R, F, X>,
  reply: (result: A, input: RouteInput<P, Q, B, X>) => NoInfer<R> | Promise<NoInfer<R>>,
  handler: (input: RouteInput<P, Q, B, X, A>) => Promise<Either<Failure<NoInfer<F>>, NoInfer<A>>>,
): BoundRoute => ({
  kind: 'json',
  route: route as unknown as Route,
  handler: handler as unknown as BoundRoute['handler'],
  reply: reply as unknown as NonNullable<BoundRoute['reply']>,
})

/** A route whose bodies are streamed and never parsed: every method of one path prefix. */
export interface StreamRoute<F extends string = string> {
  readonly id: string
  readonly methods: readonly Method[]
  /** Ends in `/*`: the rest of the path belongs to the exchange. */
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tag: string
  readonly access: GrantedAccess
  /** Scope category; reading methods need read, the others write, an upgrade needs write. */
  readonly scopeCategory: RequiredScope['category']
  /** Open to a token that is confined to a cluster, which is refused everywhere else. */
  readonly servesClusterTokens?: boolean
  readonly failures: readonly FailureType<F>[]
}

/** The operationId of one method of a stream route. */
export const streamOperationId = ({ id }: StreamRoute, method: string): string => `${id}.${method.toLowerCase()}`

/** What a stream handler is given: the exchange itself, and what authorization already found. */
export interface StreamInput<E> {
  readonly params: Readonly<Record<string, string>>
  readonly exchange: E
  readonly call: SignedInCall
  readonly grant: AccessGrant
}

/** A stream route with its handlers. Left is answered by the binder; Right says that the exchange was answered. */
export interface BoundStreamRoute {
  readonly kind: 'stream'
  readonly route: StreamRoute
  readonly handler: (input: StreamInput<Exchange>) => Promise<Either<Failure, void>>
  readonly upgrade?: (input: StreamInput<UpgradeExchange>) => Promise<Either<Failure, void>>
}

/** Ties handlers to a stream route. A failure that the route does not declare is a compile error. */
export const handleStream = <F extends string>(
  route: StreamRoute<F>,
  handlers: {
    readonly handler: (input: StreamInput<Exchange>) => Promise<Either<Failure<NoInfer<F>>, void>>
    readonly upgrade?: (input: StreamInput<UpgradeExchange>) => Promise<Either<Failure<NoInfer<F>>, void>>
  },
): BoundStreamRoute => ({ kind: 'stream', route: route as unknown as StreamRoute, ...handlers })

export type AnyBoundRoute = BoundRoute | BoundStreamRoute
