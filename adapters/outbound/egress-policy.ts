import { lookup as resolve, type LookupAddress } from 'node:dns'
import { isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Where connections may go. Link-local, multicast, reserved and cloud metadata addresses are refused whatever is allowed. */
export type AddressKind = 'public' | 'private' | 'loopback'

/** Connects to nothing itself: tells whether an address may be connected to, and resolves names under that rule. */
export interface EgressPolicy {
  /** Why this URL must not be connected to, in words for its author, or undefined. Names are judged when they are resolved. */
  refusal(url: URL): string | undefined
  /** For `net.connect` and undici's `connect`: every answer is checked, and the connection goes to a checked one. */
  readonly lookup: LookupFunction
}

/** Thrown through a socket's error when a name resolved to an address that is refused. */
export class EgressRefused extends Error {
  readonly code = 'EGRESS_REFUSED'
}

export type Resolver = (
  hostname: string,
  options: { readonly all: true; readonly family?: number },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Metadata services outside the link-local range. */
const metadataAddresses: ReadonlySet<string> = new Set(['100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'])

/** One spelling: without dotted tails, which the library reads as another address than the socket does. */
export const parseAddress = (address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined => {
  if (isIPv4(address)) return ipaddr.IPv4.parse(address)
  if (!isIPv6(address) || address.includes('%')) return undefined
  return ipaddr.process(new URL(`http://[${address}]`).hostname.slice(1, -1))
}

/** Of IPv6 only what is handed out for the public network; whatever else is called unicast leads nowhere, or back here. */
const isGlobal = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  address instanceof ipaddr.IPv4 || ((address.parts[0] ?? 0) & 0xe000) === 0x2000

/** What kind of address this is; undefined for those that are never allowed. */
export const kindOf = (address: string): AddressKind | undefined => {
  const parsed = parseAddress(address)
  if (parsed === undefined || metadataAddresses.has(parsed.toString())) return undefined
  switch (parsed.range()) {
    case 'unicast':
      return isGlobal(parsed) ? 'public' : undefined
    case 'private':
    case 'uniqueLocal':
    case 'carrierGradeNat':
      return 'private'
    case 'loopback':
      return 'loopback'
    default:
      return undefined
  }
}

const hostOf = (url: URL): string => (url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname)

const describe = (address: string): string => {
  const kind = kindOf(address)
  return kind === undefined ? `The address ${address} is never allowed.` : `The address ${address} is ${kind}, and ${kind} addresses are not allowed here.`
}

/** @param resolver stands in for the system's resolver in tests. */
export const makeEgressPolicy = (allowed: ReadonlySet<AddressKind>, resolver: Resolver = resolve): EgressPolicy => {
  const permits = (address: string): boolean => {
    const kind = kindOf(address)
    return kind !== undefined && allowed.has(kind)
  }
  const lookup: LookupFunction = (hostname, options, done) => {
    const family = options.family === 4 || options.family === 'IPv4' ? 4 : options.family === 6 || options.family === 'IPv6' ? 6 : 0
    resolver(hostname, { all: true, family }, (error, addresses) => {
      if (error !== null) return done(error, '', 0)
      const refused = addresses.find(({ address }) => !permits(address))
      if (refused !== undefined) return done(new EgressRefused(`${hostname} is not allowed: ${describe(refused.address)}`), '', 0)
      const [first] = addresses
      if (first === undefined) return done(new EgressRefused(`${hostname} has no address.`), '', 0)
      if (options.all === true) return done(null, addresses)
      return done(null, first.address, first.family)
    })
  }
  return {
    lookup,
    refusal(url) {
      if (url.protocol !== 'https:') return 'The server must be reached by https.'
      if (url.username !== '' || url.password !== '') return 'The server address must not carry a user name or password.'
      const host = hostOf(url)
      if (isIP(host) !== 0 && !permits(host)) return describe(host)
      return undefined
    },
  }
}
