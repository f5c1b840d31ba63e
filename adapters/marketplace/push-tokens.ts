import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose'
import type { Clock } from '../../core/kernel/clock.ts'
import type { PushTokens } from '../../core/marketplace/ports.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'

export interface PushTokenOptions {
  /** The service account that the subscription pushes as, by its mail address; undefined: no token is accepted. */
  readonly account: string | undefined
  readonly audience: () => string
  readonly fetch: GuardedFetch
  readonly clock: Clock
}

/** Where the provider publishes the keys of its tokens, and what names it in them. */
const keysUrl = new URL('https://www.googleapis.com/oauth2/v3/certs')
const issuers = ['https://accounts.google.com', 'accounts.google.com']
const keysBytes = 65_536
const keysMilliseconds = 5_000
const mostCharacters = 8_192

/** Reports whether the error says that the token is wrong, and not that the keys cannot be read. */
const isOfToken = (error: unknown): boolean =>
  error instanceof errors.JOSEError &&
  !(error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) &&
  error.code !== errors.JOSEError.code

/** PushTokens by the keys that the provider publishes. They are requested again for an unknown key, twice a minute. */
export const makePushTokens = ({ account, audience, fetch, clock }: PushTokenOptions): PushTokens => {
  const keys = createRemoteJWKSet(keysUrl, {
    timeoutDuration: keysMilliseconds,
    [customFetch]: async (_, { signal }) => {
      const answer = await fetch({ url: keysUrl, limitBytes: keysBytes, timeoutMilliseconds: keysMilliseconds }, signal)
      try {
        return new Response(answer.bytes, { status: answer.status })
      } finally {
        answer.release?.()
      }
    },
  })
  return {
    async isProven(authorization = '') {
      const token = /^Bearer ([\w.-]+)$/i.exec(authorization.slice(0, mostCharacters))?.[1]
      if (account === undefined || token === undefined) return false
      try {
        const { payload } = await jwtVerify(token, keys, {
          algorithms: ['RS256'],
          audience: audience(),
          issuer: issuers,
          requiredClaims: ['exp', 'iat'],
          currentDate: clock.now(),
        })
        return payload['email'] === account && payload['email_verified'] === true
      } catch (error) {
        if (isOfToken(error)) return false
        throw error
      }
    },
  }
}
