import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ScimType } from '../../../core/formats/scim-types.ts'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { isObject, own, ownObject, withKey } from '../../../core/kernel/json.ts'
import type { Attribute, ResourceShape } from './attributes.ts'
import { commonAttributes, findAttribute } from './attributes.ts'
import type { Comparison, Filter, FilterValue } from './filter.ts'

/** Why a request is refused: a `scimType` of RFC 7644 §3.12 with a sentence. */
export interface ScimFault {
  readonly type: ScimType
  readonly detail: string
}
export type Read<A> = Either<ScimFault, A>

export const fault = (type: ScimFault['type'], detail: string): Either<ScimFault, never> => left({ type, detail })

const maxTextLength = 1000
/** The most values of one list, except the members of a group. */
const maxValues = 50

const textOf = (value: Json, path: string): Read<Json> => {
  if (typeof value !== 'string') return fault('invalidValue', `${path} must be a text.`)
  if (value.length > maxTextLength) return fault('invalidValue', `${path} has more than ${maxTextLength} characters.`)
  return /\p{Cc}/u.test(value.replaceAll(/[\n\r\t]/g, ''))
    ? fault('invalidValue', `${path} must not contain control characters.`)
    : right(value)
}

/** Entra sends booleans as the texts True and False. */
const booleanOf = (value: Json, path: string): Read<Json> => {
  if (typeof value === 'boolean') return right(value)
  if (typeof value === 'string' && /^(?:true|false)$/i.test(value)) return right(value.toLowerCase() === 'true')
  return fault('invalidValue', `${path} must be true or false.`)
}

/** A text for a value that has parts is its `value`: Entra sends managers so. */
const partsOf = (attribute: Attribute, value: Json, path: string): Read<FreeObject> => {
  const given = typeof value === 'string' ? { value } : value
  if (!isObject(given)) return fault('invalidValue', `${path} must be an object.`)
  return readAttributes(attribute.parts ?? [], given, `${path}.`)
}

const singleOf = (attribute: Attribute, value: Json, path: string): Read<Json> =>
  attribute.type === 'complex'
    ? partsOf(attribute, value, path)
    : attribute.type === 'boolean'
      ? booleanOf(value, path)
      : textOf(value, path)

const isUnassigned = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

/** Reads the value of an attribute. Undefined: it is not assigned. */
export const readValue = (attribute: Attribute, value: Json | undefined, path: string): Read<Json | undefined> => {
  if (isUnassigned(value) || value === undefined) return right(undefined)
  if (attribute.isList !== true) {
    const one = singleOf(attribute, value, path)
    return isLeft(one) || !isUnassigned(one.right) ? one : right(undefined)
  }
  const values = Array.isArray(value) ? (value as readonly Json[]) : [value]
  if (values.length > maxValues) return fault('invalidValue', `${path} has more than ${maxValues} values.`)
  const read: Json[] = []
  for (const each of values) {
    const one = singleOf(attribute, each, path)
    if (isLeft(one)) return one
    if (!isUnassigned(one.right)) read.push(one.right)
  }
  if (read.filter((each) => isObject(each) && each['primary'] === true).length > 1)
    return fault('invalidValue', `At most one of ${path} can be the primary one.`)
  return right(read.length === 0 ? undefined : read)
}

/** Reads attributes by their names without regard to case. Others, and those that only the service writes, are dropped. */
const readAttributes = (attributes: readonly Attribute[], given: FreeObject, prefix = ''): Read<FreeObject> => {
  let result: FreeObject = {}
  for (const [key, value] of Object.entries(given)) {
    const attribute = attributes.find(({ name }) => name.toLowerCase() === key.toLowerCase())
    if (attribute === undefined || attribute.isReadOnly === true) continue
    const read = readValue(attribute, value, `${prefix}${attribute.name}`)
    if (isLeft(read)) return read
    result = withKey(result, attribute.name, read.right)
  }
  return right(result)
}

const extensionAt = (given: FreeObject, urn: string): Json | undefined =>
  Object.entries(given).find(([key]) => key.toLowerCase() === urn.toLowerCase())?.[1]

/**
 * Reads a resource that a client sends. Attributes that this service does not keep are dropped (RFC 7644 §3.3); a
 * required one must be there.
 */
