import type { Either } from 'fp-ts/lib/Either.js'
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import type { ParsedJson } from '../../../../core/kernel/json.ts'
import { isObject, maxJsonDepth, parseJson, reservedKey } from '../../../../core/kernel/json.ts'
import { optionalInner, repeatedItem } from '../../../../plugins/kit/codecs.ts'
import type { Names } from '../../../../plugins/kit/names.ts'
import type { Route } from '../../../../plugins/kit/route.ts'
import type { UnknownField } from '../../../../plugins/kit/unknown-fields.ts'
import { shapeOf, unknownFields } from '../../../../plugins/kit/unknown-fields.ts'
import type { Refusal } from '../failure-response.ts'
import { noSuchPath, refusal } from '../failure-response.ts'
import { jsonFault } from './json-fault.ts'

export type QueryResult =
  | { readonly ok: true; readonly value: Record<string, string | string[]> }
  | { readonly ok: false; readonly message: string }

/** Returns the properties of a query or body codec, including those inside `exact`. */
export const propsOf = (codec: t.Any | undefined): Readonly<Record<string, t.Any>> => {
  const tagged = codec as { _tag?: string; props?: Record<string, t.Any>; type?: t.Any; types?: t.Any[] } | undefined
  if (tagged === undefined) return {}
  if (tagged.props !== undefined) return tagged.props
  if (tagged._tag === 'IntersectionType')
    return Object.assign({}, ...(tagged.types ?? []).map(propsOf)) as Record<string, t.Any>
  return tagged._tag === 'ExactType' || tagged._tag === 'RefinementType' ? propsOf(tagged.type) : {}
}

const isRepeatable = (codec: t.Any | undefined): boolean => {
  if (codec === undefined) return false
  const inner = optionalInner(codec)
  return repeatedItem(codec) !== undefined || (inner !== undefined && repeatedItem(inner) !== undefined)
}

/** Platform parameters that every route accepts. They are never part of a route's own query. */
export const platformParameters = ['token', 'access_token', 'sudo', 'org', 'page', 'limit'] as const

/**
 * Parses a query string for the properties of a codec. A repeated key that may not repeat is refused: two readers of
 * the same request must not see different values. Undeclared keys are ignored.
 *
 * @internal
 */
export const parseQuery = (params: URLSearchParams, codec: t.Any | undefined): QueryResult => {
  const props = propsOf(codec)
  const value: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (const name of platformParameters) {
    if (params.getAll(name).length > 1 && !isRepeatable(props[name])) return repeated(name)
  }
  for (const name of Object.keys(props)) {
    const all = params.getAll(name)
    if (all.length === 0) continue
    if (isRepeatable(props[name])) value[name] = all
    else if (all.length > 1) return repeated(name)
    else value[name] = all[0] as string
  }
  return { ok: true, value: { ...value } }
}

const repeated = (name: string): QueryResult => ({
  ok: false,
  message: `The query parameter "${name}" must not be repeated.`,
})

export type Decoded<A> =
  | { readonly ok: true; readonly value: A }
  | { readonly ok: false; readonly errors: readonly string[] }

/** More errors would not help a client, and an array of 10^5 bad items has as many. */
const maxErrors = 20

const pathOf = (context: t.Context): string =>
  context
    .map((entry) => entry.key)
    .filter((key) => key !== '')
    .join('.')

const shapeTags: readonly (string | undefined)[] = ['InterfaceType', 'PartialType', 'ExactType', 'StrictType']

/** Returns what was expected. For input that is not an object at all, the name of the shape would mean nothing. */
const expectedBy = ({ context, value }: t.ValidationError): string => {
  const type = context.at(-1)?.type
  if (type === undefined) return 'another value'
  return !isObject(value) && shapeTags.includes((type as { readonly _tag?: string })._tag) ? 'an object' : type.name
}

