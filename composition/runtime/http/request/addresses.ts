import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'
import type { OwnAddress } from '../../../../core/kernel/principal.ts'
import { isEncrypted } from './credentials.ts'
import { isHost } from './request-target.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

/** Parses `10.0.0.0/8`, `::1/128` or a single address. Returns undefined for any other text. */
const parseRange = (text: string): Range | undefined => {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text)
    const address = ipaddr.process(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  } catch {
    return undefined
  }
}

const parse = (text: string): Address | undefined => (ipaddr.isValid(text) ? ipaddr.process(text) : undefined)

/**
 * An IPv4 address with a port, or an IPv6 address in brackets, with or without one. Some load balancers send these
 * forms.
 */
const hopForms = /^(?:([\d.]+):\d{1,5}|\[([\da-f:.]+)\](?::\d{1,5})?)$/i

/** Parses one hop of `X-Forwarded-For`. */
const parseHop = (text: string): Address | undefined => {
  const hop = text.trim()
  const [, v4, v6] = hopForms.exec(hop) ?? []
  return parse(v4 ?? v6 ?? hop)
}

/** The remote end of a connection. */
interface Peer {
  readonly address: Address
  readonly text: string
}

const isIn = (address: Address, ranges: readonly Range[]): boolean =>
  ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network as ipaddr.IPv4, bits))

/** The facts about a request that the proxies trusted by the operator report. */
export interface TrustedProxies {
  /**
   * Returns the canonical address of the caller. Forwarded headers count only when the peer is a trusted proxy. The
   * result is then the right-most hop that is not a trusted proxy: the caller may have forged every hop to its left.
   */
  clientIp(req: IncomingMessage): string
  /** Reports whether the remote end of the connection is a trusted proxy. */
  isPeer(req: Pick<IncomingMessage, 'socket'>): boolean
}

export const makeTrustedProxies = (trustedProxies: readonly string[]): TrustedProxies => {
  // A peer never changes while its socket is open, and parsing its address takes longer than looking up a token.
  const peers = new WeakMap<object, Peer>()
  const peerOf = ({ socket }: Pick<IncomingMessage, 'socket'>): Peer | undefined => {
    const known = peers.get(socket)
    if (known !== undefined) return known
    const address = parse(socket.remoteAddress ?? '')
    if (address === undefined) return undefined
    const peer = { address, text: address.toString() }
    peers.set(socket, peer)
    return peer
  }
  const ranges = trustedProxies.map(parseRange).filter((range): range is Range => range !== undefined)
  const isTrusted = (peer: Peer | undefined): boolean =>
    peer !== undefined && ranges.length > 0 && isIn(peer.address, ranges)
  return {
    isPeer: (req) => isTrusted(peerOf(req)),
    clientIp(req) {
      const peer = peerOf(req)
      if (peer === undefined) return '0.0.0.0'
      const forwarded = req.headers['x-forwarded-for']
      if (forwarded === undefined || !isTrusted(peer)) return peer.text
      const hops = String(forwarded).split(',').reverse()
      let last = peer.address
      for (const hop of hops) {
        const address = parseHop(hop)
        if (address === undefined) return last.toString()
        last = address
        if (!isIn(address, ranges)) return address.toString()
      }
      return last.toString()
    },
  }
}

/** The operator's configuration of the address of the service. */
export interface AddressChoice {
  /** MOORAGE_BASE_URL; undefined when it is not set. */
  readonly configured: string | undefined
  /** The address that the listener is bound to, for requests that name no host. */
  readonly listening: string
  readonly proxies: Pick<TrustedProxies, 'isPeer'>
}

/**
 * Returns the address at which the caller of a request reaches this service. `host` is its validated Host header, or
 * undefined.
 */
export type OwnAddressOf = (req: Pick<IncomingMessage, 'headers' | 'socket'>, host: string | undefined) => OwnAddress

/**
 * Returns the last value of a header that several proxies may have extended. The caller may have forged every value
 * before it.
 */
const lastOf = (header: string | readonly string[] | undefined): string | undefined =>
  header?.toString().split(',').at(-1)?.trim()

const schemes: readonly (string | undefined)[] = ['http', 'https']

/**
 * Returns the function that finds the service's own address as a caller sees it. A request that came over https gets
 * https addresses: a client that follows http ones would send its credential in clear text.
 */
export const makeOwnAddress = ({ configured, listening, proxies }: AddressChoice): OwnAddressOf => {
  const fixed = configured === undefined ? undefined : { url: configured, isDirect: !configured.startsWith('https:') }
  const ownHost = new URL(listening).host
  return (req, host) => {
    if (fixed !== undefined) return fixed
    const isForwarded = proxies.isPeer(req)
    const forwardedScheme = isForwarded ? lastOf(req.headers['x-forwarded-proto'])?.toLowerCase() : undefined
    const forwardedHost = isForwarded ? lastOf(req.headers['x-forwarded-host']) : undefined
    const scheme = schemes.includes(forwardedScheme) ? forwardedScheme : isEncrypted(req) ? 'https' : 'http'
    const authority = isHost(forwardedHost) ? forwardedHost : (host ?? ownHost)
    return {
      url: `${scheme}://${authority?.toLowerCase()}`,
      isDirect: !schemes.includes(forwardedScheme) && !isHost(forwardedHost),
    }
  }
}
