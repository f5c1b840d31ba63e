import type { FreeObject, Json } from '../../core/kernel/json.ts'

/** Values while rules work on them: a Map, in which no key means anything to the language. */
export type Table = Map<string, Value>
/** A list counts as one value: lists are replaced, never merged. */
export type Value = Table | Exclude<Json, FreeObject> | undefined

export const isTable = (value: unknown): value is Table => value instanceof Map

const isObject = (value: Json | undefined): value is FreeObject => typeof value === 'object' && value !== null && !Array.isArray(value)

export const tableOf = (object: FreeObject): Table =>
  new Map(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, isObject(value) ? tableOf(value) : (value as Value)]),
  )

export const objectOf = (table: Table): FreeObject =>
  Object.fromEntries([...table].map(([key, value]) => [key, isTable(value) ? objectOf(value) : value]))

export const copyOf = (table: Table): Table => new Map([...table].map(([key, value]) => [key, isTable(value) ? copyOf(value) : value]))

/** What stands at a dotted path; undefined also where a part of the path is no table. */
export const valueAt = (table: Table, path: string): Value => {
  let at: Value = table
  for (const key of path.split('.')) {
    if (!isTable(at)) return undefined
    at = at.get(key)
  }
  return at
}

/** Tables nested along a dotted path, with this one innermost. */
export const nestedAt = (path: string, innermost: Table): Table =>
  path === '.' ? innermost : path.split('.').reduceRight<Table>((inner, key) => new Map([[key, inner]]), innermost)

/**
 * Adds to `over` what only `under` has, table by table; `over` decides. A null in `over` takes away what `under` has there,
 * unless nulls are kept for a later merge. Changes `over`.
 */
export const mergeUnder = (over: Table, under: Table, keepsNulls: boolean): Table => {
  const removed = keepsNulls ? [] : [...over].filter(([key, value]) => value === null && under.has(key)).map(([key]) => key)
  for (const [key, value] of under) {
    const own = over.get(key)
    if (!over.has(key)) over.set(key, value)
    else if (isTable(value) && isTable(own)) mergeUnder(own, value, keepsNulls)
  }
  for (const key of removed) over.delete(key)
  return over
}
