import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { AssembledRoute } from '../../composition/runtime/assemble.ts'
import type { DocumentFacts, OpenApiDocument, Operation } from '../../composition/runtime/http/openapi/document.ts'
import { buildDocument, documentPath, resolvedResponses } from '../../composition/runtime/http/openapi/document.ts'
import type { Response } from '../../composition/runtime/http/openapi/responses.ts'
import type { Schema } from '../../composition/runtime/http/openapi/schema.ts'

/** An answer as it went over the wire, with what was asked. */
export interface SeenAnswer {
  readonly method: string
  /** The request target as sent. */
  readonly target: string
  readonly status: number
  /** Names in lower case; the values of a repeated header joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined where it was not kept: a stream of another server. */
  readonly body: string | undefined
}

/** Says what an answer has that its document does not describe; undefined when all is as documented. */
export type AnswerCheck = (answer: SeenAnswer) => string | undefined

/**
 * What no operation describes, and why. Everything else that a service answers below its root must be in its document.
 */
const deliberateExceptions: readonly {
  readonly why: string
  readonly applies: (answer: SeenAnswer, path: string) => boolean
}[] = [
  {
    why: 'the documentation is not described in itself',
    applies: (_, path) =>
      path === '/openapi.json' || path === '/swagger' || path === '/docs' || path.startsWith('/docs/'),
  },
]

/** Headers that HTTP itself or the rules of the whole service govern; an operation does not repeat them. */
const generalHeaders: ReadonlySet<string> = new Set([
  ...['date', 'connection', 'keep-alive', 'content-type', 'content-length', 'transfer-encoding', 'vary'],
  ...[
    'cache-control',
    'x-content-type-options',
    'x-frame-options',
    'referrer-policy',
    'content-security-policy',
    'strict-transport-security',
    'access-control-expose-headers',
  ],
  // For reverse proxies, on feeds.
  'x-accel-buffering',
])

/** Of what no operation has. */
const refusalsOfAnyPath: readonly number[] = [400, 404, 405, 408, 431, 500, 501, 503]

export const makeAnswerCheck = (document: OpenApiDocument, root = '/api/v1'): AnswerCheck => {
  const find = makeFinder(document)
  const problemOf = makeValidator(document)
  // Below a proxied API it is a Kubernetes Status, and below SCIM an error of its own. Metering has one too, which the
  // document of a deployment without it lacks.
  const [text, object] = [{ type: 'string' }, { type: 'object' }]
  const ofMetering: Schema = {
    type: 'object',
    properties: { code: text, message: text, origErr: object },
    required: ['code', 'message', 'origErr'],
  }
  const errorBody: Schema = {
    anyOf: [
      ...['Error', 'KubernetesStatus', 'ScimError']
        .filter((name) => name in document.components.schemas)
        .map((name) => ({ $ref: `#/components/schemas/${name}` })),
      ofMetering,
    ],
  }

  const unrouted = (answer: SeenAnswer): string | undefined => {
    if (answer.method === 'OPTIONS' && answer.status === 204)
      return answer.headers['allow'] === undefined ? 'OPTIONS without Allow' : undefined
    if (!refusalsOfAnyPath.includes(answer.status)) return 'no operation of the document has this path and method'
    if (answer.status === 405 && answer.headers['allow'] === undefined) return '405 without Allow'
    if (answer.method === 'HEAD') return undefined
    return problemOf(errorBody, parsed(answer.body))
  }

  const bodyProblem = (answer: SeenAnswer, { content }: Response): string | undefined => {
    const type = bareType(answer.headers['content-type'] ?? '')
    if (content === undefined) return answer.body === '' ? undefined : `a body (${type}) where none is documented`
    const media = Object.entries(content).find(([documented]) => [type, '*/*'].includes(bareType(documented)))?.[1]
    if (media === undefined) return `the content type "${type}" is not documented`
    if (answer.method === 'HEAD' || answer.body === undefined || !/[/+]json$/.test(type)) return undefined
    return problemOf(media.schema, parsed(answer.body))
  }

  const declaredHeaders = onceFor(({ headers = {} }: Response) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, header]) => [name.toLowerCase(), resolveHeader(document, header)]),
    ),
  )

  const headerProblems = (answer: SeenAnswer, response: Response): readonly string[] => {
    const declared = declaredHeaders(response)
    const missing = Object.entries(declared).flatMap(([name, { required }]) =>
      required === true && answer.headers[name] === undefined ? [`the header ${name} is missing`] : [],
    )
    const wrong = Object.entries(answer.headers).flatMap(([name, value]) => {
      const schema = declared[name]?.schema
      if (schema === undefined) return generalHeaders.has(name) ? [] : [`the header ${name} is not documented`]
      const problem = problemOf(schema, schema.type === 'integer' ? Number(value) : value)
      return problem === undefined ? [] : [`the header ${name} ${problem}`]
    })
    return [...missing, ...wrong]
  }

  const responsesOf = onceFor((operation: Operation) => resolvedResponses(document, operation))

  const judged = (answer: SeenAnswer, operation: Operation): string | undefined => {
    const listed = responsesOf(operation)[String(answer.status)]
    // A proxied answer is the other side's: what it may hold is not ours to say. The platform's own refusals name their
    // request.
    if (operation.responses['default'] !== undefined && !isOwnRefusal(answer)) return undefined
    if (listed === undefined) return `${operation.operationId} does not document the status ${answer.status}`
    const problems = [...headerProblems(answer, listed), bodyProblem(answer, listed) ?? []].flat()
    return problems.length === 0 ? undefined : `${operation.operationId}: ${problems.join('; ')}`
  }

  return (answer) => {
    const below = checkedPath(answer, root)
    if (below === undefined) return undefined
    const operation = find(answer.method === 'HEAD' ? 'get' : answer.method.toLowerCase(), below)
    return operation === undefined ? unrouted(answer) : judged(answer, operation)
  }
}

