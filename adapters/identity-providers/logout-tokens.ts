import { left, right } from 'fp-ts/lib/Either.js'
import * as jose from 'jose'
import type { Clock } from '../../core/kernel/clock.ts'
import { laterBySeconds } from '../../core/kernel/clock.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { isObject } from '../../core/kernel/json.ts'
import type { LogoutRequest } from '../../core/identity-providers/ports.ts'
import { LogoutTokenRefused, ProviderUnavailable } from '../../core/identity-providers/ports.ts'
import type { ProviderClient } from '../../core/identity-providers/types.ts'
import { algorithms, clockToleranceSeconds } from '../outbound/issuers.ts'
import type { Known } from './known-providers.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'
/** A token is sent at once, and is of no use later. */
const maxAgeSeconds = 120
const maxLength = 16_384

const refused = (message: string): Failure<'LogoutTokenRefused'> => LogoutTokenRefused(message)

const requestOf = (payload: jose.JWTPayload, now: Date): LogoutRequest | string => {
  const { events, iss, sub, jti } = payload
  const sid = payload['sid']
  if (!isObject(events) || !isObject(events[event])) return 'The claim events does not name a logout.'
  if (payload['nonce'] !== undefined) return 'A logout token must not have a nonce.'
  if (jti === undefined || jti === '' || jti.length > 255) return 'The logout token has no jti.'
  const hasSid = typeof sid === 'string' && sid !== ''
  if (sub === undefined && !hasSid) return 'The logout token names neither a person nor a session.'
  return {
    issuer: iss ?? '',
    subject: sub,
    sid: hasSid ? sid : undefined,
    tokenId: jti,
    expiresAt: laterBySeconds(now, maxAgeSeconds + 2 * clockToleranceSeconds),
  }
}

/**
 * Checks a logout token as OpenID Connect Back-Channel Logout §2.6 says. Older providers leave the type out, so it is
 * compared only where there is one.
 */
export const readLogoutToken = async (
  { keys, metadata }: Pick<Known, 'keys' | 'metadata'>,
  { clientId }: Pick<ProviderClient, 'clientId'>,
  token: string,
  clock: Clock,
): Outcome<Failure<'LogoutTokenRefused'> | Failure<'ProviderUnavailable'>, LogoutRequest> => {
  if (token.length > maxLength) return left(refused('The logout token is too long.'))
  try {
    const { payload, protectedHeader } = await jose.jwtVerify(token, keys, {
      algorithms,
      issuer: metadata.issuer,
      audience: clientId,
      requiredClaims: ['iat', 'jti', 'events'],
      maxTokenAge: maxAgeSeconds,
      clockTolerance: clockToleranceSeconds,
      currentDate: clock.now(),
    })
    const { typ } = protectedHeader
    if (typ !== undefined && !['logout+jwt', 'jwt', 'application/logout+jwt'].includes(typ.toLowerCase()))
      return left(refused('The token is of another type than a logout token.'))
    const request = requestOf(payload, clock.now())
    return typeof request === 'string' ? left(refused(request)) : right(request)
  } catch (error) {
    const isOfToken =
      error instanceof jose.errors.JOSEError &&
      !(error instanceof jose.errors.JWKSTimeout || error instanceof jose.errors.JWKSInvalid) &&
      error.code !== jose.errors.JOSEError.code
    return left(
      isOfToken
        ? LogoutTokenRefused('The logout token is not valid: its signature, issuer, audience or age is wrong.', {
            reason: String(error).slice(0, 500),
          })
        : ProviderUnavailable('The keys of the identity provider cannot be read.', {
            reason: String(error).slice(0, 500),
          }),
    )
  }
}
