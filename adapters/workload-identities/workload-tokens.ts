import { left, right } from 'fp-ts/lib/Either.js'
import * as jose from 'jose'
import { LRUCache } from 'lru-cache'
import { IssuerUnavailable, WorkloadTokenRefused } from '../../core/authorization-server/workloads/ports.ts'
import type { WorkloadTokens } from '../../core/authorization-server/workloads/ports.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import { textAt } from '../../core/kernel/json.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { FetchFailed } from '../outbound/guarded-fetch.ts'

/** Asymmetric ones, as for tokens of identity providers. */
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']
const clockToleranceSeconds = 60
const requestMilliseconds = 10_000
const answerBytes = 1024 * 1024
const maxIssuers = 500
const descriptionMilliseconds = 3_600_000
/** An issuer that is away is not asked again for each token. */
const failureMilliseconds = 5_000
/** An unknown key is looked for once in this time, however many tokens name one. */
const keysMilliseconds = 60_000

export interface WorkloadTokenOptions {
  readonly fetch: GuardedFetch
  readonly clock: Clock
}

const never = new AbortController().signal

const sentences: Readonly<Record<string, string>> = {
  iss: 'The token is of another issuer than the federated credential.',
  aud: 'The token has another audience than the federated credential.',
  exp: 'The token has expired.',
  nbf: 'The token is not valid yet: its clock and that of this service differ.',
}

const refusalOf = (error: unknown, issuer: string) => {
  const reason = String(error).slice(0, 500)
  if (error instanceof jose.errors.JWTClaimValidationFailed || error instanceof jose.errors.JWTExpired)
    return WorkloadTokenRefused(sentences[error.claim] ?? `The claim ${error.claim} of the token is not valid.`)
  const isAway =
    error instanceof FetchFailed ||
    error instanceof EgressRefused ||
    error instanceof jose.errors.JWKSTimeout ||
    error instanceof jose.errors.JWKSInvalid ||
    !(error instanceof jose.errors.JOSEError) ||
    error.code === jose.errors.JOSEError.code
  return isAway
    ? IssuerUnavailable(
        `The keys of the issuer ${issuer} cannot be read. Its description must be at ` +
          '/.well-known/openid-configuration below it.',
        { reason },
      )
    : WorkloadTokenRefused('The token is not signed by a published key of its issuer.', { reason })
}

/** WorkloadTokens by jose. Descriptions and keys of issuers are read by the guarded fetch, and kept for an hour. */
export const makeWorkloadTokens = ({ fetch, clock }: WorkloadTokenOptions): WorkloadTokens => {
  const read = async (url: URL): Promise<string> => {
    const answer = await fetch({ url, limitBytes: answerBytes, timeoutMilliseconds: requestMilliseconds }, never)
    try {
      if (answer.status !== 200) throw new FetchFailed(`${url.host} answered ${answer.status}.`)
      return Buffer.from(answer.bytes).toString()
    } finally {
      answer.release?.()
    }
  }

  const readKeys = async (issuer: string): Promise<jose.JWTVerifyGetKey> => {
    const description: unknown = JSON.parse(
      await read(new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)),
    )
    if (textAt(description, 'issuer') !== issuer) throw new FetchFailed('The description is of another issuer.')
    const keysUrl = textAt(description, 'jwks_uri')
    if (!URL.canParse(keysUrl)) throw new FetchFailed('The description has no keys.')
    return jose.createRemoteJWKSet(new URL(keysUrl), {
      timeoutDuration: requestMilliseconds,
      cooldownDuration: keysMilliseconds,
      cacheMaxAge: descriptionMilliseconds,
      [jose.customFetch]: async (url) => new Response(await read(new URL(url))),
    })
  }

  const kept = new LRUCache<string, Promise<jose.JWTVerifyGetKey>>({ max: maxIssuers, ttl: descriptionMilliseconds })
  const keysOf = (issuer: string): Promise<jose.JWTVerifyGetKey> => {
    const known = kept.get(issuer)
    if (known !== undefined) return known
    const reading = readKeys(issuer)
    kept.set(issuer, reading)
    reading.catch(() => kept.set(issuer, reading, { ttl: failureMilliseconds }))
    return reading
  }

  return {
    claimsOf(token) {
      try {
        return jose.decodeJwt(token.reveal())
      } catch {
        return undefined
      }
    },
    async verify(token, { issuer, audience }) {
      try {
        await jose.jwtVerify(token.reveal(), await keysOf(issuer), {
          algorithms,
          issuer,
          audience,
          requiredClaims: ['iss', 'aud', 'exp', 'iat'],
          clockTolerance: clockToleranceSeconds,
          currentDate: clock.now(),
        })
        return right(undefined)
      } catch (error) {
        return left(refusalOf(error, issuer))
      }
    },
  }
}
