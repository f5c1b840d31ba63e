import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import { toWireJson } from '../../kernel/json.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Entropy, Secret, SecretBox } from '../../kernel/secret.ts'
import { browserKeyOr, hex, secret } from '../../kernel/secret.ts'
import type { TokenDigest } from '../../identity/ports.ts'
import { AttemptMissing } from '../failures.ts'
import type { OpenIdConnect, ProviderStore, ProviderCounters, SignInAttemptStore, SignInSecrets } from '../ports.ts'
import { attemptPlace, makeClientOf } from '../sealing.ts'
import type { Provider, ProviderId, SignInAttempt } from '../types.ts'
import { providerMissing } from '../providers/providers.ts'

/** A sign-in is complete within this time, or begins again. */
const attemptSeconds = 600

/** Returns the address to which a provider sends its answers: one for each provider, so that they cannot be mixed up. */
export const redirectUri = (baseUrl: string, id: ProviderId): string => `${baseUrl}/user/oauth2/${id}/callback`

/** Returns the page of this service that asks for the name and the password of a directory. */
const passwordPage = (baseUrl: string, id: ProviderId, state: string): string =>
  `${baseUrl}/user/oauth2/${id}?state=${encodeURIComponent(state)}`

export const attemptMissing = (): Failure<'AttemptMissing'> =>
  AttemptMissing(
    'This sign-in is over: it took more than ten minutes, was used already, or began in another browser. Begin again ' +
      'on the sign-in page.',
  )

export interface AttemptDeps {
  readonly attempts: SignInAttemptStore
  readonly clock: Clock
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly secretBox: SecretBox
}

interface NewAttempt {
  readonly providerId: ProviderId
  readonly stage: SignInAttempt['stage']
  readonly state: string
  readonly browserHash: Uint8Array
  readonly userId: UserId | undefined
  readonly isLink: boolean
  readonly content: Secret
}

/** Returns the row of a sign-in, its content sealed. */
export const sealedAttempt = async (deps: AttemptDeps, made: NewAttempt): Promise<SignInAttempt> => {
  const { content, state, ...row } = made
  const ref = hex(deps.entropy.bytes(16))
  const createdAt = deps.clock.now()
  return {
    ...row,
    stateHash: deps.digest.digest(state),
    ref,
    sealed: await deps.secretBox.seal(content, attemptPlace({ providerId: row.providerId, ref })),
    createdAt,
    expiresAt: laterBySeconds(createdAt, attemptSeconds),
  }
}

/** Returns what was sealed in a sign-in. */
export const openAttempt = async <A>(box: SecretBox, attempt: SignInAttempt): Promise<A> =>
  JSON.parse((await box.open(attempt.sealed, attemptPlace(attempt))).reveal()) as A

export interface BeginSignInDeps extends AttemptDeps {
  readonly providers: Pick<ProviderStore, 'active' | 'mark'>
  readonly openIdConnect: OpenIdConnect
  readonly baseUrl: () => string
  readonly tally: ProviderCounters
}

export interface BegunSignIn {
  /** Where the browser goes next. */
  readonly url: string
  /** The value that the browser must present with the answer. */
  readonly browserKey: Secret
}

type BeginFailure = Failure<'ProviderMissing'> | Failure<'ProviderUnavailable'>

/** Begins a sign-in, or a link of the user. */
export const makeBegin = (deps: BeginSignInDeps) => {
  const clientOf = makeClientOf(deps.secretBox)
  return async (
    call: Call<never>,
    provider: Provider,
    { browserKey, linksUserId }: { readonly browserKey: Secret | undefined; readonly linksUserId?: UserId },
  ): Outcome<BeginFailure, BegunSignIn> => {
    const secrets = deps.openIdConnect.newSecrets()
    const request = {
      ...secrets,
      redirectUri: redirectUri(deps.baseUrl(), provider.id),
      scopes: ['openid', ...provider.options.scopes],
    }
    const url =
      provider.kind === 'ldap'
        ? right(passwordPage(deps.baseUrl(), provider.id, secrets.state))
        : await deps.openIdConnect.authorizationUrl(await clientOf(provider), request, call.signal)
    if (isLeft(url)) {
      deps.tally.signIn(provider.id, url.left.tag)
      await deps.providers.mark(provider.id, url.left.message, deps.clock.now())
      return url
    }
    const key = browserKeyOr(deps.entropy, browserKey)
    await deps.attempts.insert(
      await sealedAttempt(deps, {
        providerId: provider.id,
        stage: 'begun',
        state: secrets.state,
        browserHash: deps.digest.digest(key.reveal()),
        userId: linksUserId,
        isLink: linksUserId !== undefined,
        content: secret(toWireJson(secrets)),
      }),
    )
    return right({ url: url.right, browserKey: key })
  }
}

export interface BeginSignInInput {
  readonly providerId: ProviderId
  /** Set if the sign-in began at the provider: it must be the provider's issuer. */
  readonly iss: string | undefined
  readonly browserKey: Secret | undefined
}

/** Begins a sign-in with a provider. A provider of another issuer than the one that is named does not exist. */
export const makeBeginSignIn = (deps: BeginSignInDeps) => {
  const begin = makeBegin(deps)
  return async (
    call: Call<never>,
    { providerId, iss, browserKey }: BeginSignInInput,
  ): Outcome<BeginFailure, BegunSignIn> => {
    const provider = await deps.providers.active(providerId)
    if (provider === undefined || (iss !== undefined && iss !== provider.issuer)) return left(providerMissing())
    return begin(call, provider, { browserKey })
  }
}

/** Returns the attempt of a browser with a provider. Its stage must be `begun`. It is not used up. */
export const makeFindAttempt =
  (deps: AttemptDeps) =>
  async (
    state: string,
    providerId: ProviderId,
    browserKey: Secret | undefined,
  ): Outcome<Failure<'AttemptMissing'>, SignInAttempt> => {
    const stateHash = deps.digest.digest(state)
    const attempt =
      browserKey === undefined
        ? undefined
        : await deps.attempts.find(stateHash, deps.digest.digest(browserKey.reveal()))
    const isOwn =
      attempt !== undefined &&
      attempt.stage === 'begun' &&
      attempt.providerId === providerId &&
      attempt.expiresAt.getTime() > deps.clock.now().getTime()
    return isOwn ? right(attempt) : left(attemptMissing())
  }

/** Returns the secrets of the attempt that an answer belongs to, and uses it up. Its stage must be `begun`. */
export const makeTakeAttempt = (deps: AttemptDeps) => {
  const find = makeFindAttempt(deps)
  return async (
    state: string,
    providerId: ProviderId,
    browserKey: Secret | undefined,
  ): Outcome<Failure<'AttemptMissing'>, { readonly attempt: SignInAttempt; readonly secrets: SignInSecrets }> => {
    const found = await find(state, providerId, browserKey)
    if (isLeft(found)) return found
    const attempt = found.right
    if (!(await deps.attempts.use(attempt.stateHash, 'begun'))) return left(attemptMissing())
    return right({ attempt, secrets: await openAttempt<SignInSecrets>(deps.secretBox, attempt) })
  }
}
