import { getOrMake } from '../../kernel/cache.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'

/** Returns a map of values, or undefined for any other value. */
export const asTable = (value: Json | undefined): FreeObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Number)
    ? (value as FreeObject)
    : undefined

const fromEntries = (entries: readonly (readonly [string, Json])[]): FreeObject =>
  Object.fromEntries(entries) as FreeObject

/** Returns the entries whose value is not undefined. */
export const entriesOf = (table: FreeObject): readonly (readonly [string, Json])[] =>
  Object.entries(table).filter((entry): entry is [string, Json] => entry[1] !== undefined)

const has = (table: FreeObject, key: string): boolean => Object.hasOwn(table, key) && table[key] !== undefined

/**
 * Merges values as Helm does: maps key by key, all other values are replaced. `null` is kept, because it removes a
 * default. Keys keep the order of the base; new keys follow.
 */
export const mergeTables = (base: FreeObject, over: FreeObject): FreeObject =>
  fromEntries([
    ...entriesOf(base).map(([key, value]): readonly [string, Json] => {
      const given = has(over, key) ? (over[key] ?? null) : value
      const [below, above] = [asTable(value), asTable(given)]
      return [key, given === value || below === undefined || above === undefined ? given : mergeTables(below, above)]
    }),
    ...entriesOf(over).filter(([key]) => !has(base, key)),
  ])

/**
 * Converts a complete set of values for a helm that merges the chart's defaults below it. Each default that is missing
 * from the set is added with its value in `fallback` (a subchart's own default), or else as `null`, which removes it.
 */
export const overDefaults = (defaults: FreeObject, complete: FreeObject, fallback: FreeObject = {}): FreeObject =>
  fromEntries([
    ...entriesOf(complete).map(([key, value]): readonly [string, Json] => {
      const below = has(defaults, key) ? asTable(defaults[key]) : undefined
      const own = asTable(value)
      const behind = has(fallback, key) ? asTable(fallback[key]) : undefined
      return [key, below === undefined || own === undefined ? value : overDefaults(below, own, behind)]
    }),
    ...entriesOf(defaults)
      .filter(([key]) => !has(complete, key))
      .map(([key, value]): readonly [string, Json] => [
        key,
        has(fallback, key) ? broughtOver(value, fallback[key] ?? null) : null,
      ]),
  ])

/** Returns a subchart's own default where its parent sets more at the same path. */
const broughtOver = (said: Json, own: Json): Json => {
  const [below, behind] = [asTable(said), asTable(own)]
  return below === undefined || behind === undefined ? own : overDefaults(below, {}, behind)
}

/** The place of a part of a table: the keys to it, and whether all below it belongs to the part. */
export interface PartPath {
  readonly names: readonly string[]
  readonly isWhole: boolean
}

/** Returns the paths of the values of a table that are not tables, and of its empty tables. */
export const leafPaths = (table: FreeObject, names: readonly string[] = []): readonly PartPath[] => {
  const entries = entriesOf(table)
  if (entries.length === 0 && names.length > 0) return [{ names, isWhole: false }]
  return entries.flatMap(([key, value]): readonly PartPath[] => {
    const below = asTable(value)
    return below === undefined ? [{ names: [...names, key], isWhole: true }] : leafPaths(below, [...names, key])
  })
}

/**
 * Returns only the parts of a table at the given paths. A path that leads through another value than a table takes that
 * value.
 */
export const partsAt = (table: FreeObject, paths: readonly PartPath[], depth = 0): FreeObject => {
  if (paths.some(({ names, isWhole }) => isWhole && names.length === depth)) return table
  const byKey = new Map<string, PartPath[]>()
  for (const path of paths) {
    const key = path.names[depth]
    if (key !== undefined) getOrMake(byKey, key, () => []).push(path)
  }
  return fromEntries(
    entriesOf(table).flatMap(([key, value]): readonly (readonly [string, Json])[] => {
      const within = byKey.get(key)
      if (within === undefined) return []
      const below = asTable(value)
      return [[key, below === undefined ? value : partsAt(below, within, depth + 1)]]
    }),
  )
}