export const readResource = (shape: ResourceShape, given: Json): Read<FreeObject> => {
  if (!isObject(given)) return fault('invalidSyntax', 'The body must be a JSON object.')
  const kept = [...commonAttributes.filter(({ name }) => name === 'externalId'), ...shape.attributes]
  const read = readAttributes(kept, given)
  if (isLeft(read)) return read
  let result = read.right
  for (const [urn, attributes] of Object.entries(shape.extensions)) {
    const value = extensionAt(given, urn)
    if (isUnassigned(value)) continue
    if (!isObject(value)) return fault('invalidValue', `${urn} must be an object.`)
    const extension = readAttributes(attributes, value, `${urn}:`)
    if (isLeft(extension)) return extension
    if (!isUnassigned(extension.right)) result = withKey(result, urn, extension.right)
  }
  const missing = shape.attributes.find(
    ({ name, isRequired }) => isRequired === true && (own(result, name) ?? '') === '',
  )
  return missing === undefined ? right(result) : fault('invalidValue', `${missing.name} is required.`)
}

const comparable = (value: Json, isExact: boolean): string | number =>
  typeof value === 'string' ? (isExact ? value : value.toLowerCase()) : Number(value)

const isOrdered = (by: Comparison, a: string | number, b: string | number): boolean => {
  if (by === 'gt') return a > b
  if (by === 'ge') return a >= b
  return by === 'lt' ? a < b : a <= b
}

/** A value that has parts is compared by its `value` (RFC 7644 §3.4.2.2). */
const compare = (attribute: Attribute, value: Json, by: Comparison, wanted: FilterValue): boolean => {
  if (isObject(value)) {
    const inner = own(value, 'value')
    return inner !== undefined && !isObject(inner) && compare({ ...attribute, type: 'string' }, inner, by, wanted)
  }
  if (attribute.type === 'dateTime') return isOrderedOrEqual(by, Date.parse(String(value)), Date.parse(String(wanted)))
  if (typeof value !== typeof wanted || wanted === null) return false
  const [a, b] = [comparable(value, attribute.isExact === true), comparable(wanted, attribute.isExact === true)]
  if (by === 'eq') return a === b
  if (by === 'co') return String(a).includes(String(b))
  if (by === 'sw') return String(a).startsWith(String(b))
  if (by === 'ew') return String(a).endsWith(String(b))
  return isOrdered(by, a, b)
}

const isOrderedOrEqual = (by: Comparison, a: number, b: number): boolean =>
  by === 'eq' ? a === b : isOrdered(by, a, b)

/** The attributes among which the paths of a filter are looked up. */
export type Find = (path: string) => { readonly attribute: Attribute; readonly values: readonly Json[] } | undefined

/** Reports whether what `find` returns for each path fulfils a filter. A path without an attribute has no values. */
export const fulfils = (filter: Filter, find: Find): boolean => {
  switch (filter.kind) {
    case 'both':
      return filter.of.every((each) => fulfils(each, find))
    case 'either':
      return filter.of.some((each) => fulfils(each, find))
    case 'not':
      return !fulfils(filter.of, find)
    case 'present':
      return (find(filter.path)?.values ?? []).some((value) => !isUnassigned(value) && value !== '')
    case 'element': {
      const found = find(filter.path)
      if (found === undefined) return false
      return found.values.some((value) => isObject(value) && fulfils(filter.of, findIn(found.attribute, value)))
    }
    case 'compare': {
      const found = find(filter.path)
      const { by, value: wanted } = filter
      const values = found?.values ?? []
      if (wanted === null) return (by === 'eq') === values.every(isUnassigned)
      if (found === undefined) return by === 'ne'
      return by === 'ne'
        ? !values.some((value) => compare(found.attribute, value, 'eq', wanted))
        : values.some((value) => compare(found.attribute, value, by, wanted))
    }
  }
}

/** Looks up the parts of one element of a list. */
export const findIn =
  (attribute: Attribute, element: FreeObject): Find =>
  (path) => {
    const part = (attribute.parts ?? []).find(({ name }) => name.toLowerCase() === path.toLowerCase())
    const value = part === undefined ? undefined : own(element, part.name)
    return part === undefined ? undefined : { attribute: part, values: value === undefined ? [] : [value] }
  }

/** Looks up paths such as `userName`, `emails.value` and `urn:…:User:department` in a resource. */
export const findInResource =
  (shape: ResourceShape, resource: FreeObject): Find =>
  (path) => {
    const place = findAttribute(shape, path)
    if (place === undefined) return undefined
    const { extension, attribute, part } = place
    const value = own(extension === undefined ? resource : ownObject(resource, extension), attribute.name)
    const values = value === undefined ? [] : Array.isArray(value) ? (value as readonly Json[]) : [value]
    if (part === undefined) return { attribute, values }
    const parts = values.flatMap((each) => (isObject(each) ? [own(each, part.name)] : []))
    return { attribute: part, values: parts.filter((each) => each !== undefined) }
  }
