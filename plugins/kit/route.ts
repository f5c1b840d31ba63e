import type { Either } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { Gate } from '../../core/kernel/deployment.ts'
import type { Exchange, UpgradeExchange } from '../../core/kernel/exchange.ts'
import type { Failure, FailureType } from '../../core/kernel/failure.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { PageRequest } from '../../core/kernel/page.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import type { Call, RequiredScope, ScopeCategory, SignedInCall } from '../../core/kernel/principal.ts'
import type { Access, GrantedAccess, PublicAccess } from './access.ts'
import { read, write } from './access.ts'
import type { ReplySpec } from './reply.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A JSON request body. */
export interface BodySpec<B> {
  readonly codec: t.Type<B, unknown, unknown>
  readonly example: unknown
  /** The limit in bytes; 1 MiB by default. */
  readonly limitBytes?: number
  /** The value that an absent body decodes as. */
  readonly whenAbsent?: unknown
  /** For a GET: each top-level key may also be in the query string, which takes precedence. */
  readonly orQuery?: boolean
  /** The status of a body that does not decode: 422, or 400 where the specification requires it. */
  readonly refusedAs?: 400 | 422
  /** The status of a body that is not JSON: 400, or 422 where the specification names only that. */
  readonly malformedAs?: 400 | 422
  /** Accepts `multipart/form-data` too: each field is a text, each file its bytes in base64. */
  readonly orForm?: boolean
  /** The fields of such a form that hold JSON; the others are texts. */
  readonly jsonFields?: readonly string[]
  /** Accepts `application/x-www-form-urlencoded` too: each field is a text. */
  readonly orUrlEncoded?: boolean
  /** Accepts JSON that is sent as `text/plain` too, as the topics of cloud A send it. */
  readonly orPlainText?: boolean
}

/** Declares a request body: its codec, an example that decodes, and the options that differ from the defaults. */
export const body = <B>(
  codec: t.Type<B, unknown, unknown>,
  example: unknown,
  options: Omit<BodySpec<B>, 'codec' | 'example'> = {},
): BodySpec<B> => ({ codec, example, ...options })

/**
 * The single declaration of a route. Binding, access, decoding, documentation, client and tests are derived from it.
 */
export interface Route<
  P = unknown,
  Q = unknown,
  B = unknown,
  R = unknown,
  F extends string = string,
  X extends Access = Access,
  M extends Method = Method,
> {
  /** `part.verbPhrase`, unique. It is the operationId of the OpenAPI document. */
  readonly id: string
  readonly method: M
  /**
   * Relative to the listener's root, with `{name}` for parameters: `/authz/roles/{id}`. A trailing `/*` binds the
   * remainder, with its slashes, to the parameter `path`.
   */
  readonly path: string
  /**
   * The remainder below `/*` may be anything, also empty or with escapes that are refused elsewhere. The route does not
   * receive it.
   */
  readonly ignoresRest?: boolean
  readonly summary: string
  readonly description?: string
  /** A tag group of the specification: a name in `tags` of a part (composition/parts). */
  readonly tag: string
  readonly access: X
  /** The scope that an access token must have. Required unless the route is public or requires a password. */
  readonly scope?: RequiredScope
  readonly params?: t.Type<P, unknown, unknown>
  readonly query?: t.Type<Q, unknown, unknown>
  readonly body?: BodySpec<B>
  readonly ok: ReplySpec<R>
  /** The name of a cookie that the handler receives, as `CookieChange` names it with `hostPrefix`. */
  readonly readsCookie?: string
  /** The failures that the use case may return. */
  readonly failures: readonly FailureType<F>[]
  /** The status of a failure where the specification requires another one than that of its kind. */
  readonly statusOf?: Readonly<Partial<Record<F, number>>>
  /** The status for an id in the path that cannot exist: 404, or 400 where the specification lists it. */
  readonly badPathAs?: 400 | 404
  readonly gate?: Gate
  /**
   * The route honours `If-Match`. Implied by the `versioned` reply. Other routes refuse `If-Match`, since nothing would
   * guard the change.
   */
  readonly honoursIfMatch?: boolean
  /**
   * Additional data that authentication loads in its own query, for a route that would otherwise need a second query.
   */
  readonly loads?: 'profile'
  /** Not allowed while a site admin impersonates, since the admin could plant credentials. */
  readonly refusesSudo?: boolean
  /**
   * A GET whose answer contains an access token that is created for it, unless its query has `token=none`, which is not
   * a credential there. Creating the token is a change: a session cookie needs the same proof as for a change, no
   * answer comes from a cache, and HEAD creates no token.
   */
  readonly makesToken?: boolean
  /**
   * For access `signed-in`: the route serves tokens for one organization or for public objects. Other routes refuse
   * them.
   */
  readonly servesConfined?: boolean
  /**
   * Open to a user whose password must be changed first. Other routes refuse such a user; public ones treat the user as
   * anonymous.
   */
  readonly beforePasswordChange?: boolean
  /** The form of error bodies. */
  readonly dialect?: 'platform' | 'marketplace' | 'metering' | 'scim'
}

