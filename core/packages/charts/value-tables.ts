import type { FreeObject, Json } from '../../kernel/json.ts'

/** A map of values, or undefined when it is anything else. */
export const asTable = (value: Json | undefined): FreeObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Number) ? (value as FreeObject) : undefined

const fromEntries = (entries: readonly (readonly [string, Json])[]): FreeObject => Object.fromEntries(entries) as FreeObject

/** Keys that are there; one that is undefined is not. */
export const entriesOf = (table: FreeObject): readonly (readonly [string, Json])[] =>
  Object.entries(table).filter((entry): entry is [string, Json] => entry[1] !== undefined)

const has = (table: FreeObject, key: string): boolean => Object.hasOwn(table, key) && table[key] !== undefined

/** Values as Helm merges them: maps key by key, everything else is replaced; `null` stays, for it says that a default must go. Keys keep the order of the base, new ones follow. */
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
 * The complete set as a helm that puts the chart's defaults below it needs it: each default that the set lacks is given
 * as `fallback` has it (what a subchart brings itself), else as `null`, which takes it away.
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
      .map(([key, value]): readonly [string, Json] => [key, has(fallback, key) ? broughtOver(value, fallback[key] ?? null) : null]),
  ])

/** A default of a subchart's own, where its parent has said more at the same place. */
const broughtOver = (said: Json, own: Json): Json => {
  const [below, behind] = [asTable(said), asTable(own)]
  return below === undefined || behind === undefined ? own : overDefaults(below, {}, behind)
}

/** JSON as it is passed on: numbers that a reader marked as written with a point are plain numbers. */
export const plainJson = (value: Json): Json => {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Number) return value.valueOf()
  if (Array.isArray(value)) return (value as readonly Json[]).map(plainJson)
  return fromEntries(entriesOf(value as FreeObject).map(([key, item]) => [key, plainJson(item)]))
}

/** Every text and number in a value, as text. */
export const textsOf = (value: Json | undefined): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number' || typeof value === 'bigint') return [String(value)]
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(textsOf)
  const table = asTable(value)
  return table === undefined ? [] : entriesOf(table).flatMap(([, item]) => textsOf(item))
}

/** Whether two values are the same, the order of keys included. */
export const isSame = (a: Json | undefined, b: Json | undefined): boolean => {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (a instanceof Number || b instanceof Number) return Object.is(a.valueOf(), b.valueOf())
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [entriesOf(a as FreeObject), entriesOf(b as FreeObject)]
  return left.length === right.length && left.every(([key, value], at) => key === right[at]?.[0] && isSame(value, right[at][1]))
}

/** `/a~1b/c`: a JSON pointer below another one. */
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
  return ours.length === theirs.length && theirs.every(([key, value]) => Object.hasOwn(a, key) && isSameValue(a[key], value))
}

/**
 * The patch that lays overrides on values: `add` for new keys, `replace` for others, lists as a whole. It takes nothing
 * away: a `null` among the overrides is written as such, which tells Helm to drop a default.
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
