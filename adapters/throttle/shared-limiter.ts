import { createRequire } from 'node:module'
import ipaddr from 'ipaddr.js'
import type * as library from 'rate-limiter-flexible'
import type { IRateLimiterStoreOptions, RateLimiterAbstract } from 'rate-limiter-flexible'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { AttemptCount, AttemptCounters } from '../../core/identity/authentication/ports.ts'

/** Whoever has an IPv6 address has the whole /64 around it, so that is what counts; an IPv4 address counts for itself. */
export const networkOf = (address: string): string =>
  address.includes(':') ? ipaddr.IPv6.parse(address).parts.slice(0, 4).map((part) => part.toString(16)).join(':') : address

/** The library's types name this class among its exports, its index does not. */
const StoreLimiter = createRequire(import.meta.url)('rate-limiter-flexible/lib/RateLimiterStoreAbstract.js') as typeof library.RateLimiterStoreAbstract

export interface Limit {
  readonly points: number
  readonly seconds: number
}

/** Told when the shared store did not answer, so that this process counts by itself. */
export type OnStoreAway = (error: unknown) => void

/** The library's limiter over our own counters. Keys are digests in hex; there is no prefix. */
class SharedLimiter extends StoreLimiter {
  readonly #counters: AttemptCounters
  readonly #onStoreAway: OnStoreAway

  constructor(counters: AttemptCounters, onStoreAway: OnStoreAway, options: Omit<IRateLimiterStoreOptions, 'storeClient'>) {
    super({ ...options, storeClient: counters })
    this.#counters = counters
    this.#onStoreAway = onStoreAway
  }

  /** What the library asks of a store: adds, or with `isPut` puts in place. */
  _upsert(key: string, points: number, milliseconds: number, isPut: boolean): Promise<AttemptCount> {
    return this.#asked(async () => {
      if (!isPut) return this.#counters.add(bytesOf(key), points, milliseconds)
      await this.#counters.put(bytesOf(key), points, milliseconds)
      return { points, millisecondsLeft: milliseconds }
    })
  }

  async _get(key: string): Promise<AttemptCount | null> {
    return (await this.#asked(() => this.#counters.find(bytesOf(key)))) ?? null
  }

  _delete(key: string): Promise<boolean> {
    return this.#asked(() => this.#counters.remove(bytesOf(key)))
  }

  _getRateLimiterRes(_key: string, changed: number, count: AttemptCount): RateLimiterRes {
    const remaining = Math.max(this.points - count.points, 0)
    return new RateLimiterRes(remaining, count.millisecondsLeft, count.points, changed === count.points)
  }

  async #asked<A>(ask: () => Promise<A>): Promise<A> {
    try {
      return await ask()
    } catch (error) {
      this.#onStoreAway(error)
      throw error
    }
  }
}

const bytesOf = (key: string): Uint8Array => Buffer.from(key, 'hex')

/** How many points a limit has while the store is away. */
export const insuredPoints = ({ points }: Limit): number => Math.max(1, Math.floor(points / 2))

/** A limiter on the shared counters, insured by one in this process at half the limit. */
export const makeSharedLimiter = (counters: AttemptCounters, onStoreAway: OnStoreAway, limit: Limit): RateLimiterAbstract =>
  new SharedLimiter(counters, onStoreAway, {
    keyPrefix: '',
    points: limit.points,
    duration: limit.seconds,
    insuranceLimiter: new RateLimiterMemory({ keyPrefix: '', points: insuredPoints(limit), duration: limit.seconds }),
  })
