import { isLeft } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { HeaderBag } from '../../core/kernel/exchange.ts'
import { definedFields, fromWireJson, toWireJson } from '../../core/kernel/json.ts'
import type { PageRequest } from '../../core/kernel/page.ts'
import type { Access } from './access.ts'
import type { CookieChange, Feed, RedirectStatus } from './reply.ts'
import { described } from './codecs.ts'
import { NoContent, Redirect, YamlAnswer } from './reply.ts'
import type { BodySpec, Route } from './route.ts'

/**
 * A request, independent of any HTTP library. `path` includes the query string and is relative to the address of the
 * server.
 */
export interface SendRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** A complete answer. Header names are in lower case. */
export interface SendReply {
  readonly status: number
  readonly headers: HeaderBag
  readonly body: string
  /** The raw bytes, when the transport keeps them. Required for answers that are not text. */
  readonly bytes?: Uint8Array
}

/** Sends a request to the service. Rejects when there is no answer; an answer of any status resolves. */
export type Send = (request: SendRequest) => Promise<SendReply>

/** The body of every refusal. */
export const ErrorBody = t.intersection(
  [
    t.type(
      {
        message: described(t.string, 'What is wrong, for people.'),
      },
      'ErrorMessage',
    ),
    t.partial(
      {
        url: described(
          t.string,
          'The address of the documentation of the operation, or of the whole interface if none was asked for.',
        ),
        code: described(
          t.string,
          'The kind of the failure, such as RoleMissing, for programs; absent if the failure has none.',
        ),
        requestId: described(t.string, 'The id of the request, as in its header `X-Request-Id` and in the log.'),
        traceId: described(t.string, 'The id of the trace of the request, where the service records traces.'),
        errors: described(
          t.array(t.string),
          'Each single problem, such as a field and what is wrong with it; absent if `message` says all.',
        ),
      },
      'ErrorDetails',
    ),
  ],
  'Error',
)
export type ErrorBody = t.TypeOf<typeof ErrorBody>

/** The result of a call. `value` is present exactly when the answer is the declared success. */
export type ClientReply<R> =
  | {
      readonly ok: true
      readonly status: number
      readonly headers: HeaderBag
      readonly value: R
      readonly text: string
    }
  | {
      readonly ok: false
      readonly status: number
      readonly headers: HeaderBag
      readonly error: ErrorBody
      readonly text: string
    }

/** The answer of the service does not match the declaration of the route. */
export class UndeclaredAnswer extends Error {}

const refuse = (request: SendRequest, reply: SendReply, why: string): never => {
  const where = request.path.split('?')[0] ?? ''
  throw new UndeclaredAnswer(
    `${request.method} ${where} answered ${reply.status}: ${why}; the body begins ${reply.body.slice(0, 200)}`,
  )
}

const parse = (request: SendRequest, reply: SendReply): unknown => {
  try {
    return fromWireJson(reply.body)
  } catch {
    return refuse(request, reply, 'the body is not JSON')
  }
}

const decode = (codec: t.Any | undefined, request: SendRequest, reply: SendReply): unknown => {
  if (codec === undefined) return refuse(request, reply, 'the route declares no body')
  const decoded = codec.decode(parse(request, reply)) as t.Validation<unknown>
  if (!isLeft(decoded)) return decoded.right
  const fields = decoded.left
    .slice(0, 5)
    .map((e) => e.context.map((c) => c.key).join('.') + ' is not ' + (e.context.at(-1)?.type.name ?? '?'))
  return refuse(request, reply, `the body does not decode: ${fields.join('; ')}`)
}

const headerText = (headers: HeaderBag, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.[0]
}

const cookiesOf = (headers: HeaderBag): readonly CookieChange[] => {
  const lines = headers['set-cookie'] ?? []
  return (typeof lines === 'string' ? [lines] : lines).map((line) => {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    const has = (word: string) => attributes.some((a) => a.toLowerCase() === word)
    const maxAge = attributes.find((a) => /^max-age=/i.test(a))?.slice(8)
    const path = attributes.find((a) => /^path=/i.test(a))?.slice(5)
    return {
      name,
      value: value === '' || maxAge === '0' ? undefined : value,
      httpOnly: has('httponly'),
      path: path ?? '/',
      ...definedFields({ maxAgeSeconds: maxAge === undefined ? undefined : Number(maxAge) }),
    }
  })
}

