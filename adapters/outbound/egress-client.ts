import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Agent, fetch } from 'undici'
import type { EgressPolicy } from './egress-policy.ts'
import { EgressRefused } from './egress-policy.ts'

/** Bytes of one answer. */
const answerLimit = 8 * 1024 * 1024

/**
 * Network access to a cloud. Every connection of a vendor's package uses one, regardless of the proxies in the
 * environment.
 */
export interface EgressClient {
  /** Throws EgressRefused for an address that must not be connected to. Names are checked when they are resolved. */
  check(url: URL): void
  /**
   * For packages that use Node's own agents. All clients share them: a package must not destroy them. Each connection
   * is for one request.
   */
  readonly agents: { readonly httpAgent: HttpAgent; readonly httpsAgent: HttpsAgent }
  /** Does not follow redirects. */
  readonly fetch: typeof fetch
  close(): Promise<void>
}

/**
 * @param isPlainAllowed also allows http, and any address that the policy permits: for endpoints that the operator set.
 */
export const makeEgressClient = (egress: EgressPolicy, isPlainAllowed: boolean): EgressClient => {
  const dispatcher = new Agent({
    connect: { lookup: egress.lookup, timeout: 5_000 },
    maxResponseSize: answerLimit,
    keepAliveTimeout: 1_000,
  })
  const check = (url: URL): void => {
    const asHttps = isPlainAllowed && url.protocol === 'http:' ? new URL(url.href.replace(/^http:/, 'https:')) : url
    const refused = egress.refusal(asHttps)
    if (refused !== undefined) throw new EgressRefused(refused)
  }
  return {
    check,
    agents: {
      httpAgent: new HttpAgent({ lookup: egress.lookup }),
      httpsAgent: new HttpsAgent({ lookup: egress.lookup }),
    },
    fetch: async (input, init) => {
      check(new URL(input instanceof URL || typeof input === 'string' ? input : input.url))
      return fetch(input, { ...init, dispatcher, redirect: 'manual' })
    },
    close: () => dispatcher.close(),
  }
}
