import type { FreeObject, Json } from '../../kernel/json.ts'

/** A JSON object, told from arrays and null. */
export const isObject = (value: Json | undefined): value is FreeObject => typeof value === 'object' && value !== null && !Array.isArray(value)

/** An own value of an object: never what an object inherits, whatever the key is called. */
export const own = (object: FreeObject, key: string): Json | undefined => (Object.hasOwn(object, key) ? object[key] : undefined)

export const ownText = (object: FreeObject, key: string): string => {
  const value = own(object, key)
  return typeof value === 'string' ? value : ''
}

/** The own object at a key; an empty one where there is none. */
export const ownObject = (object: FreeObject, key: string): FreeObject => {
  const value = own(object, key)
  return isObject(value) ? value : {}
}

/** The object with a key set, or taken away where the value is undefined. The key may be any text. */
export const withKey = (object: FreeObject, key: string, value: Json | undefined): FreeObject => {
  const entries = Object.entries(object).filter(([name]) => name !== key)
  return Object.fromEntries(value === undefined ? entries : [...entries, [key, value]])
}

/** The object without those of its keys. */
export const withoutKeys = (object: FreeObject, keys: ReadonlySet<string>): FreeObject => Object.fromEntries(Object.entries(object).filter(([key]) => !keys.has(key)))
