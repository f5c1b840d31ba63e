import type { IncomingMessage } from 'node:http'
import type { OwnAddress } from '../../core/kernel/principal.ts'
import type { TrustedProxies } from './client-ip.ts'
import { isEncrypted } from './cookies.ts'
import { isHost } from './request-target.ts'

/** How an operator says where the service is reached. */
export interface AddressChoice {
  /** MOORAGE_BASE_URL; undefined where it is not set. */
  readonly configured: string | undefined
  /** Where the listener is bound, for requests that name no host. */
  readonly listening: string
  readonly proxies: Pick<TrustedProxies, 'isPeer'>
}

/** Of a request: where its caller reaches this service. `host` is its Host header, checked; undefined where that is none. */
export type OwnAddressOf = (req: Pick<IncomingMessage, 'headers' | 'socket'>, host: string | undefined) => OwnAddress

/** The last value of a header that several proxies may have added to: what stands left of it, the caller may have written. */
const lastOf = (header: string | readonly string[] | undefined): string | undefined => header?.toString().split(',').at(-1)?.trim()

const schemes: readonly (string | undefined)[] = ['http', 'https']

/**
 * The service's own address as a caller knows it. A request that came by https is answered with https addresses, or a
 * client that follows them would send its credential in clear.
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
    return { url: `${scheme}://${authority?.toLowerCase()}`, isDirect: !schemes.includes(forwardedScheme) && !isHost(forwardedHost) }
  }
}
