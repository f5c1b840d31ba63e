import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../../core/kernel/failure.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { InvalidFilter } from '../../../core/provisioning/ports.ts'
import type { Place, ResourceShape } from './attributes.ts'
import { findAttribute } from './attributes.ts'
import type { Filter } from './filter.ts'
import { parseFilter } from './filter.ts'
import { findInResource, fulfils } from './resource.ts'

/** A condition that the store has an index for. */
interface Lookup<By extends string> {
  readonly by: By
  readonly value: string
}

/** A filter of a request. */
export interface RequestFilter<By extends string> {
  /** Each of them narrows the rows. */
  readonly lookups: readonly Lookup<By>[]
  readonly fulfilledBy: (resource: FreeObject) => boolean
  /** Returns how often the filter names an attribute. */
  readonly countOf: (attribute: string) => number
}

const pathsOf = (filter: Filter): readonly string[] => {
  switch (filter.kind) {
    case 'both':
    case 'either':
      return filter.of.flatMap(pathsOf)
    case 'not':
      return pathsOf(filter.of)
    default:
      return [filter.path]
  }
}

const indexedName = ({ extension, attribute, part }: Place): string =>
  extension === undefined ? `${attribute.name}${part === undefined ? '' : `.${part.name}`}` : ''

/** Returns the conditions with an index that every row must meet which meets the filter. */
const lookupsIn = <By extends string>(
  shape: ResourceShape,
  indexes: Readonly<Record<string, By>>,
  filter: Filter,
  within = '',
): readonly Lookup<By>[] => {
  if (filter.kind === 'both') return filter.of.flatMap((each) => lookupsIn(shape, indexes, each, within))
  if (filter.kind === 'element') return lookupsIn(shape, indexes, filter.of, `${filter.path}.`)
  if (filter.kind !== 'compare' || filter.by !== 'eq' || typeof filter.value !== 'string') return []
  const place = findAttribute(shape, `${within}${filter.path}`)
  const by = place === undefined ? undefined : indexes[indexedName(place)]
  return by === undefined ? [] : [{ by, value: filter.value }]
}

/** Reads the parameter `filter`. `indexes` are the attributes that the store has an index for. */
export const readFilter = <By extends string>(
  shape: ResourceShape,
  indexes: Readonly<Record<string, By>>,
  text: string | undefined,
): Either<Failure<'InvalidFilter'>, RequestFilter<By> | undefined> => {
  if (text === undefined || text.trim() === '') return right(undefined)
  const parsed = parseFilter(text)
  if (isLeft(parsed)) return left(InvalidFilter(`The filter is not valid: ${parsed.left}.`))
  const filter = parsed.right
  const paths = pathsOf(filter)
  const unknown = paths.find((path) => findAttribute(shape, path) === undefined)
  if (unknown !== undefined) return left(InvalidFilter(`The resource has no attribute ${unknown.slice(0, 100)}.`))
  return right({
    lookups: lookupsIn(shape, indexes, filter),
    fulfilledBy: (resource) => fulfils(filter, findInResource(shape, resource)),
    countOf: (name) => paths.filter((path) => findAttribute(shape, path)?.attribute.name === name).length,
  })
}
