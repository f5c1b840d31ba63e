import type { FreeObject, Json } from '../kernel/json.ts'
import { asTable, entriesOf, plainJson } from './value-tables.ts'

/** `/a~1b/c`: a JSON pointer below another one. */
const pointer = (base: string, key: string): string => `${base}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`

const isSame = (one: Json | undefined, other: Json): boolean => {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    const [a, b] = [one as readonly Json[], other as readonly Json[]]
    return a.length === b.length && a.every((item, index) => isSame(item, b[index] ?? null))
  }
  const [a, b] = [asTable(one), asTable(other)]
  if (a === undefined || b === undefined) return false
  const [ours, theirs] = [entriesOf(a), entriesOf(b)]
  return ours.length === theirs.length && theirs.every(([key, value]) => Object.hasOwn(a, key) && isSame(a[key], value))
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
    return isSame(values[key], value) ? [] : [{ op: 'replace', path, value }]
  })
