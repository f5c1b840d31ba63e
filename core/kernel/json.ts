/** Any JSON value. An integer beyond 2^53 is a bigint. */
export type Json = string | number | bigint | boolean | null | readonly Json[] | FreeObject

/** A free-form JSON object that the service passes through without interpreting it. */
export interface FreeObject {
  readonly [key: string]: Json | undefined
}

/** Reports whether a value is a JSON object: neither null nor a list. */
export const isObject = (value: unknown): value is FreeObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value at a path of keys of a JSON object; undefined for any other value. */
export const at = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce<unknown>(
    (from, key) =>
      typeof from === 'object' && from !== null && Object.hasOwn(from, key)
        ? (from as Record<string, unknown>)[key]
        : undefined,
    value,
  )

/** Returns the text at a path of keys; empty for any other value. */
export const textAt = (value: unknown, ...keys: readonly string[]): string => {
  const found = at(value, ...keys)
  return typeof found === 'string' ? found : ''
}

/** Returns the list at a path of keys; empty for any other value. */
export const listAt = (value: unknown, ...keys: readonly string[]): readonly unknown[] => {
  const found = at(value, ...keys)
  return Array.isArray(found) ? found : []
}

/** Returns the bytes of a base64 text as Latin-1 characters; empty if it is not base64. */
export const decodedText = (base64: string): string => {
  try {
    return atob(base64)
  } catch {
    return ''
  }
}

/** The result of parsing a JSON text. */
export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly why: 'syntax' | 'depth' }
  | { readonly ok: false; readonly why: 'repeated-key'; readonly key: string }
  | { readonly ok: false; readonly why: 'reserved-key' }

/** The maximum nesting depth of arrays and objects. Deeper values could overflow recursive decoders and encoders. */
export const maxJsonDepth = 64

const quote = 34
const backslash = 92
const colon = 58
/** An integer of that many digits may be beyond 2^53. */
const exactDigits = 16

interface Scanned {
  readonly keys: number
  /** Whether a number may be lost or changed by `JSON.parse`: it has 16 digits, a point or an exponent. */
  readonly needsSource: boolean
}

/**
 * Returns the number of keys of a JSON text and what its numbers are like, without parsing it, or undefined if it nests
 * deeper than `limit`.
 */
const scan = (text: string, limit: number): Scanned | undefined => {
  let depth = 0
  let keys = 0
  let digits = 0
  let needsSource = false
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (inString) {
      if (c === backslash) i++
      else if (c === quote) inString = false
      continue
    }
    if (c >= 48 && c <= 57) {
      if (++digits === exactDigits) needsSource = true
      continue
    }
    // A point or an exponent: 46, 69 and 101.
    if (digits > 0 && (c === 46 || c === 69 || c === 101)) needsSource = true
    digits = 0
    if (c === quote) inString = true
    else if (c === colon) keys++
    else if (c === 91 || c === 123) {
      if (++depth > limit) return undefined
    } else if (c === 93 || c === 125) depth--
  }
  return { keys, needsSource }
}

/** The key that JavaScript reserves: code that copies an object by assignment would set its prototype. */
export const reservedKey = '__proto__'

/** Returns the number of keys of a parsed value, at all levels, or undefined if one of them is reserved. */
const keysOf = (value: unknown): number | undefined => {
  if (typeof value !== 'object' || value === null) return 0
  if (Object.hasOwn(value, reservedKey)) return undefined
  const isArray = Array.isArray(value)
  const parts: readonly unknown[] = isArray ? value : Object.values(value)
  let keys = isArray ? 0 : parts.length
  for (const part of parts) {
    if (typeof part !== 'object') continue
    const inside = keysOf(part)
    if (inside === undefined) return undefined
    keys += inside
  }
  return keys
}

const jsonToken = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g

/** Returns the first duplicate key of an object in a valid JSON text. */
const repeatedKey = (text: string): string => {
  // The keys of each open object; undefined for an open array.
  const open: (Set<string> | undefined)[] = []
  let isKeyDue = false
  for (const [token] of text.matchAll(jsonToken)) {
    if (token === '}' || token === ']') open.pop()
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : undefined)
    const keys = open.at(-1)
    if (isKeyDue && token.startsWith('"')) {
      const key = JSON.parse(token) as string
      if (keys?.has(key) === true) return key
      keys?.add(key)
    }
    isKeyDue = keys !== undefined && (token === '{' || token === ',')
  }
  throw new Error('no key of this JSON text is repeated')
}

// A literal with a point or exponent is not an integer literal, even `1.0`.
const integerLiteral = /^-?\d+$/

const reviveNumber = (value: unknown, source: string | undefined): unknown => {
  if (typeof value !== 'number' || source === undefined) return value
  if (!integerLiteral.test(source)) return Number.isInteger(value) ? Object(value) : value
  return Number.isSafeInteger(value) ? value : BigInt(source)
}

