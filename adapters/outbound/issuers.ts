import * as jose from 'jose'
import { LRUCache } from 'lru-cache'
import type { CustomFetch } from 'openid-client'
import { definedFields } from '../../core/kernel/json.ts'
import type { GuardedFetch } from './guarded-fetch.ts'

/** Issuers of tokens: other services that sign them and publish their keys. */

export const issuerRequestMilliseconds = 10_000
const answerBytes = 1024 * 1024
const maxIssuers = 500
const keptMilliseconds = 3_600_000
/** Anyone may send a token or begin a sign-in: an issuer that is away is not asked again for each. */
const failureMilliseconds = 5_000
/** An unknown key is looked for once in this time, however many tokens name one. */
const keysMilliseconds = 60_000

/** Seconds by which the clocks of an issuer and of this service may differ. */
export const clockToleranceSeconds = 60

/**
 * Asymmetric ones: with a symmetric one, the public key or the client secret would sign. RS256 is that of every issuer;
 * the others are those with which issuers replace it.
 */
export const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']

const never = new AbortController().signal

/** Returns a fetch that reaches what the guard allows: every address of an issuer's description comes here. */
export const makeIssuerFetch =
  (fetch: GuardedFetch, until: AbortSignal = never): CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    const answer = await fetch(
      {
        url: new URL(url),
        headers,
        limitBytes: answerBytes,
        timeoutMilliseconds: issuerRequestMilliseconds,
        ...definedFields({ post: method === 'POST' ? String(body ?? '') : undefined }),
      },
      signal === undefined ? until : AbortSignal.any([signal, until]),
    )
    try {
      const type = answer.headers['content-type']
      const empty = answer.status === 204 || answer.status === 304
      return new Response(empty ? null : answer.bytes, {
        status: answer.status,
        headers: definedFields({ 'content-type': type }),
      })
    } finally {
      answer.release?.()
    }
  }

/** Returns the keys of an issuer. They are read when they are needed, and kept for an hour. */
export const keysAt = (url: URL, reach: CustomFetch): jose.JWTVerifyGetKey =>
  jose.createRemoteJWKSet(url, {
    timeoutDuration: issuerRequestMilliseconds,
    cooldownDuration: keysMilliseconds,
    cacheMaxAge: keptMilliseconds,
    [jose.customFetch]: (address, { headers, signal }) =>
      reach(address, {
        method: 'GET',
        headers: Object.fromEntries(headers),
        body: undefined,
        redirect: 'manual',
        signal,
      }),
  })

/** Returns what reads the description of an issuer once an hour. `isFresh`: it is read again. */
export const makeIssuerMemory = <A>(): ((key: string, read: () => Promise<A>, isFresh?: boolean) => Promise<A>) => {
  const kept = new LRUCache<string, Promise<A>>({ max: maxIssuers, ttl: keptMilliseconds })
  return (key, read, isFresh = false) => {
    const known = isFresh ? undefined : kept.get(key)
    if (known !== undefined) return known
    const reading = read()
    kept.set(key, reading)
    reading.catch(() => kept.set(key, reading, { ttl: failureMilliseconds }))
    return reading
  }
}
