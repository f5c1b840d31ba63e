import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { EgressAllowance } from './egress-allowance.ts'
import { EgressRefused, kindOf, type Resolver } from './egress-policy.ts'

/** Where URLs that users give may lead: public addresses by https, and what the operator allowed, also by http. */
export interface UserUrlPolicy {
  /** Why this URL must not be asked for, in words for its author; undefined when nothing speaks against it yet. */
  refusal(url: URL): string | undefined
  /** For `net.connect`: every answer of the resolver is judged, and the connection goes to a judged address. */
  lookupFor(url: URL): LookupFunction
}

/** One text for what does not exist, does not answer and must not be reached: nobody maps a network by the difference. */
export const notReached = (host: string): string =>
  `${host} cannot be reached from here: it does not exist, does not answer, or is not allowed. By http only what the operator allows is reached.`

const hostOf = (url: URL): string => (url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname)

/** @param resolver stands in for the system's resolver in tests. */
export const makeUserUrlPolicy = (allowance: EgressAllowance, resolver: Resolver = systemLookup): UserUrlPolicy => {
  const permits = (url: URL, address: string): boolean => {
    const kind = kindOf(address)
    if (kind === undefined) return false
    return allowance.hasHost(url) || allowance.hasAddress(address) || (kind === 'public' && url.protocol === 'https:')
  }
  return {
    refusal(url) {
      if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'Only https addresses are used.'
      if (url.username !== '' || url.password !== '') return 'The address must not carry a user name or password.'
      const host = hostOf(url)
      if (isIP(host) !== 0) return permits(url, host) ? undefined : notReached(url.hostname)
      // A name that is not listed may still stand for an address of a range: judged when it is resolved.
      return undefined
    },
    lookupFor: (url) => (hostname, options, done) => {
      const family = options.family === 4 || options.family === 'IPv4' ? 4 : options.family === 6 || options.family === 'IPv6' ? 6 : 0
      resolver(hostname, { all: true, family }, (error, addresses) => {
        if (error !== null) return done(error, '', 0)
        const [first] = addresses
        // Which address it was stays here: names inside of this network are nobody's business.
        if (first === undefined || !addresses.every(({ address }) => permits(url, address)))
          return done(new EgressRefused(notReached(url.hostname)), '', 0)
        return options.all === true ? done(null, addresses) : done(null, first.address, first.family)
      })
    },
  }
}
