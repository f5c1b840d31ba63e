import type { Deployment, Gate } from '../../../../core/kernel/deployment.ts'
import { interfaceVersion, releaseVersion } from '../../../../core/platform/version.ts'
import type { Access } from '../../../../plugins/kit/access.ts'
import type { BodySpec, Route, StreamRoute } from '../../../../plugins/kit/route.ts'
import { streamOperationId } from '../../../../plugins/kit/route.ts'
import type { AssembledRoute } from '../../assemble.ts'
import { listenerRoots } from '../../assemble.ts'
import type { Components, Response, Responses } from './responses.ts'
import { makeResponseRegistry, mediaTypeOf, responsesOf, sharedHeaders, streamResponsesOf } from './responses.ts'
import type { ParameterRef } from './parameters.ts'
import { parametersOf, sharedParameters, streamParametersOf } from './parameters.ts'
import type { Schema, SchemaRegistry } from './schema.ts'
import { makeSchemaRegistry, schemaOf } from './schema.ts'
import type { Tag } from '../../../part/tag.ts'
import { definedFields } from '../../../../core/kernel/json.ts'
import { inPlace } from '../../config/in-place.ts'

/** Returns the tag groups of parts in the order of the document. */
export const tagsOf = (parts: readonly { readonly tags?: readonly Tag[] }[]): readonly Tag[] =>
  inPlace(parts.map(({ tags = [] }) => tags.map((tag) => ({ ...tag, id: tag.name }))))

type Requirement = Readonly<Record<string, readonly string[]>>

/** Returns every scheme by which a request can carry a credential. */
const securitySchemes = (sessionCookie: string): Readonly<Record<string, object>> => ({
  tokenHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'Authorization',
    description:
      'A personal access token: `Authorization: token <ACCESS_TOKEN>`. Write the word `token` and a space before it.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'A personal access token: `Authorization: Bearer <ACCESS_TOKEN>`.',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description:
      'User name and password, with the one-time code in `X-OTP` if two-factor authentication is on. An ' +
      'access token is accepted as the password, with its owner or `x-oauth-basic` as the user name, or as ' +
      'the user name with the password empty or `x-oauth-basic`; routes that require the real password reject it.',
  },
  queryToken: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description:
      'A personal access token, on every operation that accepts `Authorization`. Logs of third parties may ' +
      'contain URLs: prefer a header.',
  },
  queryAccessToken: { type: 'apiKey', in: 'query', name: 'access_token', description: 'The same as `token`.' },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookie,
    description:
      'The session cookie that sign-in sets. Methods other than GET also require the header `X-Csrf-Token` ' +
      'with the value of the cookie `_csrf`. It cannot be combined with `sudo` or another credential, and ' +
      'is ignored on a request from another site.',
  },
})

const alone = (name: string): Requirement => ({ [name]: [] })
/** The query parameters are not among them: generated clients would send an empty one beside the header. */
const anyCredential = ['tokenHeader', 'bearer', 'basic', 'sessionCookie'].map(alone)

/** Returns the `security` of an operation. The empty requirement means that no credential is required. */
const securityOf = (access: Access): readonly Requirement[] => {
  if (access.kind === 'public') return [{}, ...anyCredential]
  return access.kind === 'password' ? [alone('basic')] : anyCredential
}

/** The facts about the installation that the document depends on. */
export interface DocumentFacts {
  /**
   * `{base_url}`, without a trailing slash. Empty when the document is served by the service itself and need not name
   * its address.
   */
  readonly baseUrl: string
  readonly sessionCookie: string
  readonly deployment: Deployment
  /** The tag groups of the parts, in the order of the document. */
  readonly tags: readonly Tag[]
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly ParameterRef[]
  readonly requestBody?: object
  readonly responses: Responses
  readonly [extension: `x-${string}`]: unknown
}

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: Readonly<Record<string, unknown>>
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | readonly object[]>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>> & {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

const describeAccess = (access: Access): object =>
  access.kind === 'granted'
    ? { kind: access.kind, relation: access.relation, object: access.object.type, hiddenAs: access.hiddenAs }
    : { kind: access.kind }

const schemaPrefix = '#/components/schemas/'

/** Bytes are base64 in JSON, and a file in a form. */
const inForm = (schema: Schema): Schema => (schema.format === 'byte' ? { ...schema, format: 'binary' } : schema)

/**
 * Returns the media type of a body that is sent as a form. Its schema is a component of its own, since generators of
 * clients take one schema in two media types for one that is always sent as a form.
 */
const formOf = ({ codec, jsonFields = [] }: BodySpec<unknown>, registry: SchemaRegistry): object => {
  const { $ref } = schemaOf(codec, registry)
  const named = $ref === undefined ? undefined : registry.named($ref.slice(schemaPrefix.length))
  if ($ref === undefined || named === undefined)
    throw new Error(`The codec "${codec.name}" is also sent as a form: it must have a name.`)
  const properties = Object.fromEntries(
    Object.entries(named.properties ?? {}).map(([name, property]) => [name, inForm(property)]),
  )
  const inJson = jsonFields.filter((name) => name in properties)
  return {
    schema: registry.reference(`${$ref.slice(schemaPrefix.length)}Form`, codec, () => ({ ...named, properties })),
    ...(inJson.length === 0
      ? {}
      : { encoding: Object.fromEntries(inJson.map((name) => [name, { contentType: 'application/json' }])) }),
  }
}

const requestBodyOf = (body: BodySpec<unknown>, dialect: Route['dialect'], registry: SchemaRegistry): object => ({
  required: body.whenAbsent === undefined,
  content: {
    [mediaTypeOf(dialect)]: { schema: schemaOf(body.codec, registry), example: body.example },
    ...(body.orForm === true ? { 'multipart/form-data': formOf(body, registry) } : {}),
    ...(body.orUrlEncoded === true
      ? { 'application/x-www-form-urlencoded': { schema: schemaOf(body.codec, registry) } }
      : {}),
    ...(body.orPlainText === true ? { 'text/plain': { schema: schemaOf(body.codec, registry) } } : {}),
  },
})

const bodyInQuery = 'The keys of the body may also be query parameters, which take precedence.'

const jsonOperation = (route: Route, gate: Gate, components: Components): Operation => {
  const registry = components.schemas
  const { body, scope } = route
  const isInQuery = body?.orQuery === true
  const description = [route.description, isInQuery ? bodyInQuery : undefined]
    .filter((part) => part !== undefined)
    .join(' ')
  const parameters = parametersOf(route, registry)
  return {
    operationId: route.id,
    summary: route.summary,
    ...(description === '' ? {} : { description }),
    tags: [route.tag],
    security: route.dialect === 'marketplace' ? [{}] : securityOf(route.access),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined || isInQuery ? {} : { requestBody: requestBodyOf(body, route.dialect, registry) }),
    responses: responsesOf(route, components),
    'x-gate': gate,
    'x-access': describeAccess(route.access),
    ...(scope === undefined ? {} : { 'x-scope': `${scope.level}:${scope.category}` }),
  }
}

