import type { LookupFunction } from 'node:net'
import { isIP, isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { Resolver } from './name-resolver.ts'
import { makeNameResolver } from './name-resolver.ts'

/** The kinds of allowed addresses. Link-local, multicast, reserved and cloud metadata addresses are always refused. */
export type AddressKind = 'public' | 'private' | 'loopback'

/**
 * Reports whether an address may be connected to, and resolves names under that rule. It opens no connection itself.
 */
export interface EgressPolicy {
  /**
   * Returns why this URL must not be connected to, for its author, or undefined. Names are checked when they are
   * resolved.
   */
  refusal(url: URL): string | undefined
  /**
   * For `net.connect` and undici's `connect`: every resolved address is checked, and the connection uses a checked
   * address.
   */
  readonly lookup: LookupFunction
}

/** Emitted as a socket's error if a name resolved to a refused address. */
export class EgressRefused extends Error {
  readonly code = 'EGRESS_REFUSED'
}

/** Metadata services outside the link-local range. */
const metadataAddresses: ReadonlySet<string> = new Set([
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
])

/**
 * Parses an address in one spelling only: without dotted tails, which the library parses to another address than the
 * socket does.
 */
const parseAddress = (address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined => {
  if (isIPv4(address)) return ipaddr.IPv4.parse(address)
  if (!isIPv6(address) || address.includes('%')) return undefined
  return ipaddr.process(new URL(`http://[${address}]`).hostname.slice(1, -1))
}

/**
 * Reports whether an address is global. For IPv6 these are only the ranges allocated to the public network; other
 * unicast addresses are unroutable or local.
 */
const isGlobal = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  address instanceof ipaddr.IPv4 || ((address.parts[0] ?? 0) & 0xe000) === 0x2000

/** Returns the kind of an address, or undefined if it is never allowed. @internal */
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

/**
 * @param resolver the look-ups of one service share one.
 * @param setting the setting by which the operator allows other kinds of addresses, if there is one. A refusal names it.
 */
export const makeEgressPolicy = (
  allowed: ReadonlySet<AddressKind>,
  resolver: Resolver = makeNameResolver().lookup,
  setting?: string,
): EgressPolicy => {
  const describe = (address: string): string => {
    const kind = kindOf(address)
    if (kind === undefined) return `The address ${address} is never allowed.`
    const way = setting === undefined ? '' : ` An operator can allow them with ${setting}.`
    return `The address ${address} is ${kind}, and ${kind} addresses are not allowed here.${way}`
  }
  const permits = (address: string): boolean => {
    const kind = kindOf(address)
    return kind !== undefined && allowed.has(kind)
  }
  const lookup: LookupFunction = (hostname, options, done) => {
    const family =
      options.family === 4 || options.family === 'IPv4' ? 4 : options.family === 6 || options.family === 'IPv6' ? 6 : 0
    resolver(hostname, { all: true, family }, (error, addresses) => {
      if (error !== null) return done(error, '', 0)
      const refused = addresses.find(({ address }) => !permits(address))
      if (refused !== undefined)
        return done(new EgressRefused(`${hostname} is not allowed: ${describe(refused.address)}`), '', 0)
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
      if (url.username !== '' || url.password !== '')
        return 'The server address must not carry a user name or password.'
      const host = hostOf(url)
      if (isIP(host) !== 0 && !permits(host)) return describe(host)
      return undefined
    },
  }
}

/** A host or range that the operator allowed for URLs of users. */
export type EgressTarget =
  | {
      readonly kind: 'host'
      readonly text: string
      readonly host: string
      readonly isWildcard: boolean
      readonly port: number | undefined
    }
  | { readonly kind: 'range'; readonly text: string; readonly range: readonly [ipaddr.IPv4 | ipaddr.IPv6, number] }

/** What the operator allowed. It never contains link-local, metadata or other special addresses. */
export interface EgressAllowance {
  /** Compares the name only, before it is resolved. */
  hasHost(url: URL): boolean
  hasAddress(address: string): boolean
  /** Reports whether the host is listed with this port: the operator means a service that is not one of the web. */
  hasPort(url: URL): boolean
}

const hostPattern =
  /^(\*\.)?((?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?::(\d{1,5}))?$/

const readRange = (text: string): EgressTarget | undefined => {
  const [address = '', bits] = text.split('/')
  if (isIP(address) === 0) return undefined
  const cidr = bits === undefined ? `${address}/${isIP(address) === 4 ? 32 : 128}` : text
  return ipaddr.isValidCIDR(cidr) ? { kind: 'range', text, range: ipaddr.parseCIDR(cidr) } : undefined
}

/** Returns undefined if the text is neither a host nor a range. */
export const readEgressTarget = (text: string): EgressTarget | undefined => {
  if (isIP(text.split('/')[0] ?? '') !== 0) return readRange(text)
  const [whole, star, host, port] = hostPattern.exec(text.toLowerCase()) ?? []
  // A name of digits and dots is an address that resolvers interpret in different ways.
  if (whole === undefined || host === undefined || /^[\d.]+$/.test(host) || Number(port ?? 1) > 65_535) return undefined
  return {
    kind: 'host',
    text,
    host,
    isWildcard: star !== undefined,
    port: port === undefined ? undefined : Number(port),
  }
}

const portOf = (url: URL): number => (url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port))

const isHost = (url: URL, target: Extract<EgressTarget, { readonly kind: 'host' }>): boolean => {
  const name = url.hostname.toLowerCase().replace(/\.$/, '')
  if (target.port !== undefined && target.port !== portOf(url)) return false
  return target.isWildcard ? name.endsWith(`.${target.host}`) : name === target.host
}

export const makeEgressAllowance = (targets: readonly EgressTarget[]): EgressAllowance => ({
  hasHost: (url) => targets.some((target) => target.kind === 'host' && isHost(url, target)),
  hasPort: (url) =>
    targets.some((target) => target.kind === 'host' && target.port !== undefined && isHost(url, target)),
  hasAddress: (address) => {
    const parsed = kindOf(address) === undefined ? undefined : parseAddress(address)
    if (parsed === undefined) return false
    return targets.some(
      (target) =>
        target.kind === 'range' &&
        parsed.kind() === target.range[0].kind() &&
        parsed.match(target.range[0], target.range[1]),
    )
  },
})

/** The rule for URLs that users enter: public addresses by https, and what the operator allowed, also by http. */
export interface UserUrlPolicy {
  /**
   * Returns why this URL must not be requested, for its author, or undefined if it is not refused before resolution.
   */
  refusal(url: URL): string | undefined
  /** For `net.connect`: every resolved address is checked, and the connection uses a checked address. */
  lookupFor(url: URL): LookupFunction
}

/**
 * The same text for hosts that do not exist, do not answer or must not be reached, so that the network cannot be mapped
 * by the difference.
 */
export const notReached = (host: string): string =>
  `${host} cannot be reached from here: it does not exist, does not answer, or is not allowed. By http ` +
  'only what the operator allows is reached.'

/** @param resolver the look-ups of one service share one. */
export const makeUserUrlPolicy = (
  allowance: EgressAllowance,
  resolver: Resolver = makeNameResolver().lookup,
): UserUrlPolicy => {
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
      // A name that is not listed may resolve to an address in an allowed range. It is checked when it is resolved.
      return undefined
    },
    lookupFor: (url) => (hostname, options, done) => {
      const family =
        options.family === 4 || options.family === 'IPv4'
          ? 4
          : options.family === 6 || options.family === 'IPv6'
            ? 6
            : 0
      resolver(hostname, { all: true, family }, (error, addresses) => {
        if (error !== null) return done(error, '', 0)
        const [first] = addresses
        // The address is not reported: names inside this network are confidential.
        if (first === undefined || !addresses.every(({ address }) => permits(url, address)))
          return done(new EgressRefused(notReached(url.hostname)), '', 0)
        return options.all === true ? done(null, addresses) : done(null, first.address, first.family)
      })
    },
  }
}