/**
 * The check of what a service with these routes answers. It describes only the routes that can have given an answer:
 * most tests ask for few of them, and the whole document costs more than the rest of a start.
 */
export const makeAnswerCheckOf = (
  routes: readonly AssembledRoute[],
  facts: DocumentFacts,
  root = '/api/v1',
): AnswerCheck => {
  const served = routes
    .filter(({ listener }) => listener === 'api')
    .map((route) => ({
      route,
      pattern: patternOf(documentPath(route), route.bound.route.path.endsWith('/*')),
    }))
  const byFirst = Map.groupBy(served, ({ route }) => firstSegment(documentPath(route)))
  const [ordinary] = served.filter(({ route }) => route.bound.kind === 'json')
  const ofScim = served.find(({ route }) => route.bound.kind === 'json' && route.bound.route.dialect === 'scim')
  const refusing = [ordinary ?? [], ofScim ?? [], served.filter(({ route }) => route.bound.kind !== 'json')]
    .flat()
    .map(({ route }) => route)
  const checks = new Map<string, AnswerCheck>()
  return (answer) => {
    const below = checkedPath(answer, root)
    if (below === undefined) return undefined
    const able = (byFirst.get(firstSegment(below)) ?? [])
      .filter(({ pattern }) => pattern.test(below))
      .map(({ route }) => route)
    // A refusal of no route needs the forms of refusals and no more: one route has the usual one, and SCIM and a
    // proxied API have their own.
    const described = able.length === 0 ? refusing : able
    const key = able.map(({ bound }) => bound.route.id).join()
    const check = checks.get(key) ?? makeAnswerCheck(buildDocument(described, facts), root)
    checks.set(key, check)
    return check(answer)
  }
}

/** No path of a route begins with a parameter. */
const firstSegment = (path: string): string => path.split('/', 2)[1] ?? ''

/**
 * The path of an answer below the root of the interface, without a slash at its end. Undefined where no document
 * applies.
 */
const checkedPath = (answer: SeenAnswer, root: string): string | undefined => {
  const path = answer.target.split('?')[0] ?? ''
  if (path !== root && !path.startsWith(`${root}/`)) return undefined
  const below = path.slice(root.length).replace(/\/$/, '')
  return deliberateExceptions.some(({ applies }) => applies(answer, below)) ? undefined : below
}

/** Computes a value once for each object. */
const onceFor = <K extends object, V extends object>(compute: (key: K) => V): ((key: K) => V) => {
  const known = new WeakMap<K, V>()
  return (key) => {
    const found = known.get(key) ?? compute(key)
    known.set(key, found)
    return found
  }
}

/** A media type without its parameters. */
const bareType = (type: string): string => (type.split(';')[0] ?? '').trim().toLowerCase()

const isOwnRefusal = ({ body, headers }: SeenAnswer): boolean => {
  const value = parsed(body)
  const requestId =
    typeof value === 'object' && value !== null ? (value as { readonly requestId?: unknown }).requestId : undefined
  return requestId !== undefined && requestId === headers['x-request-id']
}

const parsed = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/** Literal segments win over parameters, as OpenAPI says. */
const makeFinder = (document: OpenApiDocument) => {
  const templates = Object.keys(document.paths)
    .map((path) => ({ path, shape: shapeOf(path), pattern: patternOf(path, hasRest(document, path)) }))
    .sort((a, b) => (a.shape < b.shape ? -1 : 1))
  const found = new Map<string, Operation | undefined>()
  const find = (method: string, path: string): Operation | undefined => {
    for (const template of templates) {
      if (!template.pattern.test(path)) continue
      const operation = document.paths[template.path]?.[method] as Operation | undefined
      if (operation !== undefined) return operation
    }
    return undefined
  }
  return (method: string, path: string): Operation | undefined => {
    const key = `${method} ${path}`
    if (!found.has(key)) found.set(key, find(method, path))
    return found.get(key)
  }
}

const shapeOf = (path: string): string => path.replaceAll(/\{[^}]+\}/g, '~')