/** Values of a record, as dotted paths. */
export interface RepeatedDefaults {
  /** Values that repeat a default of the record's chart, where another version of the chart has another default. */
  readonly outdated: readonly string[]
  /** Values that differ from the defaults of the record's chart. */
  readonly own: readonly string[]
}

/** Compares the values of a record with the defaults of its chart and with those of another version of the chart. */
export const repeatedDefaults = (config: FreeObject, defaults: FreeObject, next: FreeObject): RepeatedDefaults => {
  const outdated: string[] = []
  const own: string[] = []
  const compare = (given: FreeObject, before: FreeObject, after: FreeObject | undefined, path: string): void => {
    for (const [key, value] of entriesOf(given)) {
      const [was, will] = [
        has(before, key) ? before[key] : undefined,
        after !== undefined && has(after, key) ? after[key] : undefined,
      ]
      const at = path === '' ? key : `${path}.${key}`
      const [below, belowBefore] = [asTable(value), asTable(was)]
      if (below !== undefined && belowBefore !== undefined && entriesOf(belowBefore).length > 0) {
        compare(below, belowBefore, asTable(will), at)
      } else if (was === undefined || !isSameValue(was, value)) own.push(at)
      else if (!isSameValue(will, value)) outdated.push(at)
    }
  }
  compare(config, defaults, next, '')
  return { outdated, own }
}

/** Returns plain JSON: numbers that the reader marked as written with a decimal point become ordinary numbers. */
export const plainJson = (value: Json): Json => {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Number) return value.valueOf()
  if (Array.isArray(value)) return (value as readonly Json[]).map(plainJson)
  return fromEntries(entriesOf(value as FreeObject).map(([key, item]) => [key, plainJson(item)]))
}

/** Reports whether two values are equal, including the order of keys. */
export const isSame = (a: Json | undefined, b: Json | undefined): boolean => {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (a instanceof Number || b instanceof Number) return Object.is(a.valueOf(), b.valueOf())
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [entriesOf(a as FreeObject), entriesOf(b as FreeObject)]
  return (
    left.length === right.length &&
    left.every(([key, value], at) => key === right[at]?.[0] && isSame(value, right[at][1]))
  )
}

/** Appends a key to a JSON pointer: `/a~1b/c`. */
const pointer = (base: string, key: string): string => `${base}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`

const isSameValue = (one: Json | undefined, other: Json): boolean => {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    const [a, b] = [one as readonly Json[], other as readonly Json[]]
    return a.length === b.length && a.every((item, index) => isSameValue(item, b[index] ?? null))
  }
  const [a, b] = [asTable(one), asTable(other)]
  if (a === undefined || b === undefined) return false
  const [ours, theirs] = [entriesOf(a), entriesOf(b)]
  return (
    ours.length === theirs.length && theirs.every(([key, value]) => Object.hasOwn(a, key) && isSameValue(a[key], value))
  )
}

/**
 * Returns the JSON patch that applies overrides to values: `add` for new keys, `replace` for existing ones, lists as a
 * whole. It removes nothing: a `null` among the overrides is written as null, which makes Helm remove a default.
 */
export const overridePatch = (values: FreeObject, overrides: FreeObject, base = ''): readonly FreeObject[] =>
  entriesOf(overrides).flatMap(([key, given]): readonly FreeObject[] => {
    const path = pointer(base, key)
    const value = plainJson(given)
    if (!Object.hasOwn(values, key) || values[key] === undefined) return [{ op: 'add', path, value }]
    const [below, above] = [asTable(values[key]), asTable(value)]
    if (below !== undefined && above !== undefined) return overridePatch(below, above, path)
    return isSameValue(values[key], value) ? [] : [{ op: 'replace', path, value }]
  })
