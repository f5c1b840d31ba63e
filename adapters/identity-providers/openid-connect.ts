import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import * as jose from 'jose'
import * as client from 'openid-client'
import type { Outcome } from '../../core/kernel/failure.ts'
import { at, textAt } from '../../core/kernel/json.ts'
import { optionalSecret, secret } from '../../core/kernel/secret.ts'
import type { OpenIdConnect, SignInAnswer } from '../../core/identity-providers/ports.ts'
import { AccessNotRenewed, ProviderAnswerRefused, ProviderUnavailable } from '../../core/identity-providers/ports.ts'
import type { ExternalIdentity, ProviderDescription } from '../../core/identity-providers/types.ts'
import type { Away, Known, OpenIdConnectOptions } from './known-providers.ts'
import { away, makeKnownProviders } from './known-providers.ts'
import { algorithms, clockToleranceSeconds } from '../outbound/issuers.ts'
import { readLogoutToken } from './logout-tokens.ts'
import { answerProblem } from './problems.ts'

/** Returns the texts at a path of keys; undefined if there is nothing. */
const groupsAt = (claims: unknown, path: string): readonly string[] | undefined => {
  const found = at(claims, path) ?? at(claims, ...path.split('.'))
  if (typeof found === 'string') return [found]
  return Array.isArray(found) ? found.filter((each): each is string => typeof each === 'string') : undefined
}

/** Reports whether the provider says that there are too many groups for a token, as Entra does. */
const hasOverage = (claims: unknown, path: string): boolean =>
  path !== '' && (at(claims, '_claim_names', path) !== undefined || at(claims, 'hasgroups') === true)

/** The groups of a person. Without a claim there are none, unless there are too many. */
const saidGroups = (claims: unknown, path: string) => {
  if (path === '') return { groups: [], hasGroupsOverage: false }
  const groups = groupsAt(claims, path)
  const hasGroupsOverage = groups === undefined && hasOverage(claims, path)
  return { groups: hasGroupsOverage ? undefined : (groups ?? []), hasGroupsOverage }
}

/** Entra's `sub` differs for each application; its `oid` within the tenant of the issuer does not. */
const subjectOf = (issuer: string, claims: Readonly<Record<string, unknown>>): string => {
  const isEntra = new URL(issuer).hostname === 'login.microsoftonline.com'
  return (isEntra ? textAt(claims, 'oid') : '') || textAt(claims, 'sub')
}

const identityOf = (
  issuer: string,
  claims: Readonly<Record<string, unknown>>,
  groupsClaim: string,
): Omit<ExternalIdentity, 'idToken' | 'refreshToken'> => ({
  issuer,
  subject: subjectOf(issuer, claims),
  email: textAt(claims, 'email'),
  isEmailVerified: claims['email_verified'] === true,
  preferredName: textAt(claims, 'preferred_username'),
  fullName: textAt(claims, 'name'),
  sid: textAt(claims, 'sid'),
  ...saidGroups(claims, groupsClaim),
})

/** Returns the address of an answer, from which the library reads its parameters. */
const answerUrl = (redirectUri: string, { code, state, iss }: SignInAnswer): URL => {
  const url = new URL(redirectUri)
  url.searchParams.set('state', state)
  if (code !== undefined) url.searchParams.set('code', code)
  if (iss !== undefined) url.searchParams.set('iss', iss)
  return url
}

type Tokens = client.TokenEndpointResponse & client.TokenEndpointResponseHelpers

/** Adds what the provider says at its userinfo endpoint, for providers with short ID tokens. It must be of the person. */
const withUserInfo = async (
  { config, metadata }: Known,
  tokens: Tokens,
  claims: Readonly<Record<string, unknown>>,
  groupsClaim: string,
): Promise<Readonly<Record<string, unknown>>> => {
  const isComplete =
    textAt(claims, 'email') !== '' && (groupsClaim === '' || groupsAt(claims, groupsClaim) !== undefined)
  if (isComplete || metadata.userinfo_endpoint === undefined) return claims
  try {
    const told = await client.fetchUserInfo(config, tokens.access_token, textAt(claims, 'sub'))
    return { ...told, ...claims }
  } catch (error) {
    // Entra's endpoint serves other tokens only. What the ID token says is enough, or it is missing.
    if (error instanceof client.ResponseBodyError || error instanceof client.WWWAuthenticateChallengeError)
      return claims
    throw error
  }
}