/** A parameter that the document marks as the rest of a path takes slashes, and may be empty. */
const hasRest = (document: OpenApiDocument, path: string): boolean => {
  const [first] = Object.values(document.paths[path] ?? {}).filter((each): each is Operation => 'operationId' in each)
  return (
    first?.parameters?.some(
      (parameter) => 'in' in parameter && parameter.in === 'path' && parameter['x-rest-of-path'] === true,
    ) === true
  )
}

const patternOf = (path: string, takesRest: boolean): RegExp => {
  const escaped = path.replace(/\/$/, '').replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`)
  const open = takesRest ? escaped.replace(/\/\{[^}]+\}$/, '(?:/.*)?') : escaped
  return new RegExp(`^${open.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`)
}

type Header = NonNullable<Response['headers']>[string]

const resolveHeader = (
  document: OpenApiDocument,
  header: Header,
): { readonly required?: boolean; readonly schema: Schema } =>
  '$ref' in header
    ? (document.components['headers']?.[header.$ref.replace('#/components/headers/', '')] as { schema: Schema })
    : header

type Compiled = ReturnType<Ajv2020['compile']>

/** Compiled schemas of documents that agree on each component: what one of them has compiled, the next one has too. */
interface Compiler {
  readonly ajv: Ajv2020
  /** The text of each component, by name. */
  readonly components: Map<string, string>
  readonly byText: Map<string, Compiled>
}

/**
 * Of this process. Nearly all its documents describe routes of the same product, so there is one; another for a test's
 * own document.
 */
const compilers: Compiler[] = []

const makeCompiler = (): Compiler => {
  // The document was linted by a test of its own: its schemas are not checked once more for each service.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, meta: false })
  addFormats.default(ajv)
  for (const format of ['int64', 'int32', 'double', 'binary']) ajv.addFormat(format, true)
  const compiler: Compiler = { ajv, components: new Map(), byText: new Map() }
  compilers.push(compiler)
  return compiler
}

const withIds = (closed: Schema): object =>
  JSON.parse(JSON.stringify(closed).replaceAll('"#/components/schemas/', '"moorage:')) as object

/** Answers the compiler that knows the components of a document, or that can learn those which it lacks. */
const compilerOf = (schemas: Readonly<Record<string, Schema>>): Compiler => {
  const texts = Object.entries(schemas).map(([name, schema]) => ({ name, schema, text: JSON.stringify(schema) }))
  const compiler =
    compilers.find(({ components }) => texts.every(({ name, text }) => (components.get(name) ?? text) === text)) ??
    makeCompiler()
  const close = closer(schemas)
  for (const { name, schema, text } of texts) {
    if (compiler.components.has(name)) continue
    compiler.components.set(name, text)
    compiler.ajv.addSchema(withIds(close(schema, true)), `moorage:${name}`)
  }
  return compiler
}

/** Answers a function that says where a value does not fit a schema of the document. */
const makeValidator = (document: OpenApiDocument) => {
  const { ajv, byText } = compilerOf(document.components.schemas)
  const close = closer(document.components.schemas)
  const compiled = onceFor((schema: Schema): Compiled => {
    const closed = withIds(close(schema, false))
    const text = JSON.stringify(closed)
    // Many operations say the same in objects of their own.
    const validate = byText.get(text) ?? ajv.compile(closed)
    byText.set(text, validate)
    return validate
  })
  return (schema: Schema, value: unknown): string | undefined => {
    const validate = compiled(schema)
    return validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'body' }).slice(0, 600)
  }
}

/**
 * A described object has the keys that are described and no others: a key that slips into an answer is found. Parts of
 * an `allOf` stay open, the whole is closed where it is used.
 */
const closer = (components: Readonly<Record<string, Schema>>) => {
  const isClosable = (schema: Schema): boolean => {
    if (schema.$ref !== undefined) return isClosable(components[schema.$ref.replace('#/components/schemas/', '')] ?? {})
    if (schema.additionalProperties !== undefined) return false
    if (schema.allOf !== undefined) return schema.allOf.every(isClosable)
    if (schema.anyOf !== undefined) return schema.anyOf.every((part) => isClosable(part) || isScalar(part))
    return schema.properties !== undefined
  }
  const isScalar = ({ type, enum: words, const: word, $ref }: Schema): boolean =>
    $ref === undefined &&
    (words !== undefined || word !== undefined || (typeof type === 'string' && type !== 'object' && type !== 'array'))
  const close = (schema: Schema, isPart: boolean): Schema => ({
    ...schema,
    ...(schema.properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(schema.properties).map(([key, each]) => [key, close(each, false)]),
          ),
        }),
    ...(schema.items === undefined ? {} : { items: close(schema.items, false) }),
    ...(typeof schema.additionalProperties === 'object'
      ? { additionalProperties: close(schema.additionalProperties, false) }
      : {}),
    ...(schema.allOf === undefined ? {} : { allOf: schema.allOf.map((part) => close(part, true)) }),
    ...(schema.anyOf === undefined ? {} : { anyOf: schema.anyOf.map((part) => close(part, isPart)) }),
    ...(!isPart && isClosable(schema) ? { unevaluatedProperties: false } : {}),
  })
  return close
}
