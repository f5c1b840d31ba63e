import { toWireJson } from '../../core/kernel/json.ts'
import { unreadableSchema, withheldEnd, withheldScheme } from '../../core/packages/charts/ports.ts'

/**
 * What helm would fetch is withheld from it in the schema itself: helm resolves references, and the address of a
 * document that is not in the schema is one for which it has no loader. All addresses of a schema change alike, so
 * identifiers and the references to them still meet.
 */

/** Dialects and vocabularies that helm contains: `jsonschema/v6/metaschemas`. It fetches other addresses of this host. */
const embedded = new RegExp(
  '^https?://json-schema\\.org/(?:schema|draft-0[467]/schema|draft/(?:' +
    '2019-09/(?:schema|meta/(?:core|applicator|validation|meta-data|format|content))|' +
    '2020-12/(?:schema|meta/(?:core|applicator|unevaluated|validation|meta-data|format-annotation|format-assertion|' +
    'content))))$',
)
/** The address that helm gives to the schema. It has read this document. */
const ownAddress = 'file:///values.schema.json'

const references: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef'])
const identifiers: ReadonlySet<string> = new Set(['$id', 'id'])

/** What a location of a schema is. `data` is compared with values; `other` is read only if a reference names it. */
type Place = 'schema' | 'map' | 'list' | 'data' | 'other'

const placesInSchema: ReadonlyMap<string, Place> = new Map([
  ...['const', 'enum'].map((key) => [key, 'data'] as const),
  ...['definitions', '$defs', 'properties', 'patternProperties', 'dependencies', 'dependentSchemas'].map(
    (key) => [key, 'map'] as const,
  ),
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((key) => [key, 'list'] as const),
  ...[
    ...['not', 'if', 'then', 'else', 'additionalProperties', 'additionalItems', 'items', 'contains', 'propertyNames'],
    ...['unevaluatedProperties', 'unevaluatedItems', 'contentSchema'],
  ].map((key) => [key, 'schema'] as const),
])

const placeAt = (place: Place, key: string): Place => {
  if (place === 'map' || place === 'list') return 'schema'
  return place === 'schema' ? (placesInSchema.get(key) ?? 'other') : place
}

const split = (reference: string): readonly [address: string, rest: string] => {
  const hash = reference.indexOf('#')
  return hash < 0 ? [reference, ''] : [reference.slice(0, hash), reference.slice(hash)]
}