/** The call that a use case receives. `A`: see `Call`. */
export type CallOf<X extends Access, A> = X extends PublicAccess ? Call<A> : SignedInCall<A>
type GrantOf<X extends Access> = X extends GrantedAccess ? AccessGrant : undefined

/** A request as a route receives it: decoded input, the call, and the result of authorization. `A`: see `Call`. */
export interface RouteInput<P, Q, B, X extends Access, A = unknown> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly call: CallOf<X, A>
  readonly grant: GrantOf<X>
  /** From `page` and `limit`; the defaults when the route is not paged. */
  readonly page: PageRequest
  /** From `If-Match`: the row version that the change applies to. */
  readonly expectedVersion: number | undefined
  /** For a route with `readsCookie`: the value, if the request has it. */
  readonly cookie?: Secret
  /** For a route with `makesToken`: whether this request creates a token. */
  readonly makesToken?: boolean
}

/** Declares a route. It keeps its types for `handle` and the client; nothing is registered. */
export const defineRoute = <
  P = unknown,
  Q = unknown,
  B = undefined,
  R = void,
  F extends string = never,
  X extends Access = Access,
  M extends Method = Method,
>(
  route: Route<P, Q, B, R, F, X, M>,
): Route<P, Q, B, R, F, X, M> => route

/** What the head of a request tells of its sender. */
export interface Sender extends Pick<Call, 'sourceIp'> {
  /** The header `Authorization`, as sent; undefined if there is none. */
  readonly authorization: string | undefined
}

type Admitted<F extends string> = Either<Failure<F>, boolean>

/**
 * Proves the sender of a request that carries no credential of this service. It comes first: a sender that is not
 * admitted learns nothing about the form of a request.
 */
export interface Admission<F extends string = string> {
  /**
   * Left: refused. False: only `byBody` can admit the sender. `query` returns the values of a parameter, each as sent.
   */
  readonly bySender: (sender: Sender, query: (name: string) => readonly string[]) => Admitted<F> | Promise<Admitted<F>>
  /** Gets the decoded body of a sender that is not admitted yet; undefined if it does not decode. */
  readonly byBody?: (body: unknown, call: Pick<Call, 'sourceIp'>) => Either<Failure<F>, void>
}

/** A declared route with its use case, with types erased, as the binder takes it. */
export interface BoundRoute {
  readonly kind: 'json'
  readonly route: Route
  readonly admission?: Admission
  readonly handler: (input: RouteInput<unknown, unknown, unknown, Access>) => Promise<Either<Failure, unknown>>
  /** Returns the route's answer from the handler's result, or from that of its transaction under an Idempotency-Key. */
  readonly reply: (result: unknown, input: RouteInput<unknown, unknown, unknown, Access>) => unknown
}

/** A route that streams its bodies without parsing them: every method of one path prefix. */
export interface StreamRoute<F extends string = string> {
  readonly id: string
  readonly methods: readonly Method[]
  /** Ends in `/*`: the exchange handles the remainder of the path. */
  readonly path: string
  /** Describes the parameters before the wildcard. They are checked where the route finds its object. */
  readonly params?: t.Any
  readonly summary: string
  readonly description?: string
  readonly tag: string
  readonly access: GrantedAccess
  /** The scope category. Reading methods require read, other methods write, and an upgrade requires write. */
  readonly scopeCategory: RequiredScope['category']
  /** Open to a token that is confined to a cluster. Every other route refuses such a token. */
  readonly servesClusterTokens?: boolean
  /**
   * Set if the receiver checks the path itself: it gets the path exactly as it was sent, and no rule of this service
   * for paths applies to it. Reports whether the query, and the headers that this service does not need, belong to the
   * receiver of this path. The path begins below the wildcard. No credential is read from such a query.
   */
  readonly ownsQuery?: (path: string) => boolean
  readonly failures: readonly FailureType<F>[]
}

