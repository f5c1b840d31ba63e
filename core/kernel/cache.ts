import { portKey } from './port-key.ts'

/** A bounded map in the memory of this process. The least recently used entry is evicted first. */
export interface Cache<K extends string | number, V extends object> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
}

/** The bound of a cache: a number of entries, or the total size of the values. */
export type CacheLimits<V> =
  | { readonly maxEntries: number }
  /** The sizes are positive integers. A value larger than `maxSize` is not stored and evicts nothing. */
  | { readonly maxSize: number; readonly sizeOf: (value: V) => number }

/** Creates caches. Entries have no expiry: the owner of a cache compares ages by its own clock. */
export interface Caches {
  make<K extends string | number, V extends object>(limits: CacheLimits<V>): Cache<K, V>
}
export const CachesPort = portKey<Caches>('kernel.Caches')

/** Returns the value of a key. If there is none, makes it and keeps it. */
export const getOrMake = <K, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => NoInfer<V>,
): V => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