/** Describes the location of an error and what was expected there; never the value, which may be a secret. */
const describe = (error: t.ValidationError): string => {
  const path = pathOf(error.context)
  const expected = expectedBy(error)
  const missing = error.value === undefined ? 'is missing; expected' : 'must be'
  return `${path === '' ? 'the value' : path.slice(0, 200)} ${missing} ${expected.slice(0, 200)}`
}

/** Decodes with a codec. On failure it returns at most 20 problems by path. @internal */
export const decodeWith = <A>(codec: t.Type<A, unknown, unknown>, input: unknown): Decoded<A> => {
  const result = codec.decode(input)
  if (isRight(result)) return { ok: true, value: result.right }
  const errors = [...new Set(result.left.slice(0, maxErrors * 4).map(describe))]
  const shown = errors.slice(0, maxErrors)
  return {
    ok: false,
    errors: result.left.length > shown.length && errors.length > maxErrors ? [...shown, 'and more'] : shown,
  }
}

/**
 * Decodes the path parameters as the route declares them. An id that cannot exist returns 404, or 400 where the route
 * requires it.
 */
export const decodeParams = (route: Route, raw: Readonly<Record<string, string>>): Either<Refusal, unknown> => {
  if (route.params === undefined) return right({})
  const decoded = decodeWith(route.params, raw)
  if (decoded.ok) return right(decoded.value)
  const { errors } = decoded
  return left(
    route.badPathAs === 400
      ? refusal(400, 'InvalidPath', `The path is not valid: ${errors.join('; ')}.`, { errors })
      : { ...noSuchPath, message: `The path does not exist: ${errors.join('; ')}.`, errors },
  )
}

/** Keys by which clients restrict a change. */
const restrictingKeys: readonly string[] = [
  'dryRun',
  'dry_run',
  'dry-run',
  'preconditions',
  'propagationPolicy',
  'resourceVersion',
  'validateOnly',
  'validate_only',
]
const off: readonly unknown[] = [undefined, null, false, '', 'false', '0', 'none', 'None']

/**
 * Returns the key that restricts the change and has no meaning on the route. Without it, more would be done than was
 * requested.
 */
const unmetRestriction = (
  route: Route,
  codec: t.Any | undefined,
  valueOf: (key: string) => unknown,
): string | undefined =>
  route.method === 'GET'
    ? undefined
    : restrictingKeys.find((key) => !off.includes(valueOf(key)) && !(key in propsOf(codec)))

const unmet = (status: 400 | 422, code: string, key: string): Refusal =>
  refusal(status, code, `Nothing was done: "${key}" is not served on this route.`)

/** Decodes the query string as the route declares it. Returns 400 when it does not decode. */
export const decodeQuery = (route: Route, params: URLSearchParams): Either<Refusal, unknown> => {
  const restriction = unmetRestriction(route, route.query, (key) => params.get(key))
  if (restriction !== undefined) return left(unmet(400, 'InvalidQuery', restriction))
  const parsed = parseQuery(params, route.query)
  if (!parsed.ok) return left(refusal(400, 'InvalidQuery', parsed.message))
  if (route.query === undefined) return right({})
  const decoded = decodeWith(route.query, parsed.value)
  if (decoded.ok) return right(decoded.value)
  const { errors } = decoded
  return left(refusal(400, 'InvalidQuery', `The query is not valid: ${errors.join('; ')}.`, { errors }))
}

/** The parameter with which a request asks that no field is ignored. */
export const strictParameter = 'strict'
export const isStrict = (params: URLSearchParams): boolean => ['true', '1'].includes(params.get(strictParameter) ?? '')

/** Returns problems as one sentence. A problem may end in a question. */
export const sentenceOf = (problem: string, errors: readonly string[]): string => {
  const text = `${problem}: ${errors.join('; ')}`
  return text.endsWith('?') ? text : `${text}.`
}

const described = ({ path, meant }: UnknownField): string =>
  `${path.slice(0, 200)} is not a known field${meant === undefined ? '' : `; did you mean ${meant}?`}`