/** Returns the operationId of one method of a stream route. */
export const streamOperationId = ({ id }: StreamRoute, method: string): string => `${id}.${method.toLowerCase()}`

/** The input of a stream handler: the exchange and the result of authorization. */
export interface StreamInput<E> {
  readonly params: Readonly<Record<string, string>>
  readonly exchange: E
  readonly call: SignedInCall
  readonly grant: AccessGrant
}

/** A stream route with its handlers. The binder answers a Left; a Right means that the exchange is answered. */
export interface BoundStreamRoute {
  readonly kind: 'stream'
  readonly route: StreamRoute
  readonly handler: (input: StreamInput<Exchange>) => Promise<Either<Failure, void>>
  readonly upgrade?: (input: StreamInput<UpgradeExchange>) => Promise<Either<Failure, void>>
}

/** Binds handlers to a stream route. A failure that the route does not declare is a compile error. */
export const handleStream = <F extends string>(
  route: StreamRoute<F>,
  handlers: {
    readonly handler: (input: StreamInput<Exchange>) => Promise<Either<Failure<NoInfer<F>>, void>>
    readonly upgrade?: (input: StreamInput<UpgradeExchange>) => Promise<Either<Failure<NoInfer<F>>, void>>
  },
): BoundStreamRoute => ({ kind: 'stream', route: route as StreamRoute, ...handlers })

export type AnyBoundRoute = BoundRoute | BoundStreamRoute

/** What the routes of a group have in common. A route may replace each, except that failures add up. */
interface SharedRoute<P, Q, F extends string, X extends Access> {
  readonly tag: string
  readonly access?: X
  /** The category of the token scope: level read for GET, write for the other methods. */
  readonly scopeCategory?: ScopeCategory
  /** The token scope of all routes, where the method does not decide on the level. */
  readonly scope?: RequiredScope
  readonly params?: t.Type<P, unknown, unknown>
  readonly query?: t.Type<Q, unknown, unknown>
  readonly failures?: readonly FailureType<F>[]
  readonly statusOf?: Readonly<Record<string, number>>
  readonly servesConfined?: boolean
}

type OwnRoute<P, Q, B, R, F extends string, X extends Access, M extends Method> = Omit<
  Route<P, Q, B, R, F, X, M>,
  'tag' | 'access' | 'failures'
> & {
  readonly tag?: string
  readonly failures?: readonly FailureType<F>[]
}
type OwnAccess<X extends Access, SX extends Access> = [SX] extends [never]
  ? { readonly access: X }
  : { readonly access?: X }

/**
 * Returns a `defineRoute` for routes that have declarations in common.
 * @example const route = routesOf({ tag: 'Authorization', scopeCategory: 'authz', query: InOrganization })
 */
export const routesOf =
  <SP = unknown, SQ = unknown, SF extends string = never, SX extends Access = never>(
    shared: SharedRoute<SP, SQ, SF, SX>,
  ) =>
  <P = SP, Q = SQ, B = undefined, R = void, F extends string = never, X extends Access = SX, M extends Method = Method>(
    own: OwnRoute<P, Q, B, R, F, X, M> & OwnAccess<X, SX>,
  ): Route<P, Q, B, R, F | SF, X, M> => {
    const { scopeCategory, failures = [], ...rest } = shared
    const level = own.method === 'GET' ? read : write
    return {
      ...definedFields({ scope: scopeCategory === undefined ? undefined : level(scopeCategory) }),
      ...rest,
      ...own,
      failures: [...failures, ...(own.failures ?? [])],
    } as Route<P, Q, B, R, F | SF, X, M>
  }

/** The limit in bytes of a request with a picture of 3 MiB in base64 and the JSON around it. */
export const pictureBodyBytes = 4_300_000

/** A PNG of one pixel, in base64. */
export const pictureExample =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** The URL of a picture, which contains the digest of its bytes. */
export const pictureUrlExample = 'https://platform.example/api/v1/avatars/xBTNDiBN6XT3N1PH4o12OOezaRu4saK6trJbt_7Xznc'
