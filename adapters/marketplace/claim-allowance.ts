import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Caches } from '../../core/kernel/cache.ts'
import type { ClaimAllowance, NotificationLimits } from '../../core/marketplace/ports.ts'

/** A host with an IPv6 address has the whole /64 around it. */
const networkOf = (address: string): string =>
  ipaddr.IPv6.isValid(address) && !ipaddr.IPv4.isValid(address)
    ? ipaddr.IPv6.parse(address).parts.slice(0, 4).join(':')
    : address

/** ClaimAllowance for each address, counted in this process: by default 10 questions a second. */
export const makeClaimAllowance = ({ points = 10, seconds = 1 } = {}): ClaimAllowance => {
  const limiter = new RateLimiterMemory({ points, duration: seconds })
  return {
    async take(address) {
      try {
        await limiter.consume(networkOf(address))
        return undefined
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return Math.max(1, Math.ceil(refused.msBeforeNext / 1000))
        throw refused
      }
    },
  }
}

/** Addresses and installers that are counted at once. The oldest are forgotten: they are counted from zero again. */
const mostCounted = 10_000

interface Window {
  readonly endsAt: number
  count: number
}

const windowMilliseconds = 60_000

/** Counts what has a key, in windows of a minute that begin with their first one. */
const makeCounter = (caches: Caches, points: number, nowMs: () => number): ((key: string) => number | undefined) => {
  const windows = caches.make<string, Window>({ maxEntries: mostCounted })
  return (key) => {
    const now = nowMs()
    const known = windows.get(key)
    const window = known !== undefined && now < known.endsAt ? known : { endsAt: now + windowMilliseconds, count: 0 }
    if (window !== known) windows.set(key, window)
    window.count += 1
    return window.count > points ? Math.max(1, Math.ceil((window.endsAt - now) / 1000)) : undefined
  }
}

/**
 * NotificationLimits in the memory of this process. By default an address may be refused 30 times a minute, and 120
 * binds of a minute may name one installer: one that repeats its bind in 50 copies is served.
 */
export const makeNotificationLimits = (
  caches: Caches,
  { refused = 30, binds = 120, nowMs = (): number => performance.now() } = {},
): NotificationLimits => {
  const countRefused = makeCounter(caches, refused, nowMs)
  return { refused: (address) => countRefused(networkOf(address)), bind: makeCounter(caches, binds, nowMs) }
}
