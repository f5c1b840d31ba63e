import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { kindOf, parseAddress } from './egress-policy.ts'

/** One host or range that the operator opened for URLs of users. */
export type EgressTarget =
  | { readonly kind: 'host'; readonly text: string; readonly host: string; readonly isWildcard: boolean; readonly port: number | undefined }
  | { readonly kind: 'range'; readonly text: string; readonly range: readonly [ipaddr.IPv4 | ipaddr.IPv6, number] }

/** What the operator opened. Link-local, metadata and other special addresses are never in it. */
export interface EgressAllowance {
  /** By name alone, before it is resolved. */
  hasHost(url: URL): boolean
  hasAddress(address: string): boolean
}

const hostPattern = /^(\*\.)?((?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?::(\d{1,5}))?$/

const readRange = (text: string): EgressTarget | undefined => {
  const [address = '', bits] = text.split('/')
  if (isIP(address) === 0) return undefined
  const cidr = bits === undefined ? `${address}/${isIP(address) === 4 ? 32 : 128}` : text
  return ipaddr.isValidCIDR(cidr) ? { kind: 'range', text, range: ipaddr.parseCIDR(cidr) } : undefined
}

/** Undefined when the text is neither a host nor a range. */
export const readEgressTarget = (text: string): EgressTarget | undefined => {
  if (isIP(text.split('/')[0] ?? '') !== 0) return readRange(text)
  const [whole, star, host, port] = hostPattern.exec(text.toLowerCase()) ?? []
  // A name of digits and dots is an address in a spelling that resolvers read as they like.
  if (whole === undefined || host === undefined || /^[\d.]+$/.test(host) || Number(port ?? 1) > 65_535) return undefined
  return { kind: 'host', text, host, isWildcard: star !== undefined, port: port === undefined ? undefined : Number(port) }
}

const portOf = (url: URL): number => (url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port))

export const makeEgressAllowance = (targets: readonly EgressTarget[]): EgressAllowance => ({
  hasHost: (url) => {
    const name = url.hostname.toLowerCase().replace(/\.$/, '')
    return targets.some((target) => {
      if (target.kind !== 'host' || (target.port !== undefined && target.port !== portOf(url))) return false
      return target.isWildcard ? name.endsWith(`.${target.host}`) : name === target.host
    })
  },
  hasAddress: (address) => {
    const parsed = kindOf(address) === undefined ? undefined : parseAddress(address)
    if (parsed === undefined) return false
    return targets.some((target) => target.kind === 'range' && parsed.kind() === target.range[0].kind() && parsed.match(target.range[0], target.range[1]))
  },
})
