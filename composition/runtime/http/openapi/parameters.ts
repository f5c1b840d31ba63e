import type * as t from 'io-ts'
import { noteOf, optionalInner, repeatedItem } from '../../../../plugins/kit/codecs.ts'
import { changesCookies } from '../../../../plugins/kit/reply.ts'
import type { Route, StreamRoute } from '../../../../plugins/kit/route.ts'
import { defaultPageLimit, maxListRows, maxPageLimit } from '../../../../core/kernel/page.ts'
import { shapeOf } from '../../../../plugins/kit/unknown-fields.ts'
import { propsOf, strictParameter } from '../request/decode.ts'
import type { Schema, SchemaRegistry } from './schema.ts'
import { schemaOf } from './schema.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description?: string
  readonly required?: boolean
  readonly style?: string
  readonly explode?: boolean
  readonly schema: Schema
  /** The parameter matches the rest of the path, with its slashes, which OpenAPI cannot express. */
  readonly 'x-rest-of-path'?: true
}
export type ParameterRef = Parameter | { readonly $ref: string }

/** Parameters that many operations share. */
export const sharedParameters: Readonly<Record<string, Parameter>> = {
  Page: {
    name: 'page',
    in: 'query',
    description: 'The page of the list, from 1. An invalid number is read as 1. A page after the last one is empty.',
    schema: { type: 'integer' },
  },
  Limit: {
    name: 'limit',
    in: 'query',
    description:
      `The number of items per page: ${maxPageLimit} at most. Without \`page\` and \`limit\` the response is ` +
      `the whole list, up to ${maxListRows} items. With \`page\` alone, or an invalid number, it is ` +
      `${defaultPageLimit}; a larger number is read as ${maxPageLimit}. \`X-Per-Page\` is the number that ` +
      'was used.',
    schema: { type: 'integer' },
  },
  PagedLimit: {
    name: 'limit',
    in: 'query',
    description:
      `The number of items per page: ${defaultPageLimit} by default, ${maxPageLimit} at most. An invalid ` +
      `number is read as ${defaultPageLimit}, a larger number as ${maxPageLimit}. \`X-Per-Page\` is the ` +
      'number that was used.',
    schema: { type: 'integer' },
  },
  Sudo: {
    name: 'Sudo',
    in: 'header',
    description: 'The user on whose behalf a site admin acts. The query parameter `sudo` has the same effect.',
    schema: { type: 'string' },
  },
  Csrf: {
    name: 'X-Csrf-Token',
    in: 'header',
    description: 'With a session cookie: the value of the cookie `_csrf`.',
    schema: { type: 'string' },
  },
  OneTimeCode: {
    name: 'X-OTP',
    in: 'header',
    description: 'The one-time code, if two-factor authentication is on.',
    schema: { type: 'string', pattern: '^[0-9]{6}$' },
  },
  Strict: {
    name: strictParameter,
    in: 'query',
    description:
      'Refuse the request if its body has a field, or its query a parameter, that the route does not know. Otherwise ' +
      'they are ignored, and `X-Ignored-Fields` and `X-Ignored-Parameters` name them, except that a name of six letters or more that differs ' +
      'from a known, absent one only in case, separators or one letter is refused in any case.',
    schema: { type: 'boolean', default: false },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Chosen by the client. The same request with the same key takes effect once and returns the same ' +
      'response for 48 hours. Returns 409 with `Retry-After` while the first request is in progress.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description:
      'The id of the last event that was received. Only later events are sent. Takes precedence over `after`.',
    schema: { type: 'integer', minimum: 0, maximum: 999_999_999_999_999 },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The ETag of the version to change. Returns 412 if the object has changed since.',
    schema: { type: 'string' },
  },
}
const shared = (name: string): ParameterRef => ({ $ref: `#/components/parameters/${name}` })

/** Returns the names in a path template. The name of a trailing wildcard is `path`. */
export const pathNames = (path: string): readonly string[] =>
  [...path.replace(/\*$/, '{path}').matchAll(/\{([^}]+)\}/g)].map((match) => match[1] as string)

const described = (codec: t.Any): { readonly description?: string } => {
  const description = noteOf(codec)?.description ?? noteOf(optionalInner(codec) ?? codec)?.description
  return description === undefined ? {} : { description }
}

const restOfPath = (mayBeEmpty: boolean) =>
  ({
    description: `The rest of the path, with its slashes${mayBeEmpty ? '; it may be empty' : ''}.`,
    'x-rest-of-path': true,
  }) as const

