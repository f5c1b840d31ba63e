import type * as t from 'io-ts'
import type { PageRequest } from '../../core/kernel/page.ts'
import type { Access } from './access.ts'
import { readReply } from './client-reply.ts'
import type { ClientReply } from './client-reply.ts'
import { toWireJson } from '../../core/kernel/wire-json.ts'
import type { Feed } from './reply.ts'
import type { BodySpec, Route } from './route.ts'
import type { Send, SendRequest } from './send.ts'

/** Keys whose value may be undefined become keys that may be left out, at any depth. */
export type Loose<A> = A extends string | number | bigint | boolean | null | undefined
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

/** What a call must be given, as the route declares it. */
export type ClientInput<P, Q, B> = Asked<'params', P> &
  Asked<'query', Q> &
  Asked<'body', B> & {
    /** Extra headers, the credential among them. */
    readonly headers?: Readonly<Record<string, string>>
    /** For a list. */
    readonly page?: Partial<PageRequest>
    /** The row version that the change is meant for: sent as `If-Match`. */
    readonly ifVersion?: number
    /** Query parameters that every route understands (`sudo`, `token`). */
    readonly extraQuery?: Readonly<Record<string, string>>
  }

/** What a caller is given: of a feed, what there is of it. */
export type Received<R> = R extends Feed<infer A> ? readonly A[] : R

type InputArgument<I> = Record<never, never> extends I ? readonly [input?: I] : readonly [input: I]

export interface Client {
  /**
   * Calls a route of a declaration. Every status is answered as a value; rejects when the service's answer does not
   * decode as the route declares it.
   */
  call<P, Q, B, R, F extends string, X extends Access>(
    route: Route<P, Q, B, R, F, X>,
    ...input: InputArgument<ClientInput<P, Q, B>>
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
    return wildcard === '*' ? String(value).split('/').map(encodeURIComponent).join('/') : encodeURIComponent(String(value))
  })

const asQueryText = (value: unknown): string => (typeof value === 'object' ? toWireJson(value) : String(value))

const queryString = (values: Readonly<Record<string, unknown>>): string => {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) search.append(key, asQueryText(item))
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
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...(input.ifVersion === undefined ? {} : { 'if-match': `"${input.ifVersion}-"` }),
      ...input.headers,
    },
    body: text,
  }
}

/**
 * The typed client that comes with the route declarations.
 * @param root what stands before every route's path, `/api/v1`.
 */
export const makeClient = (send: Send, root = '/api/v1', headers: Readonly<Record<string, string>> = {}): Client => ({
  call: async (route, ...[input]) => {
    const given = (input ?? {}) as LooseInput
    const erased = route as unknown as Route
    const request = buildRequest(root, erased, { ...given, headers: { ...headers, ...given.headers } })
    return readReply(erased, request, await send(request))
  },
})