const readValue = (route: Route, request: SendRequest, reply: SendReply): unknown => {
  if (route.ok.isYamlToo === true && /^application\/yaml\b/.test(headerText(reply.headers, 'content-type') ?? ''))
    return new YamlAnswer(reply.body)
  switch (route.ok.kind) {
    case 'json': {
      const value = decode(route.ok.codec, request, reply)
      return route.ok.setsCookies === true ? { value, cookies: cookiesOf(reply.headers) } : value
    }
    case 'versioned': {
      const version = /^"(\d+)-/.exec(headerText(reply.headers, 'etag') ?? '')?.[1]
      if (version === undefined) return refuse(request, reply, 'the response lacks an ETag with its version')
      return { value: decode(route.ok.codec, request, reply), version: Number(version) }
    }
    case 'list': {
      const total = Number(headerText(reply.headers, 'x-total-count') ?? 'absent')
      if (!Number.isSafeInteger(total)) return refuse(request, reply, 'the list lacks X-Total-Count')
      const { envelope, codec } = route.ok
      const items =
        envelope === undefined
          ? decode(t.array((codec ?? t.never) as t.Mixed), request, reply)
          : (decode(envelope.codec, request, reply) as Readonly<Record<string, unknown>>)[envelope.key]
      const capped = headerText(reply.headers, 'x-total-count-capped') === 'true'
      return { items, total, ...(capped ? { totalIsCapped: true } : {}) }
    }
    case 'feed':
      return decode(t.array((route.ok.codec ?? t.never) as t.Mixed), request, reply)
    case 'text':
    case 'streamed':
      return reply.body
    case 'binary':
      return {
        contentType: headerText(reply.headers, 'content-type') ?? '',
        bytes: reply.bytes ?? refuse(request, reply, 'its bytes were not stored'),
      }
    case 'cookies':
      return cookiesOf(reply.headers)
    case 'empty':
      return reply.body === '' ? undefined : refuse(request, reply, 'the route declares no body')
  }
}

/** Reads an answer as the route declares it. Throws UndeclaredAnswer when the answer does not match. */
const readReply = <R>(route: Route, request: SendRequest, reply: SendReply): ClientReply<R> => {
  const { status, headers, body: text } = reply
  if (status === route.ok.status)
    return { ok: true, status, headers, value: readValue(route, request, reply) as R, text }
  if (status === 204 && route.ok.isEmptyToo === true)
    return { ok: true, status, headers, value: new NoContent() as R, text }
  if (route.ok.redirects?.includes(status as RedirectStatus)) {
    const value = new Redirect(status as RedirectStatus, headerText(headers, 'location') ?? '')
    return { ok: true, status, headers, value: value as R, text }
  }
  if (status < 400) return refuse(request, reply, `the route declares ${route.ok.status}`)
  const error = ErrorBody.decode(parse(request, reply))
  if (isLeft(error)) return refuse(request, reply, 'the error body lacks a string message')
  return { ok: false, status, headers, error: error.right, text }
}

type Unbranded<A> = A extends number ? number : string

/** Makes keys whose value may be undefined optional, and ids plain numbers or texts, at any depth. */
export type Loose<A> = A extends { readonly __brand: string }
  ? Unbranded<A>
  : A extends string | number | bigint | boolean | null | undefined | Date | Uint8Array
    ? A
    : A extends readonly (infer Item)[]
      ? readonly Loose<Item>[]
      : A extends object
        ? { [K in keyof A as undefined extends A[K] ? never : K]: Loose<A[K]> } & {
            [K in keyof A as undefined extends A[K] ? K : never]?: Loose<A[K]>
          }
        : A

type Asked<K extends string, A> = unknown extends A
  ? unknown
  : [A] extends [undefined]
    ? unknown
    : Record<never, never> extends Loose<A>
      ? { readonly [key in K]?: Loose<A> }
      : { readonly [key in K]: Loose<A> }

