import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { isObject, own, withKey } from '../../../core/kernel/json.ts'
import type { Place, ResourceShape } from './attributes.ts'
import { findAttribute } from './attributes.ts'

/** The parameters `attributes` and `excludedAttributes` (RFC 7644 §3.9). */
export interface ProjectionQuery {
  readonly attributes?: string | undefined
  readonly excludedAttributes?: string | undefined
}

/** These are always returned. */
const always: readonly string[] = ['id', 'schemas']

const placesOf = (shape: ResourceShape, list: string | undefined): readonly Place[] | undefined =>
  list === undefined || list.trim() === ''
    ? undefined
    : list.split(',').flatMap((each) => {
        const place = findAttribute(shape, each.trim())
        return place === undefined ? [] : [place]
      })

const extensionsIn = (shape: ResourceShape, list: string | undefined): readonly string[] => {
  const asked = (list ?? '').split(',').map((each) => each.trim().toLowerCase())
  return Object.keys(shape.extensions).filter((urn) => asked.includes(urn.toLowerCase()))
}

const ofParts = (value: Json | undefined, keep: (part: string) => boolean): Json | undefined => {
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => ofParts(each, keep) ?? null)
  return isObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => keep(name))) : value
}

const within = (
  resource: FreeObject,
  places: readonly Place[],
  extension: string | undefined,
  isExcluded: boolean,
): FreeObject => {
  const own = places.filter((place) => place.extension === extension)
  return Object.fromEntries(
    Object.entries(resource).flatMap(([name, value]) => {
      const named = own.filter(({ attribute }) => attribute.name === name)
      const parts = named.flatMap(({ part }) => (part === undefined ? [] : [part.name]))
      const isWhole = named.length > parts.length
      if (extension === undefined && always.includes(name)) return [[name, value]]
      if (isExcluded) {
        if (isWhole) return []
        return [[name, parts.length === 0 ? value : ofParts(value, (part) => !parts.includes(part))]]
      }
      if (isWhole) return [[name, value]]
      return parts.length === 0 ? [] : [[name, ofParts(value, (part) => parts.includes(part))]]
    }),
  )
}

/** Returns what a request asks for of a resource. `attributes` counts if both parameters are there. */
export const projected = (shape: ResourceShape, resource: FreeObject, query: ProjectionQuery): FreeObject => {
  const included = placesOf(shape, query.attributes)
  const places = included ?? placesOf(shape, query.excludedAttributes)
  if (places === undefined) return resource
  const isExcluded = included === undefined
  const whole = extensionsIn(shape, isExcluded ? query.excludedAttributes : query.attributes)
  let result = within(resource, places, undefined, isExcluded)
  for (const urn of Object.keys(shape.extensions)) {
    const extension = own(resource, urn)
    if (!isObject(extension)) continue
    const shown = within(extension, places, urn, isExcluded)
    const kept = whole.includes(urn) ? (isExcluded ? {} : extension) : shown
    result = withKey(result, urn, Object.keys(kept).length === 0 ? undefined : kept)
  }
  return result
}

/** Reports whether a request asks for an attribute. */
export const asksFor = (shape: ResourceShape, attribute: string, query: ProjectionQuery): boolean =>
  own(projected(shape, { [attribute]: [{ value: '' }] }, query), attribute) !== undefined
