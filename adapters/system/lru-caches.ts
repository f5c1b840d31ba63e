import { LRUCache } from 'lru-cache'
import type { Cache, CacheLimits, Caches } from '../../core/kernel/cache.ts'

/** Caches on lru-cache. */
export const lruCaches: Caches = {
  make: <K extends string | number, V extends object>(limits: CacheLimits<V>): Cache<K, V> =>
    'maxEntries' in limits
      ? new LRUCache<K, V>({ max: limits.maxEntries })
      : new LRUCache<K, V>({ maxSize: limits.maxSize, sizeCalculation: limits.sizeOf }),
}
