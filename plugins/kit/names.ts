import { isObject } from '../../core/kernel/json.ts'
import type { ReadShape } from './unknown-fields.ts'

/** A path that is served under another one. `{}` is any one segment; the rest of the path follows. */
export interface OtherPath {
  readonly other: string
  readonly own: string
  /** The listener of the path; `api` by default. */
  readonly listener?: 'api' | 'marketplace'
  /**
   * Only for a GET with a Content-Type, which has no meaning there: it tells clients apart that read one path in two
   * forms.
   */
  readonly ifReadHasContentType?: boolean
}

/** Names of another system that a plugin accepts and gives beside those of this interface. */
export interface NameTable {
  /** Paths of the host, such as `/scim`, that are served as those below the root of the API, with what is below them. */
  readonly hostPaths?: readonly string[]
  /** Below the root of their listener. The first one that fits is used. */
  readonly paths: readonly OtherPath[]
  /** Fields of bodies, and query parameters, by their other name. */
  readonly fields: Readonly<Record<string, string>>
  /** Of fields of received bodies, by the own name of the field: values by the other one. */
  readonly values?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** The facts of a request that decide on its path. */
export interface NamedRead {
  readonly path: string
  readonly isReadWithContentType: boolean
}

export interface Names {
  /** Returns the path below a root that a path of the host stands for; any other path as it is. */
  belowRoot(path: string): string
  /** Returns the path that is served, for a path below the root. */
  ownPath(asked: NamedRead): string
  /** Returns the name of this interface for a field or parameter, if it is a name of the other system. */
  ownField(name: string): string | undefined
  /** Adds parameters under the names of this interface. */
  addOwnParameters(params: URLSearchParams): void
  /** Returns a body with the names of this interface. A field that is there under both names keeps both. */
  withOwnFields(shape: ReadShape | undefined, value: unknown): unknown
  /** Returns an answer that has each such field under both names. */
  withOtherFields(shape: ReadShape | undefined, value: unknown): unknown
}

const segmentsOf = (path: string): readonly string[] => path.split('/').slice(1)

const fits = (template: readonly string[], path: readonly string[]): boolean =>
  template.length <= path.length && template.every((segment, index) => segment === '{}' || segment === path[index])

const replaced = (path: readonly string[], other: readonly string[], own: readonly string[]): string => {
  const values = path.filter((_, index) => other[index] === '{}')
  const start = own.map((segment) => (segment === '{}' ? values.shift() : segment))
  return `/${[...start, ...path.slice(other.length)].join('/')}`
}

type Rename = (object: Record<string, unknown>, fields: ReadonlyMap<string, unknown>) => Record<string, unknown>
const asItIs: Rename = (object) => object

/**
 * Returns a copy of a value in which each object that the shape describes is renamed, `before` and `after` the objects
 * within.
 */
const mapped = (shape: ReadShape | undefined, value: unknown, before: Rename, after: Rename): unknown => {
  if (shape === undefined) return value
  if (shape.kind === 'list')
    return Array.isArray(value) ? value.map((item) => mapped(shape.item, item, before, after)) : value
  if (!isObject(value)) return value
  const copy: Record<string, unknown> = {}
  for (const [key, part] of Object.entries(before({ ...value }, shape.fields)))
    copy[key] = mapped(shape.fields.get(key), part, before, after)
  return after(copy, shape.fields)
}

const ownValue = (others: Readonly<Record<string, string>>, value: string): string =>
  Object.hasOwn(others, value) ? (others[value] ?? value) : value

/** The roots of the listeners that are served, by the listener. */
export type NamedRoots = Readonly<Partial<Record<'api' | 'marketplace', string>>>

/** Returns the names of several tables. */
export const makeNames = (tables: readonly NameTable[], roots: NamedRoots): Names => {
  const paths = tables.flatMap(({ paths: rows }) =>
    rows.map((row) => ({ ...row, other: segmentsOf(row.other), own: segmentsOf(row.own) })),
  )
  const values = new Map(tables.flatMap((each) => Object.entries(each.values ?? {})))
  const fields = tables.flatMap(({ fields: rows }) => Object.entries(rows))
  const hostPaths = roots.api === undefined ? [] : tables.flatMap((each) => each.hostPaths ?? [])
  const hasFields = fields.length + values.size > 0
  return {
    belowRoot: (path) =>
      hostPaths.some((each) => path === each || path.startsWith(`${each}/`)) ? `${roots.api}${path}` : path,
    ownPath({ path, isReadWithContentType }) {
      if (paths.length === 0) return path
      const [listener, root] = Object.entries(roots).find(([, each]) => path.startsWith(`${each}/`)) ?? []
      if (root === undefined) return path
      const segments = segmentsOf(path.slice(root.length))
      const row = paths.find(
        ({ other, listener: served = 'api', ifReadHasContentType }) =>
          served === listener &&
          fits(other, segments) &&
          (ifReadHasContentType !== true || (isReadWithContentType && other.length === segments.length)),
      )
      return row === undefined ? path : root + replaced(segments, row.other, row.own)
    },
    ownField: (name) => fields.find(([other]) => other === name)?.[1],
    addOwnParameters(params) {
      for (const [other, own] of fields)
        if (params.has(other) && !params.has(own)) for (const value of params.getAll(other)) params.append(own, value)
    },
    withOwnFields: (shape, value) =>
      mapped(
        hasFields ? shape : undefined,
        value,
        (object, known) => {
          for (const [other, own] of fields) {
            if (!Object.hasOwn(object, other) || known.has(other) || !known.has(own) || Object.hasOwn(object, own))
              continue
            object[own] = object[other]
            delete object[other]
          }
          for (const [own, others] of values)
            if (known.has(own) && typeof object[own] === 'string') object[own] = ownValue(others, object[own])
          return object
        },
        asItIs,
      ),
    withOtherFields: (shape, value) =>
      mapped(hasFields ? shape : undefined, value, asItIs, (object, known) => {
        for (const [other, own] of fields)
          if (known.has(own) && !known.has(other) && Object.hasOwn(object, own)) object[other] = object[own]
        return object
      }),
  }
}