/** A decoded body, and the fields that were ignored in it. */
export interface DecodedBody {
  readonly value: unknown
  readonly ignored: readonly UnknownField[]
}

/**
 * Decodes the body as the route declares it. Returns 400 when it is not JSON, and 422 when it does not decode, or the
 * statuses that the route declares instead. A field that the route does not know is ignored, unless it is probably a
 * known one that is misspelt, or `strict=true` is in the query.
 */
export const decodeBody = (
  route: Route,
  text: string | undefined,
  params: URLSearchParams,
  names: Names | undefined,
): Either<Refusal, DecodedBody> => {
  const spec = route.body
  if (spec === undefined) return right({ value: undefined, ignored: [] })
  const parsed = text === undefined ? { ok: true as const, value: spec.whenAbsent } : parseJson(text)
  if (!parsed.ok) return left(unparsed(spec, parsed, text ?? ''))
  const shape = shapeOf(spec.codec)
  const sent = names === undefined ? parsed.value : names.withOwnFields(shape, parsed.value)
  const value = spec.orQuery === true ? withQueryKeys(sent, Object.keys(propsOf(spec.codec)), params) : sent
  const isFree = Object.keys(propsOf(spec.codec)).length === 0
  const restriction = isObject(value) && !isFree ? unmetRestriction(route, spec.codec, (key) => value[key]) : undefined
  if (restriction !== undefined) return left(unmet(spec.refusedAs === 400 ? 400 : 422, 'InvalidBody', restriction))
  const unknown = unknownFields(shape, value)
  const refused = isStrict(params) ? unknown : unknown.filter(({ meant }) => meant !== undefined)
  const decoded = decodeWith(spec.codec, value)
  if (decoded.ok && refused.length === 0) return right({ value: decoded.value, ignored: unknown })
  const errors = [...refused.map(described), ...(decoded.ok ? [] : decoded.errors)]
  const [body, isMissing] =
    spec.orQuery === true
      ? ['body or query', value === undefined]
      : ['body', text === undefined && spec.whenAbsent === undefined]
  const problem = isMissing ? `The request needs a JSON ${body}` : `The ${body} is not valid`
  return left(refusal(spec.refusedAs ?? 422, 'InvalidBody', sentenceOf(problem, errors), { errors }))
}

/** The longest text in which the place of a fault is looked for: to look takes longer than to parse. */
const longestLookedAt = 262_144

const malformed = (text: string): string => {
  const place = text.length > longestLookedAt ? undefined : jsonFault(text)
  return place === undefined
    ? 'The body is not valid JSON.'
    : `The body is not valid JSON: see line ${place.line}, column ${place.column}.`
}

const unparsed = (
  spec: NonNullable<Route['body']>,
  parsed: ParsedJson & { readonly ok: false },
  text: string,
): Refusal => {
  switch (parsed.why) {
    case 'depth':
      return refusal(400, 'MalformedBody', `The body nests deeper than ${maxJsonDepth} levels.`)
    case 'syntax':
      return refusal(spec.malformedAs ?? 400, 'MalformedBody', malformed(text))
    case 'repeated-key':
      return refusal(
        spec.refusedAs ?? 422,
        'InvalidBody',
        `The body is not valid: the key "${parsed.key.slice(0, 64)}" is repeated in one object.`,
      )
    case 'reserved-key':
      return refusal(
        spec.refusedAs ?? 422,
        'InvalidBody',
        `The body is not valid: the key "${reservedKey}" is reserved.`,
      )
  }
}

/** Returns the body of a GET with the keys that are in the query string. They take precedence. */
const withQueryKeys = (value: unknown, keys: readonly string[], params: URLSearchParams): unknown => {
  const fromQuery = keys.filter((key) => params.has(key)).map((key) => [key, params.get(key)] as const)
  if (fromQuery.length === 0) return value
  const inBody = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  return { ...inBody, ...Object.fromEntries(fromQuery) }
}
