import type { FreeObject, Json } from '../../kernel/json.ts'
import { isObject } from '../../kernel/json.ts'

/** Returns an own property of an object, never an inherited one, for any key. */
export const own = (object: FreeObject, key: string): Json | undefined => (Object.hasOwn(object, key) ? object[key] : undefined)

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
export const withoutKeys = (object: FreeObject, keys: ReadonlySet<string>): FreeObject => Object.fromEntries(Object.entries(object).filter(([key]) => !keys.has(key)))
