import { createHmac } from 'node:crypto'
import { createRequire } from 'node:module'
import ipaddr from 'ipaddr.js'
import type * as library from 'rate-limiter-flexible'
import type { IRateLimiterStoreOptions, RateLimiterAbstract } from 'rate-limiter-flexible'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { AllowanceKind, Allowances, AttemptCount, AttemptCounters } from '../../core/identity/attempt-ports.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { toWireJson } from '../../core/kernel/json.ts'

/**
 * A host with an IPv6 address controls the whole /64 around it, so the /64 is counted. An IPv4 address is counted by
 * itself.
 */
export const networkOf = (address: string): string =>
  address.includes(':')
    ? ipaddr.IPv6.parse(address)
        .parts.slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')
    : address

/** Returns the key under which the work of callers counts who are not known yet: that of their network. */
export const strangersOf = (address: string): string => `network ${networkOf(address)}`

/** The library's types export this class, but its index does not. */
const StoreLimiter = createRequire(import.meta.url)(
  'rate-limiter-flexible/lib/RateLimiterStoreAbstract.js',
) as typeof library.RateLimiterStoreAbstract

export interface Limit {
  readonly points: number
  readonly seconds: number
}

/** Called when the shared store does not answer, so that this process counts by itself. */
export type OnStoreAway = (error: unknown) => void

/** The library's limiter over our own counters. Keys are digests in hex, without a prefix. */
class SharedLimiter extends StoreLimiter {
  readonly #counters: AttemptCounters
  readonly #onStoreAway: OnStoreAway

  constructor(
    counters: AttemptCounters,
    onStoreAway: OnStoreAway,
    options: Omit<IRateLimiterStoreOptions, 'storeClient'>,
  ) {
    super({ ...options, storeClient: counters })
    this.#counters = counters
    this.#onStoreAway = onStoreAway
  }

  /** The store operation that the library requires: adds or, with `isPut`, replaces. */
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

/** Returns the points of a limit while the store is away. */
export const insuredPoints = ({ points }: Limit): number => Math.max(1, Math.floor(points / 2))

/** A limiter on the shared counters, with a local one of half the limit as insurance. */
export const makeSharedLimiter = (
  counters: AttemptCounters,
  onStoreAway: OnStoreAway,
  limit: Limit,
): RateLimiterAbstract =>
  new SharedLimiter(counters, onStoreAway, {
    keyPrefix: '',
    points: limit.points,
    duration: limit.seconds,
    insuranceLimiter: new RateLimiterMemory({ keyPrefix: '', points: insuredPoints(limit), duration: limit.seconds }),
  })

/** The kinds counted by the network of an IP address. The others are counted by their subject. */
const byNetwork: ReadonlySet<AllowanceKind> = new Set([
  'sign-up',
  'password-reset',
  'address-check-network',
  'passkey-challenge',
  'provider-search',
])

/** The numbers of docs/decisions/registration.md, mail.md and invitations.md. */
const allowanceLimits: Readonly<Record<AllowanceKind, Limit>> = {
  'sign-up': { points: 10, seconds: 3600 },
  'sign-up-notice': { points: 3, seconds: 24 * 3600 },
  'password-reset': { points: 30, seconds: 3600 },
  invitation: { points: 200, seconds: 24 * 3600 },
  'invitation-address': { points: 5, seconds: 24 * 3600 },
  'invitation-mailbox': { points: 20, seconds: 24 * 3600 },
  'email-confirmation': { points: 40, seconds: 24 * 3600 },
  'address-check': { points: 30, seconds: 3600 },
  'address-check-network': { points: 120, seconds: 3600 },
  'passkey-challenge': { points: 3000, seconds: 3600 },
  'provider-search': { points: 1000, seconds: 3600 },
  'user-code': { points: 30, seconds: 3600 },
}

export interface AllowancesDeps {
  readonly counters: AttemptCounters
  /** 32 bytes. Keys are digests, so the shared store receives no addresses. */
  readonly key: Secret<Uint8Array>
  readonly log: Log
}

/** The allowances of each network, on shared counters. */
export const makeAllowances = ({ counters, key, log }: AllowancesDeps): Allowances => {
  const onStoreAway = (error: unknown): void =>
    log.error(
      { reason: error instanceof Error ? error.message : 'unknown' },
      'What an address may ask for is counted in this process only: the store does not answer',
    )
  const limiters: Readonly<Record<AllowanceKind, RateLimiterAbstract>> = {
    'sign-up': makeSharedLimiter(counters, onStoreAway, allowanceLimits['sign-up']),
    'sign-up-notice': makeSharedLimiter(counters, onStoreAway, allowanceLimits['sign-up-notice']),
    'password-reset': makeSharedLimiter(counters, onStoreAway, allowanceLimits['password-reset']),
    invitation: makeSharedLimiter(counters, onStoreAway, allowanceLimits.invitation),
    'invitation-address': makeSharedLimiter(counters, onStoreAway, allowanceLimits['invitation-address']),
    'invitation-mailbox': makeSharedLimiter(counters, onStoreAway, allowanceLimits['invitation-mailbox']),
    'email-confirmation': makeSharedLimiter(counters, onStoreAway, allowanceLimits['email-confirmation']),
    'address-check': makeSharedLimiter(counters, onStoreAway, allowanceLimits['address-check']),
    'address-check-network': makeSharedLimiter(counters, onStoreAway, allowanceLimits['address-check-network']),
    'passkey-challenge': makeSharedLimiter(counters, onStoreAway, allowanceLimits['passkey-challenge']),
    'provider-search': makeSharedLimiter(counters, onStoreAway, allowanceLimits['provider-search']),
    'user-code': makeSharedLimiter(counters, onStoreAway, allowanceLimits['user-code']),
  }
  return {
    async take(kind, subject) {
      const of = byNetwork.has(kind) ? networkOf(subject) : subject
      const place = createHmac('sha256', key.reveal())
        .update(toWireJson(['allowance', kind, of]))
        .digest('hex')
      try {
        await limiters[kind].consume(place)
        return undefined
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return Math.max(1, Math.ceil(refused.msBeforeNext / 1000))
        throw refused
      }
    },
  }
}