/** The input of a call, as the route declares it. */
export type ClientInput<P, Q, B> = Asked<'params', P> &
  Asked<'query', Q> &
  Asked<'body', B> & {
    /** Extra headers, including the credential. */
    readonly headers?: Readonly<Record<string, string>>
    /** The page of a list. */
    readonly page?: Partial<PageRequest>
    /** The row version that the change applies to, sent as `If-Match`. */
    readonly ifVersion?: number
    /** Query parameters that every route accepts (`sudo`, `token`). */
    readonly extraQuery?: Readonly<Record<string, string>>
  }

/** The value that a call returns. For a feed it is the array of items that exist now. */
export type Received<R> = R extends Feed<infer A> ? readonly A[] : R

type InputArgument<I> = Record<never, never> extends I ? readonly [input?: I] : readonly [input: I]

export interface Client {
  /**
   * Calls a declared route. Every status resolves to a value. Rejects when the answer does not decode as the route
   * declares it.
   */
  call<P, Q, B, R, F extends string, X extends Access>(
    route: Route<P, Q, B, R, F, X>,
    ...input: InputArgument<ClientInput<NoInfer<P>, NoInfer<Q>, NoInfer<B>>>
  ): Promise<ClientReply<Received<R>>>
}

interface LooseInput {
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly page?: Partial<PageRequest>
  readonly ifVersion?: number
  readonly extraQuery?: Readonly<Record<string, string>>
}

const encodeWith = (codec: t.Type<unknown, unknown, unknown> | undefined, value: unknown): Record<string, unknown> =>
  codec === undefined || value === undefined ? {} : (codec.encode(value) as Record<string, unknown>)

const fillPath = (template: string, params: Readonly<Record<string, unknown>>): string =>
  template.replace(/\{([^}]+)\}|\*$/g, (wildcard, name: string | undefined) => {
    const value = params[name ?? 'path']
    if (value === undefined) throw new Error(`the path ${template} needs the parameter '${name ?? 'path'}'`)
    return wildcard === '*'
      ? String(value).split('/').map(encodeURIComponent).join('/')
      : encodeURIComponent(String(value))
  })

const asQueryText = (value: unknown): string => (typeof value === 'object' ? toWireJson(value) : String(value))

const queryString = (values: Readonly<Record<string, unknown>>): string => {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value])
      search.append(key, asQueryText(item))
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}

const encodeBody = (spec: BodySpec<unknown> | undefined, value: unknown): unknown =>
  spec === undefined || value === undefined ? undefined : spec.codec.encode(value)

const buildRequest = (root: string, route: Route, input: LooseInput): SendRequest => {
  const body = encodeBody(route.body, input.body)
  const bodyInQuery = route.body?.orQuery === true && typeof body === 'object' && body !== null
  const query = {
    ...(bodyInQuery ? (body as Record<string, unknown>) : {}),
    ...encodeWith(route.query, input.query),
    ...input.page,
    ...input.extraQuery,
  }
  const text = body === undefined || bodyInQuery ? undefined : toWireJson(body)
  return {
    method: route.method,
    path: root + fillPath(route.path, encodeWith(route.params, input.params)) + queryString(query),
    headers: {
      accept: 'application/json',
      ...definedFields({
        'content-type': text === undefined ? undefined : 'application/json',
        'if-match': input.ifVersion === undefined ? undefined : `"${input.ifVersion}-"`,
      }),
      ...input.headers,
    },
    body: text,
  }
}

/**
 * Returns the typed client of the route declarations.
 * @param root the prefix of every route's path, `/api/v1`.
 */
export const makeClient = (send: Send, root = '/api/v1', headers: Readonly<Record<string, string>> = {}): Client => ({
  call: async (route, ...[input]) => {
    const given = (input ?? {}) as LooseInput
    const erased = route as Route
    const request = buildRequest(root, erased, { ...given, headers: { ...headers, ...given.headers } })
    return readReply(erased, request, await send(request))
  },
})
