import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { isObject, isSameJson, own, ownObject, withKey } from '../../../core/kernel/json.ts'
import type { Attribute, Place, ResourceShape } from './attributes.ts'
import { findAttribute } from './attributes.ts'
import type { Filter } from './filter.ts'
import { parsePatchPath } from './filter.ts'
import type { Read } from './resource.ts'
import { fault, findIn, fulfils, readResource, readValue } from './resource.ts'

/** An operation of PATCH as it is sent. Entra writes `Add`, Okta `add`. */
export interface PatchOperation {
  readonly op: string
  readonly path?: string | undefined
  readonly value?: Json | undefined
}

/** What an operation does to a value. */
export type PatchVerb = 'add' | 'remove' | 'replace'

export const patchVerb = (op: string): PatchVerb | undefined =>
  (['add', 'remove', 'replace'] as const).find((verb) => verb === op.toLowerCase())

interface Change {
  readonly verb: PatchVerb
  readonly place: Place
  readonly path: string
  readonly elements: Filter | undefined
  readonly value: Json | undefined
}

const containerOf = (resource: FreeObject, { extension }: Place): FreeObject =>
  extension === undefined ? resource : ownObject(resource, extension)

const withValue = (resource: FreeObject, place: Place, value: Json | undefined): FreeObject => {
  const changed = withKey(containerOf(resource, place), place.attribute.name, value)
  if (place.extension === undefined) return changed
  return withKey(resource, place.extension, Object.keys(changed).length === 0 ? undefined : changed)
}