/** The text of each number costs several times as much as all else. UUIDs and versions in strings do not need it. */
const parse = (text: string, needsSource: boolean): unknown =>
  needsSource
    ? JSON.parse(text, (_key, parsed: unknown, context?: { source?: string }) => reviveNumber(parsed, context?.source))
    : JSON.parse(text)

/**
 * Parses JSON without losing integer precision: integers beyond 2^53 become bigint. A whole number not written as an
 * integer literal (`1.0`, `1e3`) becomes a Number object, which integer codecs reject and `Float` accepts. Duplicate
 * keys in one object are rejected: `JSON.parse` keeps the last, other parsers the first. So is the reserved key.
 */
export const parseJson = (text: string): ParsedJson => {
  const scanned = scan(text, maxJsonDepth)
  if (scanned === undefined) return { ok: false, why: 'depth' }
  const { keys, needsSource } = scanned
  let value: unknown
  try {
    value = parse(text, needsSource)
  } catch {
    return { ok: false, why: 'syntax' }
  }
  // `JSON.parse` keeps one of several equal keys, so a duplicate is missing from the count.
  const found = keys === 0 ? 0 : keysOf(value)
  if (found === undefined) return { ok: false, why: 'reserved-key' }
  return found === keys ? { ok: true, value } : { ok: false, why: 'repeated-key', key: repeatedKey(text) }
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/**
 * Serializes a value as JSON. A bigint becomes an integer literal. This is the only writer of JSON in the service:
 * `JSON.stringify` throws at a bigint.
 * @param indent spaces for each level; without it the text has no whitespace.
 */
export const toWireJson = (value: unknown, indent?: number): string => {
  try {
    // Few responses contain a bigint, and a replacer costs several times as much.
    return JSON.stringify(value, null, indent)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(
      value,
      (_, item: unknown) => (typeof item === 'bigint' ? rawJSON(item.toString()) : item),
      indent,
    )
  }
}

type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const keepExact: SourceReviver = (_, value, context) =>
  typeof value === 'number' &&
  !Number.isSafeInteger(value) &&
  context.source !== undefined &&
  /^-?[0-9]+$/.test(context.source)
    ? BigInt(context.source)
    : value

/** A reviver costs several times as much as parsing, and few texts have a number of so many digits. */
const longInteger = /(?:^|[:,[])\s*-?\d{16}/

/** Parses JSON text; integer literals beyond 2^53 become bigint. Throws a SyntaxError if the text is not valid. */
export const fromWireJson = (text: string): unknown =>
  longInteger.test(text)
    ? (JSON.parse(text, keepExact as (key: string, value: unknown) => unknown) as unknown)
    : (JSON.parse(text) as unknown)

/** Returns the given fields whose values differ from the current ones. An undefined field is ignored. */
export const changedFields = <C extends object>(
  current: { readonly [K in keyof C]-?: Exclude<C[K], undefined> },
  changes: C,
): Partial<C> =>
  Object.fromEntries(
    Object.entries(changes).filter(([field, value]) => value !== undefined && current[field as keyof C] !== value),
  ) as Partial<C>

/** Reports whether there are no changes. */
export const isUnchanged = (changed: object): boolean => Object.keys(changed).length === 0

/** Reports whether two lists, each without duplicates, have the same elements. */
export const isSameSet = <A>(a: readonly A[], b: readonly A[]): boolean =>
  a.length === b.length && a.every((member) => b.includes(member))

/**
 * Returns the fields that are defined, and leaves the others out: a key whose value is undefined is not a missing key.
 */
export const definedFields = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

/** Returns the fields of a value that a record has. */
export const pickFields = <R extends object, T extends Readonly<Record<keyof R, unknown>>>(
  record: R,
  value: T,
): Pick<T, keyof R> =>
  Object.fromEntries(Object.keys(record).map((field) => [field, value[field as keyof R]])) as Pick<T, keyof R>

/** Returns a value with the keys of its objects in order. */
const sortedKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (!isObject(value) || value instanceof Number) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortedKeys(value[key])]),
  )
}

/** Reports whether two JSON values are equal. The order of keys and the notation of numbers do not count. */
export const isSameJson = (a: unknown, b: unknown): boolean => toWireJson(sortedKeys(a)) === toWireJson(sortedKeys(b))

/** Returns an own property of an object, never an inherited one, for any key. */
export const own = (object: FreeObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

export const ownText = (object: FreeObject, key: string): string => {
  const value = own(object, key)
  return typeof value === 'string' ? value : ''
}

/** Returns the object at an own key; empty if there is none. */
export const ownObject = (object: FreeObject, key: string): FreeObject => {
  const value = own(object, key)
  return isObject(value) ? value : {}
}

/** Returns the object with a key set, or removed if the value is undefined. The key may be any text. */
export const withKey = (object: FreeObject, key: string, value: Json | undefined): FreeObject => {
  const entries = Object.entries(object).filter(([name]) => name !== key)
  return Object.fromEntries(value === undefined ? entries : [...entries, [key, value]])
}

/** Returns the object without the given keys. */
export const withoutKeys = (object: FreeObject, keys: ReadonlySet<string>): FreeObject =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.has(key)))