/** OpenIdConnect by the library openid-client. Signatures are checked by jose, with keys that are kept. */
export const makeOpenIdConnect = (options: OpenIdConnectOptions): OpenIdConnect => {
  const known = makeKnownProviders(options)
  const { clock } = options

  /** Checks the signature of an ID token whose claims the library has checked. */
  const checkSignature = async ({ keys, config }: Known, idToken: string): Promise<void> => {
    const { payload } = await jose.jwtVerify(idToken, keys, {
      algorithms,
      issuer: config.serverMetadata().issuer,
      audience: config.clientMetadata().client_id,
      requiredClaims: ['sub', 'iat', 'exp'],
      currentDate: clock.now(),
      clockTolerance: clockToleranceSeconds,
    })
    const differs = Math.abs((payload.iat ?? 0) - clock.now().getTime() / 1000)
    if (differs > clockToleranceSeconds) throw new jose.errors.JWTClaimValidationFailed('clock', payload, 'iat')
  }

  return {
    async describe(of, _signal): Outcome<Away, ProviderDescription> {
      const found = await known(of, true)
      if (isLeft(found)) return found
      const { metadata } = found.right
      return right({
        issuer: metadata.issuer,
        hasEndSession: metadata.end_session_endpoint !== undefined,
        hasBackChannelLogout: metadata['backchannel_logout_supported'] === true,
        scopes: metadata.scopes_supported ?? [],
      })
    },

    newSecrets: () => ({
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    }),

    async authorizationUrl(of, { state, nonce, verifier, redirectUri, scopes }, _signal) {
      const found = await known(of)
      if (isLeft(found)) return found
      const supported = found.right.metadata.scopes_supported
      // A provider that lists its scopes refuses others; one that lists none is asked.
      const asked = scopes.filter((scope) => scope !== 'offline_access' || (supported?.includes(scope) ?? true))
      try {
        return right(
          client.buildAuthorizationUrl(found.right.config, {
            redirect_uri: redirectUri,
            scope: asked.join(' '),
            code_challenge: await client.calculatePKCECodeChallenge(verifier),
            code_challenge_method: 'S256',
            nonce,
            state,
          }).href,
        )
      } catch (error) {
        return left(away(of.issuer, error))
      }
    },

    async identify(of, answer, { state, nonce, verifier, redirectUri, groupsClaim }, _signal) {
      const found = await known(of)
      if (isLeft(found)) return found
      const { config, metadata } = found.right
      try {
        const tokens = await client.authorizationCodeGrant(config, answerUrl(redirectUri, answer), {
          pkceCodeVerifier: verifier,
          expectedNonce: nonce,
          expectedState: state,
          idTokenExpected: true,
        })
        const idToken = tokens.id_token ?? ''
        await checkSignature(found.right, idToken)
        const claims = await withUserInfo(found.right, tokens, tokens.claims() ?? {}, groupsClaim)
        const identity = identityOf(metadata.issuer, claims, groupsClaim)
        if (identity.subject === '' || identity.subject.length > 255)
          return left(ProviderAnswerRefused('The provider sent no usable identifier of the person (sub).'))
        return right({
          ...identity,
          idToken: secret(idToken),
          refreshToken: optionalSecret(tokens.refresh_token),
        })
      } catch (error) {
        const problem = answerProblem(error)
        return left(problem === undefined ? away(of.issuer, error) : ProviderAnswerRefused(problem.message, problem))
      }
    },

    async renew(of, { refreshToken, subject, groupsClaim }, _signal) {
      const found = await known(of)
      if (isLeft(found)) return found
      try {
        const tokens = await client.refreshTokenGrant(found.right.config, refreshToken.reveal())
        if (tokens.id_token !== undefined) await checkSignature(found.right, tokens.id_token)
        const claims = tokens.claims()
        if (claims !== undefined && subjectOf(found.right.metadata.issuer, claims) !== subject)
          return left(ProviderUnavailable('The provider renewed access for another person.'))
        // Without an ID token the provider says nothing about groups.
        const said =
          claims === undefined || groupsClaim === ''
            ? { groups: undefined, hasGroupsOverage: false }
            : saidGroups(await withUserInfo(found.right, tokens, claims, groupsClaim), groupsClaim)
        return right({ refreshToken: optionalSecret(tokens.refresh_token), ...said })
      } catch (error) {
        const isEnded = error instanceof client.ResponseBodyError && error.error === 'invalid_grant'
        return left(
          isEnded
            ? AccessNotRenewed('The provider no longer renews the access of the person.')
            : away(of.issuer, error),
        )
      }
    },

    async endSessionUrl(of, { idToken, returnTo }, _signal) {
      const found = await known(of)
      if (isLeft(found) || found.right.metadata.end_session_endpoint === undefined) return undefined
      const url = client.buildEndSessionUrl(found.right.config, {
        id_token_hint: idToken.reveal(),
        post_logout_redirect_uri: returnTo,
      })
      return /^https?:$/.test(url.protocol) ? url.href : undefined
    },

    async readLogoutToken(of, token, _signal) {
      const found = await known(of)
      return isLeft(found) ? found : readLogoutToken(found.right, of, token, clock)
    },
  }
}
