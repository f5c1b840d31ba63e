import { STATUS_CODES } from 'node:http'
import type { FailureType } from '../../../../core/kernel/failure.ts'
import { getOrMake } from '../../../../core/kernel/cache.ts'
import { toWireJson } from '../../../../core/kernel/json.ts'
import { ErrorBody } from '../../../../plugins/kit/client.ts'
import type { ReplySpec } from '../../../../plugins/kit/reply.ts'
import { changesCookies } from '../../../../plugins/kit/reply.ts'
import type { Route, StreamRoute } from '../../../../plugins/kit/route.ts'
import type { Dialect } from '../failure-response.ts'
import { isPacked } from '../answer/packed-answer.ts'
import { statusOfFailure } from '../failure-response.ts'
import { honoursSudo, ignoresFields, isKeyed, pathNames, refusesIfMatch } from './parameters.ts'
import type { Schema, SchemaRegistry } from './schema.ts'
import { schemaOf } from './schema.ts'

/** A header of an answer. `required` means that it is always present. */
export interface Header {
  readonly description: string
  readonly required?: boolean
  readonly schema: Schema
}
type Headers = Readonly<Record<string, { readonly $ref: string }>>

const text = (description: string): Header => ({ description, schema: { type: 'string' } })
const number = (description: string): Header => ({ description, schema: { type: 'integer' } })
const always = (header: Header): Header => ({ ...header, required: true })

/** Headers that many answers share, by component name: the name of the header, or that name with a suffix. */
export const sharedHeaders: Readonly<Record<string, Header>> = {
  'X-Request-Id': always(text('The id of this request in the log.')),
  ETag: always(
    text('Changes with the body. A request with it in `If-None-Match` returns 304 while the body is unchanged.'),
  ),
  'ETag-Tokenless': text('Changes with the body. A response with a newly created token has no ETag and is never 304.'),
  'ETag-Version': always(text('The version of the object, for `If-Match`.')),
  Link: text(
    'The next, last, first and previous page. The last page is named if it is known. Absent if all items ' +
      'are in the response, or if the query is too long to repeat.',
  ),
  'X-Total-Count': always(number('The number of items of the whole list.')),
  'X-Per-Page': number(
    'The number of items per page that was used: that of `limit`, up to the maximum. Absent if the whole ' +
      'list was asked for.',
  ),
  'X-Total-Count-Capped': {
    description: 'Set if the list has more items than were counted.',
    schema: { const: 'true' },
  },
  'X-Ignored-Fields': text(
    'The fields of the body that the route does not know and that were ignored: paths, percent-encoded and ' +
      'separated by commas, at most 20. Absent if there are none.',
  ),
  'X-Ignored-Parameters': text(
    'The parameters of the query string that had no effect: names that the route does not know, and `page` or `limit` ' +
      'with a value that is not a whole number from 1. Percent-encoded, separated by commas. Absent if there are none.',
  ),
  'X-Moorage-Tenant': always(text('The field `tenantID` of the body, for proxies that read headers only.')),
  'Set-Cookie': text('The cookies that change.'),
  'Set-Cookie-Session': text(
    'The cookies of a session that a remembered login has opened on this request, or their end.',
  ),
  Location: always(text('The address of the resource.')),
  'Last-Modified': always(
    text(
      'When the content was made. A request with it in `If-Modified-Since` returns 304 unless the content ' +
        'was made later.',
    ),
  ),
  'Content-Encoding': {
    description: 'Set if the body is compressed, for clients that accept it.',
    schema: { const: 'gzip' },
  },
  'Content-Encoding-Packed': {
    description: 'Set if the body is compressed, for clients that accept it: bodies from 1 KiB on.',
    schema: { enum: ['br', 'gzip'] },
  },
  'Content-Disposition': text('Whether a browser shows or downloads the bytes.'),
  'RateLimit-Limit': number('Requests per minute that this caller may send, if the installation limits them.'),
  'RateLimit-Remaining': number('Requests that this caller may send at once.'),
  'RateLimit-Reset': number(
    'Seconds until the full rate is available again; if the request was refused, until one request is allowed.',
  ),
  'X-RateLimit-Limit': number('As `RateLimit-Limit`.'),
  'X-RateLimit-Remaining': number('As `RateLimit-Remaining`.'),
  'X-RateLimit-Reset': number('As `RateLimit-Reset`.'),
  'X-Token-Expiration': {
    description: 'When the access token of this request expires, if it does.',
    schema: { type: 'string', format: 'date-time' },
  },
  'X-Sudo-By': text('The site admin who acts as another user with this request.'),
  'Idempotency-Replayed': {
    description: 'This is the response to an earlier request with the same Idempotency-Key.',
    schema: { const: 'true' },
  },
  'Retry-After': number('Seconds to wait.'),
  'Retry-After-Always': always(number('Seconds to wait.')),
  'WWW-Authenticate': always(text('The accepted authentication schemes.')),
  'X-OTP': { description: 'A one-time code is required beside the password.', schema: { const: 'required; totp' } },
  Allow: always(text('The accepted methods.')),
}

