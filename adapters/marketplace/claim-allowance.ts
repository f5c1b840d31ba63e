import ipaddr from 'ipaddr.js'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { ClaimAllowance } from '../../core/marketplace/ports.ts'

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
