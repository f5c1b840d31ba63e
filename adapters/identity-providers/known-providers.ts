import { left, right } from 'fp-ts/lib/Either.js'
import type * as jose from 'jose'
import * as client from 'openid-client'
import type { Clock } from '../../core/kernel/clock.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { ProviderUnavailable } from '../../core/identity-providers/ports.ts'
import type { ProviderClient } from '../../core/identity-providers/types.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { FetchFailed } from '../outbound/guarded-fetch.ts'
import {
  clockToleranceSeconds,
  issuerRequestMilliseconds,
  keysAt,
  makeIssuerFetch,
  makeIssuerMemory,
} from '../outbound/issuers.ts'

export interface OpenIdConnectOptions {
  readonly fetch: GuardedFetch
  readonly clock: Clock
}

/** A provider as it described itself, and its keys. */
export interface Known {
  readonly config: client.Configuration
  readonly metadata: client.ServerMetadata
  readonly keys: jose.JWTVerifyGetKey
}

export type Away = Failure<'ProviderUnavailable'>

const hostOf = (issuer: string): string => (URL.canParse(issuer) ? new URL(issuer).host : 'The identity provider')

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

/** Returns the known providers. A description is read once an hour, for each version of what an owner entered. */
export const makeKnownProviders = ({ fetch, clock }: OpenIdConnectOptions) => {
  const remembered = makeIssuerMemory<Known>()
  const reach = makeIssuerFetch(fetch)

  const read = async ({ issuer, clientId, secret: own }: ProviderClient): Promise<Known> => {
    const isPlain = issuer.startsWith('http:')
    const config = await client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: clockToleranceSeconds, [client.clockSkew]: skewSeconds(clock) },
      own === undefined ? client.None() : withSecret(own.reveal()),
      {
        [client.customFetch]: reach,
        timeout: issuerRequestMilliseconds / 1000,
        // The guard lets http through only where the operator does.
        execute: isPlain ? [client.allowInsecureRequests] : [],
      },
    )
    const metadata = config.serverMetadata()
    const problem = descriptionProblem(metadata)
    if (problem !== undefined) throw new FetchFailed(problem)
    return { config, metadata, keys: keysAt(new URL(metadata.jwks_uri ?? ''), reach) }
  }

  return (of: ProviderClient, isFresh = false): Outcome<Away, Known> =>
    remembered(`${of.providerId} ${of.version}`, () => read(of), isFresh).then(
      (known) => right(known),
      (error: unknown) => left(away(of.issuer, error)),
    )
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
