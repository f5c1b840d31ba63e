import { left, right } from 'fp-ts/lib/Either.js'
import * as jose from 'jose'
import { IssuerUnavailable, WorkloadTokenRefused } from '../../core/authorization-server/workloads/ports.ts'
import type { WorkloadTokens } from '../../core/authorization-server/workloads/ports.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import { textAt } from '../../core/kernel/json.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { FetchFailed } from '../outbound/guarded-fetch.ts'
import { algorithms, clockToleranceSeconds, keysAt, makeIssuerFetch, makeIssuerMemory } from '../outbound/issuers.ts'

export interface WorkloadTokenOptions {
  readonly fetch: GuardedFetch
  readonly clock: Clock
}

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
  const reach = makeIssuerFetch(fetch)
  const remembered = makeIssuerMemory<jose.JWTVerifyGetKey>()

  const readKeys = async (issuer: string): Promise<jose.JWTVerifyGetKey> => {
    const url = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    const answer = await reach(url.href, { method: 'GET', headers: {}, body: undefined, redirect: 'manual' })
    if (answer.status !== 200) throw new FetchFailed(`${url.host} answered ${answer.status}.`)
    const description: unknown = await answer.json()
    if (textAt(description, 'issuer') !== issuer) throw new FetchFailed('The description is of another issuer.')
    const keysUrl = textAt(description, 'jwks_uri')
    if (!URL.canParse(keysUrl)) throw new FetchFailed('The description has no keys.')
    return keysAt(new URL(keysUrl), reach)
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
        await jose.jwtVerify(token.reveal(), await remembered(issuer, () => readKeys(issuer)), {
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