const headerName = (component: string): string => component.replace(/-(?:Version|Session|Always|Tokenless|Packed)$/, '')

const refer = (...components: readonly string[]): Headers =>
  Object.fromEntries(
    components.map((component) => [headerName(component), { $ref: `#/components/headers/${component}` }]),
  )

const rate = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

const headersOfKind: Readonly<Record<ReplySpec<unknown>['kind'], readonly string[]>> = {
  json: [],
  versioned: ['ETag-Version'],
  list: ['Link', 'X-Total-Count', 'X-Total-Count-Capped', 'X-Per-Page'],
  empty: [],
  cookies: ['Set-Cookie'],
  text: [],
  binary: ['ETag', 'Content-Disposition'],
  streamed: ['ETag', 'Last-Modified', 'Content-Encoding', 'Content-Disposition'],
  feed: [],
}

/** Reports whether a route's answers carry an entity tag of their bytes. */
const isTagged = ({ method, ok }: Route): boolean =>
  method === 'GET' && (ok.kind === 'json' || ok.kind === 'list') && ok.header === undefined && ok.setsCookies !== true

/** Returns the headers of a route's answer on success. */
const okHeaders = (route: Route): Headers =>
  refer(
    'X-Request-Id',
    ...(isTagged(route) ? [route.makesToken === true ? 'ETag-Tokenless' : 'ETag'] : []),
    ...(isPacked(route) ? ['Content-Encoding-Packed'] : []),
    // A route that sets cookies documents them itself.
    ...(changesCookies(route.ok) ? [] : ['Set-Cookie-Session']),
    ...headersOfKind[route.ok.setsCookies === true ? 'cookies' : route.ok.kind],
    ...(route.ok.header === undefined ? [] : [route.ok.header.name]),
    ...(ignoresFields(route) ? ['X-Ignored-Fields'] : []),
    'X-Ignored-Parameters',
    ...(isKeyed(route) ? ['Idempotency-Replayed'] : []),
    ...(route.ok.kind === 'feed' ? [] : [...rate, 'X-Token-Expiration', 'X-Sudo-By']),
  )

const notModifiedHeaders: Headers = refer('X-Request-Id', 'ETag', 'Set-Cookie-Session')
const redirectHeaders: Headers = refer(
  'X-Request-Id',
  'Location',
  'Set-Cookie-Session',
  ...rate,
  'X-Token-Expiration',
  'X-Sudo-By',
)
const streamHeaders: Headers = refer('X-Request-Id', 'Set-Cookie-Session')

const headersOfStatus: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate', 'X-OTP'],
  405: ['Allow'],
  409: ['Retry-After'],
  429: ['Retry-After-Always', ...rate, 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
  503: ['Retry-After'],
}

const isReplayed = (status: number, isReplayable: boolean): boolean => isReplayable && status < 500 && status !== 429

/** Returns the headers of a refusal. The refusal of a keyed change may be a replay. */
const refusalHeaders = (status: number, isReplayable: boolean, dialect: Dialect): Headers =>
  refer(
    'X-Request-Id',
    'Set-Cookie-Session',
    ...(headersOfStatus[status] ?? []),
    // A provider says with 400 that it has too many requests.
    ...(status === 400 && dialect === 'metering' ? ['Retry-After'] : []),
    ...(isReplayed(status, isReplayable) ? ['Idempotency-Replayed'] : []),
  )

export interface Response {
  readonly description: string
  readonly headers?: Headers
  readonly content?: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
}
interface ResponseRef {
  readonly $ref: string
}
export type Responses = Readonly<Record<string, Response | ResponseRef>>

