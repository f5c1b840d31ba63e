import type { ReplySpec } from '../../../plugins/kit/reply.ts'
import type { Route } from '../../../plugins/kit/route.ts'
import { isKeyed } from './parameters.ts'
import type { Schema } from './schema.ts'

/** A header of an answer. `required` means that it is always present. */
export interface Header {
  readonly description: string
  readonly required?: boolean
  readonly schema: Schema
}
export type Headers = Readonly<Record<string, { readonly $ref: string }>>

const text = (description: string): Header => ({ description, schema: { type: 'string' } })
const number = (description: string): Header => ({ description, schema: { type: 'integer' } })
const always = (header: Header): Header => ({ ...header, required: true })

/** Headers that many answers share, by component name: the name of the header, or that name with a suffix. */
export const sharedHeaders: Readonly<Record<string, Header>> = {
  'X-Request-Id': always(text('The id of this request in the log.')),
  ETag: always(text('Changes with the body. A request with it in `If-None-Match` returns 304 while the body is unchanged.')),
  'ETag-Tokenless': text('Changes with the body. A response with a newly created token has no ETag and is never 304.'),
  'ETag-Version': always(text('The version of the object, for `If-Match`.')),
  Link: text('The next, last, first and previous page. Absent if there is one page, or if the query is too long to repeat.'),
  'X-Total-Count': always(number('The number of items of the whole list.')),
  'X-Total-Count-Capped': { description: 'Set if the list has more items than were counted.', schema: { const: 'true' } },
  'Set-Cookie': text('The cookies that change.'),
  'Set-Cookie-Session': text('The cookies of a session that a remembered login has opened on this request, or their end.'),
  Location: always(text('The address of the resource.')),
  'Last-Modified': always(text('When the content was made. A request with it in `If-Modified-Since` returns 304 unless the content was made later.')),
  'Content-Encoding': { description: 'Set if the body is compressed, for clients that accept it.', schema: { const: 'gzip' } },
  'Content-Disposition': text('Whether a browser shows or downloads the bytes.'),
  'RateLimit-Limit': number('Requests per minute that this caller may send, if the installation limits them.'),
  'RateLimit-Remaining': number('Requests that this caller may send at once.'),
  'RateLimit-Reset': number('Seconds until the full rate is available again; if the request was refused, until one request is allowed.'),
  'X-RateLimit-Limit': number('As `RateLimit-Limit`.'),
  'X-RateLimit-Remaining': number('As `RateLimit-Remaining`.'),
  'X-RateLimit-Reset': number('As `RateLimit-Reset`.'),
  'X-Token-Expiration': { description: 'When the access token of this request expires, if it does.', schema: { type: 'string', format: 'date-time' } },
  'X-Sudo-By': text('The site admin who acts as another user with this request.'),
  'Idempotency-Replayed': { description: 'This is the response to an earlier request with the same Idempotency-Key.', schema: { const: 'true' } },
  'Retry-After': number('Seconds to wait.'),
  'Retry-After-Always': always(number('Seconds to wait.')),
  'WWW-Authenticate': always(text('The accepted authentication schemes.')),
  'X-OTP': { description: 'A one-time code is required beside the password.', schema: { const: 'required; totp' } },
  Allow: always(text('The accepted methods.')),
}

const headerName = (component: string): string => component.replace(/-(?:Version|Session|Always|Tokenless)$/, '')

const refer = (...components: readonly string[]): Headers =>
  Object.fromEntries(components.map((component) => [headerName(component), { $ref: `#/components/headers/${component}` }]))

const rate = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

const headersOfKind: Readonly<Record<ReplySpec<unknown>['kind'], readonly string[]>> = {
  json: [],
  versioned: ['ETag-Version'],
  list: ['Link', 'X-Total-Count', 'X-Total-Count-Capped'],
  empty: [],
  cookies: ['Set-Cookie'],
  text: [],
  binary: ['ETag', 'Content-Disposition'],
  streamed: ['ETag', 'Last-Modified', 'Content-Encoding', 'Content-Disposition'],
  feed: [],
}

/** Reports whether a route's answers carry an entity tag of their bytes. */
const isTagged = ({ method, ok }: Route): boolean => method === 'GET' && (ok.kind === 'json' || ok.kind === 'list')

/** Returns the headers of a route's answer on success. */
export const okHeaders = (route: Route): Headers =>
  refer(
    'X-Request-Id',
    ...(isTagged(route) ? [route.makesToken === true ? 'ETag-Tokenless' : 'ETag'] : []),
    // A route that sets cookies documents them itself.
    ...(route.ok.kind === 'cookies' ? [] : ['Set-Cookie-Session']),
    ...headersOfKind[route.ok.kind],
    ...(isKeyed(route) ? ['Idempotency-Replayed'] : []),
    ...(route.ok.kind === 'feed' ? [] : [...rate, 'X-Token-Expiration', 'X-Sudo-By']),
  )

export const notModifiedHeaders: Headers = refer('X-Request-Id', 'ETag', 'Set-Cookie-Session')
export const redirectHeaders: Headers = refer('X-Request-Id', 'Location', 'Set-Cookie-Session', ...rate, 'X-Token-Expiration', 'X-Sudo-By')
export const streamHeaders: Headers = refer('X-Request-Id', 'Set-Cookie-Session')

const headersOfStatus: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate', 'X-OTP'],
  405: ['Allow'],
  409: ['Retry-After'],
  429: ['Retry-After-Always', ...rate, 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
  503: ['Retry-After'],
}

/** Returns the headers of a refusal. The refusal of a keyed change may be a replay. */
export const refusalHeaders = (status: number, isReplayable: boolean): Headers =>
  refer('X-Request-Id', 'Set-Cookie-Session', ...(headersOfStatus[status] ?? []), ...(isReplayable && status < 500 && status !== 429 ? ['Idempotency-Replayed'] : []))