/** Reports whether a fragment names a location that a schema of any dialect reads as a schema. */
const namesSchema = (fragment: string): boolean => {
  if (!/^#(?:\/|%2f)/i.test(fragment)) return true
  try {
    let place: Place = 'schema'
    let isItem = false
    for (const token of decodeURIComponent(fragment.slice(1)).split('/').slice(1)) {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      // `items` is a schema or a list of schemas.
      place = isItem && /^\+?\d+$/.test(key) ? 'schema' : placeAt(place, key)
      isItem = !isItem && key === 'items' && place === 'schema'
    }
    return place === 'schema'
  } catch {
    return false
  }
}

type Members = Record<string, unknown>
type Visit = (object: Members, key: string, value: string, bases: Bases) => void

/** The addresses against which a reference may be resolved: an identifier counts or not, by its dialect and location. */
type Bases = ReadonlySet<string>

/** More identifiers around a reference than any schema has. The rest of them is taken for an unknown address. */
const mostBases = 64

const resolvedAddress = (address: string, base: string): string | undefined => {
  try {
    return new URL(address, base).href
  } catch {
    return undefined
  }
}

/** Adds the addresses that the identifiers of an object may give to what is within it. */
const basesWithin = (object: Members, outer: Bases): Bases => {
  let bases = outer
  for (const key of identifiers) {
    const [address] = typeof object[key] === 'string' ? split(object[key]) : ['']
    if (address === '') continue
    const inner = [...bases].map((base) => resolvedAddress(address, base) ?? 'unknown:')
    bases = new Set([...bases, ...inner].slice(0, mostBases))
  }
  return bases
}

/** Visits each text member of each object of a schema, except those at locations of the kinds that are left out. */
const visit = (schema: unknown, leftOut: readonly Place[], member: Visit): void => {
  const open: (readonly [unknown, Place, Bases])[] = [[schema, 'schema', new Set([ownAddress])]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [at, place, outer] = next
    if (typeof at !== 'object' || at === null) continue
    const bases = Array.isArray(at) ? outer : basesWithin(at as Members, outer)
    for (const [key, value] of Object.entries(at)) {
      if (typeof value === 'string') member(at as Members, key, value, identifiers.has(key) ? outer : bases)
      const inner = Array.isArray(at) && place === 'schema' ? 'schema' : placeAt(place, key)
      if (typeof value === 'object' && value !== null && !leftOut.includes(inner)) open.push([value, inner, bases])
    }
  }
}

/** Returns an address for which helm has no loader; equal ones stay equal, also after they are resolved. */
const withheld = (address: string): string => {
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):/i.exec(address) ?? []
  // No version of helm has a loader for any other scheme; it reads an unknown `urn:` as a schema that allows all.
  if (scheme !== '' && !/^(?:https?|file)$/i.test(scheme)) return address
  const [, start = '', path = '', query = ''] = /^((?:[^:/?#]+:)?(?:\/\/[^/?#]*)?)([^?]*)(.*)$/s.exec(address) ?? []
  const hasEnd = path !== '' || start === ''
  return `${scheme === '' ? '' : withheldScheme}${start}${path}${hasEnd ? withheldEnd : ''}${query}`
}

const draft04 = 'http://json-schema.org/draft-04/schema'

/** Reports whether any of the dialects of a schema may read a member as an identifier. */
const isIdentifier = (object: Members, key: string, dialects: ReadonlySet<string>): boolean => {
  if (key === 'id' && !dialects.has(draft04)) return false
  if (key === '$id' && dialects.has(draft04) && dialects.size === 1) return false
  // Up to draft-07 nothing beside a reference counts.
  const isOld = dialects.size > 0 && [...dialects].every((each) => /\/draft-0[467]\/schema$/.test(each))
  return !(isOld && typeof object['$ref'] === 'string')
}

/** Replaces the addresses of a parsed schema. Returns whether there were any. */
const withholdIn = (schema: unknown): boolean => {
  const ids = new Set<string>()
  const dialects = new Set<string>()
  let dataIsCompared = true
  visit(schema, [], (_, key, value) => {
    const [address, fragment] = split(value)
    if (key === '$schema') dialects.add(address)
    if (references.has(key) && !namesSchema(fragment)) dataIsCompared = false
  })
  // Helm collects the identifiers of schemas alone, such as none in a default.
  visit(schema, dataIsCompared ? ['data', 'other'] : [], (object, key, value) => {
    const [address] = split(value)
    if (identifiers.has(key) && address !== '' && isIdentifier(object, key, dialects)) ids.add(address)
  })
  const isOwn = (address: string, bases: Bases): boolean =>
    [...bases].every((base) => resolvedAddress(address, base) === ownAddress)
  const isKept = (key: string, address: string): boolean => {
    if (address === '' || address === ownAddress) return true
    return embedded.test(address) && (key === '$schema' || (references.has(key) && !ids.has(address)))
  }
  let hasChanged = false
  visit(schema, dataIsCompared ? ['data'] : [], (object, key, value, bases) => {
    if (key !== '$schema' && !references.has(key) && !identifiers.has(key)) return
    const [address, rest] = split(value)
    const kept = isKept(key, address) ? address : isOwn(address, bases) ? ownAddress : withheld(address)
    const changed = `${kept}${rest}`
    if (changed === value) return
    object[key] = changed
    hasChanged = true
  })
  return hasChanged
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown
/** Numbers keep their digits: helm compares them exactly. */
const keepDigits: SourceReviver = (_, value, { source }) =>
  typeof value === 'number' && source !== undefined ? rawJSON(source) : value

/**
 * Returns the schema for helm's check: every address from which helm would load another document is withheld. What helm
 * cannot parse is replaced by a reference that says so.
 */
export const withholdReferences = (schema: Uint8Array): Uint8Array => {
  try {
    // Helm removes the byte order mark too, and replaces what is not UTF-8.
    const parsed: unknown = JSON.parse(new TextDecoder().decode(schema), keepDigits as (key: string) => unknown)
    return withholdIn(parsed) ? new TextEncoder().encode(toWireJson(parsed)) : schema
  } catch {
    return new TextEncoder().encode(toWireJson({ $ref: unreadableSchema }))
  }
}