/** The responses that operations share, collected as they occur. */
export interface ResponseRegistry {
  /** Returns a reference to a named response. Throws when two different responses have the same name. */
  reference(name: string, response: Response): ResponseRef
  /** Returns every named response, sorted by name. */
  all(): Readonly<Record<string, Response>>
}

export const makeResponseRegistry = (): ResponseRegistry => {
  const responses = new Map<string, Response>()
  return {
    reference: (name, response) => {
      const known = responses.get(name)
      if (known === undefined) responses.set(name, response)
      else if (toWireJson(known) !== toWireJson(response))
        throw new Error(`Two different responses are both named ${name}.`)
      return { $ref: `#/components/responses/${name}` }
    },
    all: () => Object.fromEntries([...responses].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** The components of a document that its operations refer to. */
export interface Components {
  readonly schemas: SchemaRegistry
  readonly responses: ResponseRegistry
}

const isJsonType = (type: string): boolean => /^application\/(?:[\w.-]+\+)?json\b/.test(type)

/** Returns the media type of the JSON of a dialect. */
export const mediaTypeOf = (dialect: Dialect | undefined): string =>
  dialect === 'scim' ? 'application/scim+json' : 'application/json'

const okResponse = (route: Route, registry: SchemaRegistry): Response => {
  const { kind, codec, description, contentType, contentTypes, envelope, example, isYamlToo }: ReplySpec<unknown> =
    route.ok
  const base: Response = { description, headers: okHeaders(route) }
  const shown = example === undefined ? {} : { example }
  if (kind === 'text')
    return { ...base, content: { [contentType ?? 'text/plain']: { schema: { type: 'string' }, ...shown } } }
  if (kind === 'binary' || (kind === 'streamed' && codec === undefined)) {
    const content = Object.fromEntries(
      (contentTypes ?? []).map((type) => [
        type,
        { schema: isJsonType(type) ? {} : ({ type: 'string', format: 'binary' } as Schema) },
      ]),
    )
    return { ...base, content }
  }
  if (codec === undefined) return base
  if (kind === 'feed') {
    const events: Schema = {
      type: 'string',
      description:
        'Server-sent events: the data of each event is one element, its id is the value for `Last-Event-ID`.',
    }
    return {
      ...base,
      content: {
        'text/event-stream': { schema: events },
        'application/json': { schema: { type: 'array', items: schemaOf(codec, registry) }, ...shown },
      },
    }
  }
  if (envelope !== undefined)
    return { ...base, content: { 'application/json': { schema: schemaOf(envelope.codec, registry), ...shown } } }
  const schema = schemaOf(codec, registry)
  const others =
    kind === 'streamed'
      ? Object.fromEntries((contentTypes ?? []).map((type) => [type, { schema: { type: 'string' } as Schema }]))
      : {}
  const yaml = isYamlToo === true ? { 'application/yaml': { schema: { type: 'string' } as Schema } } : {}
  return {
    ...base,
    content: {
      [mediaTypeOf(route.dialect)]: { schema: kind === 'list' ? { type: 'array', items: schema } : schema, ...shown },
      ...yaml,
      ...others,
    },
  }
}

/** The description of each status when no failure of the route gives a better one. */
const generalMeaning: Readonly<Record<number, string>> = {
  400: 'The request or one of its parameters is malformed.',
  401: 'The credential is missing or not valid.',
  403: 'The caller lacks the required right.',
  404: 'The object does not exist, or the caller may not see it; or `Sudo` names a user who does not exist.',
  408: 'The request did not arrive in time.',
  409: 'The change conflicts with the present state, or a request with the same Idempotency-Key is in progress.',
  412: 'The object has changed since the version that `If-Match` names, or a change has `If-None-Match`.',
  413: 'The body is larger than this route accepts.',
  415: 'The body is not JSON in UTF-8, or it is compressed.',
  422: 'The body does not have the documented shape: `message` and `errors` name the fields; or the Idempotency-Key was used for another request, or `Sudo` names an account that is not a user.',
  431: 'The request headers are too large.',
  429: 'Too many requests; try again after `Retry-After` seconds.',
  500: 'An internal error; the log contains the request id.',
  501: 'The request body has a transfer coding other than `chunked`.',
  503: 'The service, or a component that it requires, is unavailable. Try again after the seconds in `Retry-After`, if it is sent.',
}

const generalStatuses = (route: Route): readonly number[] => {
  const { access, body } = route
  return [
    400,
    401,
    ...(access.kind === 'public' ? [] : [403]),
    ...(access.kind === 'granted' && access.hiddenAs === 'not-found' ? [404] : []),
    ...(pathNames(route.path).length === 0 ? [] : [route.badPathAs ?? 404]),
    // `Sudo` may name a missing user, or an organization.
    ...(honoursSudo(route) ? [403, 404, 422] : []),
    408,
    ...(refusesIfMatch(route) ? [412] : []),
    ...(isKeyed(route) ? [409, 422] : []),
    // A body is read and limited even when the route takes none.
    413,
    415,
    ...(body === undefined ? [] : [body.refusedAs ?? 422]),
    429,
    431,
    500,
    501,
    503,
  ]
}

/** A Kubernetes Status with the platform's own keys, so that Kubernetes clients show its message. */
const statusKeys: Readonly<Record<string, Schema>> = {
  kind: { type: 'string', const: 'Status', description: 'The kind of the object, as Kubernetes names it.' },
  apiVersion: { type: 'string', const: 'v1', description: 'The version of the kind.' },
  metadata: { type: 'object', description: 'Always empty.' },
  status: { type: 'string', const: 'Failure', description: 'Says that the request failed.' },
  message: { type: 'string', description: 'Why the request failed, for people.' },
  reason: { type: 'string', description: 'The word of Kubernetes for the status, such as `Forbidden`.' },
  code: { type: 'integer', description: 'The status of the response.' },
  url: { type: 'string', description: 'The page of the operation in the documentation.' },
  requestId: { type: 'string', description: 'The id of the request in the log.' },
  traceId: { type: 'string', description: 'The id of the trace of the request, where the service records traces.' },
}

/** The error of SCIM (RFC 7644 §3.12). */
const scimErrorKeys: Readonly<Record<string, Schema>> = {
  schemas: { type: 'array', items: { type: 'string' }, description: 'The URN of errors.' },
  status: { type: 'string', description: 'The status of the response, as a text.' },
  scimType: { type: 'string', description: 'The kind of a 400 or 409, such as `uniqueness`; absent for others.' },
  detail: { type: 'string', description: 'Why the request failed, for people.' },
}

const errorSchemas: Readonly<Record<Dialect, (registry: SchemaRegistry) => Schema>> = {
  platform: (registry) => schemaOf(ErrorBody, registry),
  marketplace: (registry) =>
    registry.reference('ApiError', errorSchemas, () => ({
      type: 'object',
      properties: { message: { type: 'string', description: 'Why the request failed, for people.' } },
      required: ['message'],
    })),
  metering: (registry) =>
    registry.reference('CloudAMeteringProxyErr', generalMeaning, () => ({
      type: 'object',
      properties: {
        code: { type: 'string', description: 'The code of the failure.' },
        message: { type: 'string', description: 'Why the request failed, for people.' },
        origErr: { type: 'object', description: 'The error behind the failure; empty if there is none.' },
      },
      required: ['code', 'message', 'origErr'],
    })),
  scim: (registry) =>
    registry.reference('ScimError', scimErrorKeys, () => ({
      type: 'object',
      properties: scimErrorKeys,
      required: ['schemas', 'status', 'detail'],
    })),
  kubernetes: (registry) =>
    registry.reference('KubernetesStatus', statusKeys, () => ({
      type: 'object',
      properties: statusKeys,
      required: ['kind', 'status', 'message', 'code'],
    })),
}

/**
 * The statuses of incomplete requests. They have no route yet, so the error body does not have a form of the route's
 * own.
 */
const refusedBeforeRouting: readonly number[] = [408, 431, 501]

type DeclaredFailure = Pick<FailureType<string>, 'tag' | 'meaning'>

const errorResponse = (
  status: number,
  failures: readonly DeclaredFailure[],
  error: Schema,
  isReplayable: boolean,
  dialect: Dialect,
): Response => {
  const named = failures.map(({ tag, meaning }) => `\`${tag}\`: ${meaning}`)
  const description = [generalMeaning[status], ...named].filter((part) => part !== undefined).join(' ')
  return {
    description: description === '' ? `Refused with ${status}.` : description,
    headers: refusalHeaders(status, isReplayable, dialect),
    content: { [mediaTypeOf(dialect)]: { schema: error } },
  }
}

const dialectNames: Readonly<Record<Dialect, string>> = {
  platform: '',
  marketplace: 'Marketplace',
  metering: 'Metering',
  scim: 'Scim',
  kubernetes: 'Kubernetes',
}

/** Returns the component name of an error response: everything on which its content depends. */
const errorName = (status: number, tags: readonly string[], dialect: Dialect, isReplayable: boolean): string => {
  const reason = (STATUS_CODES[status] ?? String(status)).replaceAll(/[^A-Za-z]/g, '')
  return [`${dialectNames[dialect]}${reason}`, ...tags, ...(isReplayable ? ['Replayable'] : [])].join('_')
}

interface Refusing extends Pick<Route, 'statusOf'> {
  readonly dialect?: Dialect
}

const errorResponses = (
  statuses: readonly number[],
  failures: readonly FailureType<string>[],
  route: Refusing,
  { schemas, responses }: Components,
  isReplayable: boolean,
): Responses => {
  const byStatus = new Map<number, Map<string, DeclaredFailure>>(statuses.map((status) => [status, new Map()]))
  for (const failure of failures)
    for (const kind of [failure.kind, ...failure.otherKinds])
      getOrMake(byStatus, statusOfFailure({ tag: failure.tag, kind }, route), () => new Map()).set(failure.tag, failure)
  const refer = (status: number, declared: readonly DeclaredFailure[]): ResponseRef => {
    const isBeforeRouting = refusedBeforeRouting.includes(status) && declared.length === 0
    const dialect = isBeforeRouting ? 'platform' : (route.dialect ?? 'platform')
    const name = errorName(
      status,
      declared.map(({ tag }) => tag),
      dialect,
      isReplayed(status, isReplayable),
    )
    return responses.reference(
      name,
      errorResponse(status, declared, errorSchemas[dialect](schemas), isReplayable, dialect),
    )
  }
  const sorted = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(
    sorted.map(([status, declared]) => [
      String(status),
      refer(
        status,
        [...declared.values()].sort((a, b) => (a.tag < b.tag ? -1 : 1)),
      ),
    ]),
  )
}

const redirectResponse: Response = {
  description: 'The resource is at the address in `Location`.',
  headers: redirectHeaders,
}

const notModifiedResponse: Response = {
  description: 'Unchanged since the ETag in `If-None-Match`.',
  headers: notModifiedHeaders,
}

const isConditional = ({ method, ok }: Route): boolean =>
  method === 'GET' &&
  ok.kind !== 'feed' &&
  ok.header === undefined &&
  (ok.codec !== undefined || ['binary', 'streamed'].includes(ok.kind))

/** An answer without a body has no entity tag. */
const withoutBody = (route: Route): Route => ({ ...route, ok: { ...route.ok, kind: 'empty' } })

/** Returns every status that a route may answer, with the form of its body. */
export const responsesOf = (route: Route, components: Components): Responses => ({
  [String(route.ok.status)]: okResponse(route, components.schemas),
  ...(isConditional(route) ? { 304: components.responses.reference('NotModified', notModifiedResponse) } : {}),
  ...(route.ok.isEmptyToo === true
    ? { 204: { description: 'Done, no body', headers: okHeaders(withoutBody(route)) } }
    : {}),
  ...Object.fromEntries(
    (route.ok.redirects ?? []).map((status) => [
      String(status),
      components.responses.reference('Redirect', redirectResponse),
    ]),
  ),
  ...errorResponses(generalStatuses(route), route.failures, route, components, isKeyed(route)),
})

const forwarded: Response = {
  description: 'The response of the target, forwarded unchanged.',
  headers: streamHeaders,
  content: { '*/*': { schema: {} } },
}

/** Returns the responses of a stream route: any of the remote side, usually 200, and the route's own refusals. */
export const streamResponsesOf = (route: StreamRoute, components: Components): Responses => ({
  200: forwarded,
  default: forwarded,
  ...errorResponses(
    [400, 401, 403, 404, 408, 422, 429, 431, 500, 501, 503],
    route.failures,
    { dialect: 'kubernetes' },
    components,
    false,
  ),
})