const listAt = (resource: FreeObject, place: Place): readonly Json[] => {
  const value = own(containerOf(resource, place), place.attribute.name)
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

/** Returns the element that a filter such as `type eq "work"` describes; undefined if it describes none. */
const describedBy = (attribute: Attribute, filter: Filter): FreeObject | undefined => {
  if (filter.kind === 'compare' && filter.by === 'eq') {
    const part = (attribute.parts ?? []).find(({ name }) => name.toLowerCase() === filter.path.toLowerCase())
    return part === undefined ? undefined : { [part.name]: filter.value }
  }
  if (filter.kind !== 'both') return undefined
  const [first, second] = filter.of.map((each) => describedBy(attribute, each))
  return first === undefined || second === undefined ? undefined : { ...first, ...second }
}

/** With a new primary value, no other value stays the primary one (RFC 7644 §3.5.2). */
const withOnePrimary = (before: readonly Json[], after: readonly Json[]): readonly Json[] => {
  const isNew = (value: Json): boolean =>
    isObject(value) && value['primary'] === true && !before.some((old) => isSameJson(old, value))
  const chosen = after.findLast(isNew)
  return chosen === undefined
    ? after
    : after.map((value) =>
        value !== chosen && isObject(value) && value['primary'] === true ? { ...value, primary: false } : value,
      )
}

const changeElements = (resource: FreeObject, change: Change, elements: Filter): Read<FreeObject> => {
  const { verb, place, path, value } = change
  const { attribute, part } = place
  const before = listAt(resource, place)
  const isMatch = (element: Json): boolean => isObject(element) && fulfils(elements, findIn(attribute, element))
  const given: FreeObject = part !== undefined ? { [part.name]: value } : isObject(value) ? value : { value }
  const isThere = before.some(isMatch)
  if (verb === 'remove') {
    const rest =
      part === undefined
        ? before.filter((element) => !isMatch(element))
        : before.map((element) => (isMatch(element) ? withKey(element as FreeObject, part.name, undefined) : element))
    return right(withValue(resource, place, rest))
  }
  if (isThere) {
    const after = before.map((element) => (isMatch(element) ? { ...(element as FreeObject), ...given } : element))
    return right(withValue(resource, place, withOnePrimary(before, after)))
  }
  const made = verb === 'add' ? describedBy(attribute, elements) : undefined
  return made === undefined
    ? fault('noTarget', `No value of the resource matches ${path}.`)
    : right(withValue(resource, place, withOnePrimary(before, [...before, { ...made, ...given }])))
}

const changeList = (resource: FreeObject, { verb, place, path, value }: Change): Read<FreeObject> => {
  const { attribute, part } = place
  const before = listAt(resource, place)
  if (part !== undefined) {
    const changed = before.map((element) =>
      isObject(element) ? withKey(element, part.name, verb === 'remove' ? undefined : value) : element,
    )
    return right(
      withValue(resource, place, changed.length === 0 && verb !== 'remove' ? [{ [part.name]: value }] : changed),
    )
  }
  const given = readValue(attribute, value, path)
  if (isLeft(given)) return given
  const values = (given.right ?? []) as readonly Json[]
  const isGiven = (element: Json): boolean => values.some((each) => isSamePart(each, element))
  if (verb === 'remove')
    return right(withValue(resource, place, value === undefined ? undefined : before.filter((each) => !isGiven(each))))
  if (verb === 'replace') return right(withValue(resource, place, values))
  const added = values.filter((each) => !before.some((old) => isSameJson(old, each)))
  return right(withValue(resource, place, withOnePrimary(before, [...before, ...added])))
}

/** Values with the same `value` are one. */
const isSamePart = (a: Json, b: Json): boolean =>
  isObject(a) && isObject(b) && a['value'] !== undefined ? a['value'] === b['value'] : isSameJson(a, b)

const changeSingle = (resource: FreeObject, { verb, place, value }: Change): FreeObject => {
  const { attribute, part } = place
  if (attribute.type !== 'complex') return withValue(resource, place, verb === 'remove' ? undefined : value)
  const before = ownObject(containerOf(resource, place), attribute.name)
  if (part !== undefined)
    return withValue(resource, place, withKey(before, part.name, verb === 'remove' ? undefined : value))
  if (verb === 'remove') return withValue(resource, place, undefined)
  return withValue(resource, place, isObject(value) ? { ...before, ...value } : value)
}

const applyChange = (resource: FreeObject, change: Change): Read<FreeObject> => {
  const { attribute } = change.place
  if (attribute.isReadOnly === true) return fault('mutability', `${attribute.name} cannot be changed by clients.`)
  if (change.elements !== undefined) {
    return attribute.isList === true
      ? changeElements(resource, change, change.elements)
      : fault('invalidPath', `${attribute.name} is not a list.`)
  }
  return attribute.isList === true ? changeList(resource, change) : right(changeSingle(resource, change))
}

/** A path of one operation, or of a key of its value. Undefined: an attribute that this service does not keep. */
const placeAt = (shape: ResourceShape, path: string): Read<Omit<Change, 'verb' | 'value'> | undefined> => {
  const extension = Object.keys(shape.extensions).find((urn) => urn.toLowerCase() === path.toLowerCase())
  if (extension !== undefined) return right(undefined)
  const parsed = parsePatchPath(path)
  if (isLeft(parsed)) return fault('invalidPath', `The path ${path.slice(0, 100)} is not valid: ${parsed.left}.`)
  const { elements, part } = parsed.right
  const place = findAttribute(shape, part === undefined ? parsed.right.path : `${parsed.right.path}.${part}`)
  return right(place === undefined ? undefined : { place, path, elements })
}

/** Extensions of others, and attributes of the standard that are not kept, are ignored as in a body. */
const isForeign = (path: string): boolean => /^urn:/i.test(path)

const applyAt = (
  shape: ResourceShape,
  resource: FreeObject,
  verb: PatchVerb,
  path: string,
  value: Json | undefined,
): Read<FreeObject> => {
  const extension = Object.keys(shape.extensions).find((urn) => urn.toLowerCase() === path.toLowerCase())
  if (extension !== undefined) {
    if (verb === 'remove') return right(withKey(resource, extension, undefined))
    return isObject(value)
      ? applyAll(shape, resource, verb, value, `${extension}:`)
      : fault('invalidValue', `${extension} must be an object.`)
  }
  const found = placeAt(shape, path)
  if (isLeft(found)) return found
  if (found.right === undefined)
    return isForeign(path)
      ? right(resource)
      : fault('invalidPath', `The resource has no attribute ${path.slice(0, 100)}.`)
  return applyChange(resource, { ...found.right, verb, value })
}

/** Without a path each key of the value is one: `name.givenName` too, as Entra sends it. */
const applyAll = (
  shape: ResourceShape,
  resource: FreeObject,
  verb: PatchVerb,
  values: FreeObject,
  prefix = '',
): Read<FreeObject> => {
  let result = resource
  for (const [key, value] of Object.entries(values)) {
    const place = findAttribute(shape, `${prefix}${key}`)
    const isExtension = Object.keys(shape.extensions).some((urn) => urn.toLowerCase() === key.toLowerCase())
    if (!isExtension && (place === undefined || place.attribute.isReadOnly === true || key.toLowerCase() === 'schemas'))
      continue
    const changed = applyAt(shape, result, verb, `${prefix}${key}`, value)
    if (isLeft(changed)) return changed
    result = changed.right
  }
  return right(result)
}

/** The most operations of one PATCH. */
export const maxOperations = 1000

/**
 * Applies operations in their order to what clients write of a resource, and reads the result as a whole: nothing is
 * changed if one of them is refused.
 */
export const applyPatch = (
  shape: ResourceShape,
  resource: FreeObject,
  operations: readonly PatchOperation[],
): Read<FreeObject> => {
  let result = resource
  for (const { op, path, value } of operations) {
    const verb = patchVerb(op)
    if (verb === undefined) return fault('invalidSyntax', 'op must be add, remove or replace.')
    if (path === undefined && verb === 'remove') return fault('noTarget', 'The operation remove needs a path.')
    if (path === undefined && !isObject(value)) return fault('invalidValue', 'Without a path, value must be an object.')
    if (path !== undefined && verb !== 'remove' && value === undefined)
      return fault('invalidValue', `The operation ${verb} needs a value.`)
    const changed =
      path === undefined
        ? applyAll(shape, result, verb, value as FreeObject)
        : applyAt(shape, result, verb, path, value)
    if (isLeft(changed)) return changed
    result = changed.right
  }
  return readResource(shape, result)
}
