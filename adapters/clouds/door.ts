import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Agent, fetch } from 'undici'
import { EgressRefused, type EgressPolicy } from '../outbound/egress-policy.ts'

/** Bytes of one page of names. */
const answerLimit = 8 * 1024 * 1024

/** One way out to a cloud. Every connection of a vendor's package goes through one, whatever the environment says of proxies. */
export interface Door {
  /** Throws EgressRefused for an address that must not be connected to; names are judged when they are resolved. */
  check(url: URL): void
  /** For packages that take Node's own agents. Kept for one request. */
  readonly agents: { readonly httpAgent: HttpAgent; readonly httpsAgent: HttpsAgent }
  /** Follows no redirects. */
  readonly fetch: typeof fetch
  close(): Promise<void>
}

/** @param isPlainAllowed also http, and any address that the policy permits: for endpoints that the operator set. */
export const makeDoor = (egress: EgressPolicy, isPlainAllowed: boolean): Door => {
  const dispatcher = new Agent({ connect: { lookup: egress.lookup, timeout: 5_000 }, maxResponseSize: answerLimit, keepAliveTimeout: 1_000 })
  const check = (url: URL): void => {
    const asHttps = isPlainAllowed && url.protocol === 'http:' ? new URL(url.href.replace(/^http:/, 'https:')) : url
    const refused = egress.refusal(asHttps)
    if (refused !== undefined) throw new EgressRefused(refused)
  }
  return {
    check,
    agents: { httpAgent: new HttpAgent({ lookup: egress.lookup }), httpsAgent: new HttpsAgent({ lookup: egress.lookup }) },
    fetch: async (input, init) => {
      check(new URL(input instanceof URL || typeof input === 'string' ? input : input.url))
      return fetch(input, { ...init, dispatcher, redirect: 'manual' })
    },
    close: () => dispatcher.close(),
  }
}