const pathParameters = (
  path: string,
  codec: t.Any | undefined,
  registry: SchemaRegistry,
  mayBeEmpty = false,
): readonly Parameter[] => {
  const props = propsOf(codec)
  return pathNames(path).map((name) => {
    const prop = props[name]
    return {
      name,
      in: 'path',
      required: true,
      ...(prop === undefined ? {} : described(prop)),
      ...(name === 'path' && path.endsWith('/*') ? restOfPath(mayBeEmpty) : {}),
      schema: prop === undefined ? { type: 'string' } : schemaOf(prop, registry),
    }
  })
}

const queryParameter = (name: string, codec: t.Any, registry: SchemaRegistry): Parameter => {
  const isList = repeatedItem(optionalInner(codec) ?? codec) !== undefined
  const isRequired = !isList && optionalInner(codec) === undefined
  return {
    name,
    in: 'query',
    ...described(codec),
    ...(isRequired ? { required: true } : {}),
    ...(isList ? { style: 'form', explode: true } : {}),
    schema: schemaOf(codec, registry),
  }
}

const queryParameters = (codec: t.Any | undefined, registry: SchemaRegistry): readonly Parameter[] =>
  Object.entries(propsOf(codec)).map(([name, prop]) => queryParameter(name, prop, registry))

const isUnsafe = (method: string): boolean => method !== 'GET'

/** Reports whether a version can guard a change of this route. A new object has no version yet. */
const honoursIfMatch = ({ method, ok, honoursIfMatch: isSaid }: Route): boolean =>
  method !== 'GET' && (isSaid === true || (ok.kind === 'versioned' && method !== 'POST'))

/** Reports whether an Idempotency-Key limits the route's effect to at most once. */
export const isKeyed = (route: Route): boolean =>
  route.method !== 'GET' && !changesCookies(route.ok) && route.access.kind !== 'public'

/** Reports whether a body of this route may have fields that are ignored. */
export const ignoresFields = ({ body }: Route): boolean => body !== undefined && shapeOf(body.codec) !== undefined

/**
 * Reports whether a site admin may act as another user. Public routes and routes that require the password accept the
 * header too.
 */
export const honoursSudo = (route: Route): boolean => route.refusesSudo !== true

/**
 * Reports whether a route can answer 412. Every change does, to an `If-Match` that cannot be met; on a route that
 * guards nothing, no version can be met.
 */
export const refusesIfMatch = (route: Route): boolean => route.method !== 'GET'

const sharedOf = (route: Route): readonly ParameterRef[] => {
  const declared = propsOf(route.query)
  const { kind } = route.access
  const isPagedHere = route.ok.kind === 'list' && declared['page'] === undefined
  return [
    ...(route.ok.kind === 'feed' ? [shared('LastEventId')] : []),
    ...(isPagedHere ? [shared('Page'), shared(route.ok.isPaged === true ? 'PagedLimit' : 'Limit')] : []),
    ...(honoursSudo(route) ? [shared('Sudo')] : []),
    ...(kind === 'password' ? [shared('OneTimeCode')] : []),
    ...(kind !== 'public' && kind !== 'password' && (isUnsafe(route.method) || route.makesToken === true)
      ? [shared('Csrf')]
      : []),
    ...(honoursIfMatch(route) ? [shared('IfMatch')] : []),
    ...(ignoresFields(route) ? [shared('Strict')] : []),
    ...(isKeyed(route) ? [shared('IdempotencyKey')] : []),
  ]
}

/** Returns every parameter of a route: path, query (including the body of a GET), and the shared ones. */
export const parametersOf = (route: Route, registry: SchemaRegistry): readonly ParameterRef[] => {
  const fromBody = route.body?.orQuery === true ? queryParameters(route.body.codec, registry) : []
  const fromQuery = queryParameters(route.query, registry)
  const names = new Set(fromQuery.map((parameter) => parameter.name))
  return [
    ...pathParameters(route.path, route.params, registry, route.ignoresRest),
    ...fromQuery,
    ...fromBody
      .filter((parameter) => !names.has(parameter.name))
      .map((parameter) => ({ ...parameter, required: false })),
    ...sharedOf(route),
  ]
}

export const streamParametersOf = (route: StreamRoute, registry: SchemaRegistry): readonly ParameterRef[] => [
  ...pathParameters(route.path, route.params, registry, true),
  shared('Sudo'),
]
