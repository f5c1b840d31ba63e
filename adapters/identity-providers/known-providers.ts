import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import * as jose from 'jose'
import { LRUCache } from 'lru-cache'
import * as client from 'openid-client'
import type { Clock } from '../../core/kernel/clock.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { definedFields } from '../../core/kernel/json.ts'
import { ProviderUnavailable } from '../../core/identity-providers/ports.ts'
import type { ProviderClient } from '../../core/identity-providers/types.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { FetchFailed } from '../outbound/guarded-fetch.ts'

export interface OpenIdConnectOptions {
  readonly fetch: GuardedFetch
  readonly clock: Clock
}

const requestMilliseconds = 10_000
const answerBytes = 1024 * 1024
/** Providers whose description is kept. */
const maxProviders = 500
const descriptionMilliseconds = 3_600_000
const failureMilliseconds = 5_000
/** An unknown key is looked for once in this time, however many tokens name one. */
const keysMilliseconds = 60_000
/** Seconds by which the clocks of a provider and of this service may differ. */
export const clockToleranceSeconds = 60

/**
 * Asymmetric ones: with a symmetric one, the public key or the client secret would sign. RS256 is that of every provider;
 * the others are those with which providers replace it.
 */
export const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']

/** A provider as it described itself, and its keys. */
export interface Known {
  readonly config: client.Configuration
  readonly metadata: client.ServerMetadata
  readonly keys: jose.JWTVerifyGetKey
}

export type Away = Failure<'ProviderUnavailable'>

const hostOf = (issuer: string): string => (URL.canParse(issuer) ? new URL(issuer).host : 'The identity provider')

/** Returns a fetch that reaches what the guard allows: every address of a provider's description comes here. */
const guarded =
  (fetch: GuardedFetch, clock: AbortSignal): client.CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    const answer = await fetch(
      {
        url: new URL(url),
        headers,
        limitBytes: answerBytes,
        timeoutMilliseconds: requestMilliseconds,
        ...definedFields({ post: method === 'POST' ? String(body ?? '') : undefined }),
      },
      signal === undefined ? clock : AbortSignal.any([signal, clock]),
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

const causes = (error: unknown): readonly unknown[] => {
  const found: unknown[] = []
  for (let each = error; each instanceof Error && found.length < 8; each = each.cause) found.push(each)
  return found
}

/** Returns why a provider cannot be used, in the words of what failed. It repeats nothing that the provider sent. */
export const away = (issuer: string, error: unknown): Away => {
  const known = causes(error).find((each) => each instanceof FetchFailed || each instanceof EgressRefused)
  const message =
    known instanceof Error
      ? known.message
      : `${hostOf(issuer)} does not answer as an OpenID Connect provider does. Check the issuer: its description must ` +
        'be at /.well-known/openid-configuration below it, as JSON, with the same issuer.'
  return ProviderUnavailable(message, { reason: String(causes(error).at(-1) ?? error).slice(0, 500) })
}

/** Returns why a description cannot be used. */
const descriptionProblem = ({ issuer, authorization_endpoint, token_endpoint, jwks_uri }: client.ServerMetadata) => {
  if (/[{}]/.test(issuer))
    return 'The issuer is one of many tenants. Use the issuer of your own tenant, with its id in the address.'
  if (authorization_endpoint === undefined || token_endpoint === undefined || jwks_uri === undefined)
    return 'The description of the provider lacks its authorization endpoint, its token endpoint or its keys.'
  return /^https?:\/\//.test(authorization_endpoint)
    ? undefined
    : 'The authorization endpoint of the provider is no address of the web.'
}

const never = new AbortController().signal

/** Returns the known providers. A description is read once an hour, for each version of what an owner entered. */
export const makeKnownProviders = ({ fetch, clock }: OpenIdConnectOptions) => {
  const kept = new LRUCache<string, Promise<Either<Away, Known>>>({ max: maxProviders, ttl: descriptionMilliseconds })
  const reach = guarded(fetch, never)

  const read = async ({ issuer, clientId, secret: own }: ProviderClient): Promise<Known> => {
    const isPlain = issuer.startsWith('http:')
    const config = await client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: clockToleranceSeconds, [client.clockSkew]: skewSeconds(clock) },
      own === undefined ? client.None() : withSecret(own.reveal()),
      {
        [client.customFetch]: reach,
        timeout: requestMilliseconds / 1000,
        // The guard lets http through only where the operator does.
        execute: isPlain ? [client.allowInsecureRequests] : [],
      },
    )
    const metadata = config.serverMetadata()
    const problem = descriptionProblem(metadata)
    if (problem !== undefined) throw new FetchFailed(problem)
    const keys = jose.createRemoteJWKSet(new URL(metadata.jwks_uri ?? ''), {
      timeoutDuration: requestMilliseconds,
      cooldownDuration: keysMilliseconds,
      cacheMaxAge: descriptionMilliseconds,
      [jose.customFetch]: (url, { headers, signal }) =>
        reach(url, {
          method: 'GET',
          headers: Object.fromEntries(headers),
          body: undefined,
          redirect: 'manual',
          signal,
        }),
    })
    return { config, metadata, keys }
  }

  const begin = (key: string, of: ProviderClient): Promise<Either<Away, Known>> => {
    const reading = read(of).then(
      (known) => right(known),
      (error: unknown) => {
        // Anyone may begin a sign-in: a provider that is away is not asked again for each.
        kept.set(key, reading, { ttl: failureMilliseconds })
        return left(away(of.issuer, error))
      },
    )
    kept.set(key, reading)
    return reading
  }

  return (of: ProviderClient, isFresh = false): Outcome<Away, Known> => {
    const key = `${of.providerId} ${of.version}`
    return (isFresh ? undefined : kept.get(key)) ?? begin(key, of)
  }
}

/** Returns the authentication of the client: HTTP Basic, unless the provider takes the secret in the body only. */
const withSecret =
  (own: string): client.ClientAuth =>
  (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const auth = methods.includes('client_secret_basic') ? client.ClientSecretBasic : client.ClientSecretPost
    return auth(own)(server, ...request)
  }

/** The clock of the deployment decides, not that of this machine. */
// The library takes the time of this machine, from which that of the deployment may differ.
// eslint-disable-next-line no-restricted-syntax
const skewSeconds = (clock: Clock): number => Math.round((clock.now().getTime() - Date.now()) / 1000)