const streamOperation = (route: StreamRoute, gate: Gate, method: string, components: Components): Operation => ({
  operationId: streamOperationId(route, method),
  summary: route.summary,
  ...definedFields({ description: route.description }),
  tags: [route.tag],
  security: securityOf(route.access),
  parameters: streamParametersOf(route, components.schemas),
  ...(method === 'get'
    ? {}
    : { requestBody: { description: 'Forwarded unchanged.', content: { '*/*': { schema: {} } } } }),
  responses: streamResponsesOf(route, components),
  'x-gate': gate,
  'x-access': describeAccess(route.access),
  'x-scope': `${method === 'get' ? 'read' : 'write'}:${route.scopeCategory}`,
})

/**
 * Returns the path of a route in the form of the document: a trailing wildcard becomes the parameter `path`. It is
 * below the root of the API; a route of another listener has its root in the path, since the API may have the same
 * path. @internal
 */
export const documentPath = ({ listener, bound, fullPath }: AssembledRoute): string =>
  (listener === 'api' ? bound.route.path : fullPath).replace(/\*$/, '{path}')

type Paths = Record<string, Record<string, Operation | readonly object[]>>

const pathItem = (
  paths: Paths,
  route: AssembledRoute,
  facts: DocumentFacts,
): Record<string, Operation | readonly object[]> => {
  const servers = [{ url: facts.baseUrl === '' ? '/' : facts.baseUrl, description: 'The marketplace webhook listener' }]
  return (paths[documentPath(route)] ??= route.listener === 'marketplace' ? { servers } : {})
}

const info = (deployment: Deployment): OpenApiDocument['info'] => ({
  title: 'Moorage platform API',
  version: interfaceVersion,
  summary:
    'Identity, authorization, clusters, packages, contracts, billing and multi-cluster management for many tenants.',
  description:
    `Release ${releaseVersion}, deployment type ${deployment.type}. Errors are JSON objects with a string ` +
    `\`message\`. Lists take \`page\` and \`limit\` and answer \`Link\` and \`X-Total-Count\`.`,
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
})

/** Returns the document of the given routes: exactly what this deployment serves. */
export const buildDocument = (routes: readonly AssembledRoute[], facts: DocumentFacts): OpenApiDocument => {
  const shared: Components = { schemas: makeSchemaRegistry(), responses: makeResponseRegistry() }
  const paths: Paths = {}
  for (const route of routes) {
    const { bound, gate } = route
    const item = pathItem(paths, route, facts)
    if (bound.kind === 'json') item[bound.route.method.toLowerCase()] = jsonOperation(bound.route, gate, shared)
    else
      for (const method of bound.route.methods)
        item[method.toLowerCase()] = streamOperation(bound.route, gate, method.toLowerCase(), shared)
  }
  const used = new Set(routes.map(({ bound }) => bound.route.tag))
  return {
    openapi: '3.1.0',
    info: info(facts.deployment),
    servers: [{ url: facts.baseUrl + listenerRoots.api, description: 'This installation' }],
    tags: facts.tags.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: shared.schemas.all(),
      responses: shared.responses.all(),
      parameters: sharedParameters,
      headers: sharedHeaders,
      securitySchemes: securitySchemes(facts.sessionCookie),
    },
  }
}

/** Returns the responses of an operation by status, with references resolved. */
export const resolvedResponses = (
  { components }: OpenApiDocument,
  { responses }: Operation,
): Readonly<Record<string, Response>> =>
  Object.fromEntries(
    Object.entries(responses).flatMap(([status, response]) => {
      const found =
        '$ref' in response ? components.responses[response.$ref.slice('#/components/responses/'.length)] : response
      return found === undefined ? [] : [[status, found]]
    }),
  )
