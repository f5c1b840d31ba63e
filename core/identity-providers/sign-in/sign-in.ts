import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { toWireJson } from '../../kernel/json.ts'
import type { Call, SessionProof } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { hex, optionalSecret, randomBase62, secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import type { SessionOpening } from '../../identity/access-ports.ts'
import type { AssertionResponse } from '../../identity/passkey-ports.ts'
import { SecondFactorNeeded, SignInProhibited } from '../../identity/access-ports.ts'
import type { User } from '../../identity/types.ts'
import type { ProvidedMemberships } from '../../organizations/ports.ts'
import { recordedRefusal } from '../audit.ts'
import { providerMissing } from '../providers/providers.ts'
import type {
  ExternalAccountStore,
  OpenIdConnect,
  ProviderSettings,
  ProviderStore,
  ProviderStores,
  ProviderCounters,
  SignInAnswer,
} from '../ports.ts'
import { ProviderAnswerRefused } from '../ports.ts'
import { idTokenPlace, makeClientOf, refreshTokenPlace } from '../sealing.ts'
import type { ExternalAccount, ExternalIdentity, Provider, ProviderId, SignInAttempt } from '../types.ts'
import type { AdmissionDeps, AdmissionFailure } from './admission.ts'
import { admit, linkCaller, linkTo, prepareNewcomer } from './admission.ts'
import type { AttemptDeps } from './attempts.ts'
import { attemptMissing, makeTakeAttempt, openAttempt, redirectUri, sealedAttempt } from './attempts.ts'
import { reconcileTeams } from './teams.ts'

export interface FinishSignInDeps extends AttemptDeps, AdmissionDeps {
  readonly providers: Pick<ProviderStore, 'active' | 'mark'>
  readonly accounts: Pick<ExternalAccountStore, 'bySubject'>
  readonly openIdConnect: OpenIdConnect
  readonly unitOfWork: UnitOfWork<ProviderStores>
  readonly sessionOpening: SessionOpening
  readonly memberships: ProvidedMemberships
  readonly settings: ProviderSettings
  readonly tally: ProviderCounters
  readonly baseUrl: () => string
}

/** The browser is signed in, or the caller's account is linked. */
export interface FinishedSignIn {
  readonly user: User
  readonly isLink: boolean
  /** Undefined for a link: the session of the caller stays. */
  readonly sessionKey: Secret | undefined
  readonly busPass: Secret | undefined
}

export type SignInFailure =
  | AdmissionFailure
  | Failure<'AttemptMissing'>
  | Failure<'ProviderMissing'>
  | Failure<'ProviderUnavailable'>
  | Failure<'ProviderAnswerRefused'>
  | Failure<'SignInProhibited'>

/** What waits for a one-time code, as it is sealed. */
interface Waiting {
  readonly identity: Omit<ExternalIdentity, 'idToken' | 'refreshToken'>
  readonly idToken: string
  readonly refreshToken: string | undefined
}

type Opened = Omit<FinishedSignIn, 'busPass'> | 'code'

/** Records a sign-in at the link: the refresh token by which access is checked, and the next check. */
const recordSignIn = async (
  deps: FinishSignInDeps,
  stores: ProviderStores,
  link: ExternalAccount,
  { refreshToken, email }: ExternalIdentity,
): Promise<void> => {
  const at = deps.clock.now()
  await stores.accounts.signedIn(link.id, {
    at,
    email: email.slice(0, 254),
    sealedRefreshToken:
      refreshToken === undefined ? undefined : await deps.secretBox.seal(refreshToken, refreshTokenPlace(link)),
    nextCheckAt: refreshToken === undefined ? undefined : laterBySeconds(at, deps.settings.checkSeconds),
  })
}

const openFor = async (
  deps: FinishSignInDeps,
  stores: ProviderStores,
  call: Call,
  provider: Provider,
  identity: ExternalIdentity,
  { user, link, proof }: { readonly user: User; readonly link: ExternalAccount; readonly proof: SessionProof },
): Outcome<Failure<'SignInProhibited'>, Opened> => {
  const opened = await deps.sessionOpening.openIn(stores.identity, call, user, {
    proof,
    shown: { provider: provider.name, provider_id: provider.id },
  })
  if (isLeft(opened)) return opened
  const ref = hex(deps.entropy.bytes(16))
  await stores.sessions.insert({
    sessionId: opened.right.sessionId,
    accountId: link.id,
    sid: identity.sid.slice(0, 255),
    ref,
    sealedIdToken: await deps.secretBox.seal(identity.idToken, idTokenPlace({ accountId: link.id, ref })),
  })
  await recordSignIn(deps, stores, link, identity)
  await reconcileTeams(deps, stores, provider, user, identity)
  return right({ user, isLink: false, sessionKey: opened.right.sessionKey })
}

/** Keeps a proven sign-in until its one-time code comes, in the same browser. */
const awaitCode = async (
  deps: FinishSignInDeps,
  stores: ProviderStores,
  provider: Provider,
  user: User,
  { idToken, refreshToken, ...identity }: ExternalIdentity,
  browserHash: Uint8Array,
): Promise<'code'> => {
  const waiting: Waiting = { identity, idToken: idToken.reveal(), refreshToken: refreshToken?.reveal() }
  await stores.attempts.insert(
    await sealedAttempt(deps, {
      providerId: provider.id,
      stage: 'code',
      state: randomBase62(deps.entropy, 43),
      browserHash,
      userId: user.id,
      isLink: false,
      content: secret(toWireJson(waiting)),
    }),
  )
  return 'code'
}

/** An organization must not speak for a site admin: its owners would be site admins too. */
const isBeyond = ({ orgId }: Provider, { isAdmin }: User): boolean => orgId !== undefined && isAdmin

const adminOfSite = (): Failure<'SignInProhibited'> =>
  SignInProhibited(
    'Site administrators sign in with a provider of the site, or with the password, and not with the provider of an ' +
      'organization.',
  )

type EnterFailure = AdmissionFailure | Failure<'SignInProhibited'>

/** @param factor the user whose second factor was correct, if one was asked for, and what it proves. */
const enter = async (
  deps: FinishSignInDeps,
  call: Call,
  provider: Provider,
  identity: ExternalIdentity,
  given: {
    readonly browserHash: Uint8Array
    readonly factor?: { readonly userId: User['id']; readonly proof: SessionProof }
  },
): Outcome<EnterFailure, Opened> => {
  const newcomer = await prepareNewcomer(deps, provider, identity)
  if (isLeft(newcomer)) return newcomer
  return deps.unitOfWork.run<EnterFailure, Opened>(call, async (stores) => {
    const admitted = await admit(deps, stores, provider, identity, newcomer.right)
    if (isLeft(admitted)) return admitted
    const { user, isCreated } = admitted.right
    if (isBeyond(provider, user)) return left(adminOfSite())
    const factor = isCreated ? undefined : await stores.identity.secondFactors.enrolledRef(user.id)
    if (factor !== undefined && given.factor?.userId !== user.id)
      return right(await awaitCode(deps, stores, provider, user, identity, given.browserHash))
    const linked =
      admitted.right.link === undefined
        ? await linkTo(deps, stores, provider, identity, { user, isCreated })
        : right(admitted.right.link)
    if (isLeft(linked)) return linked
    return openFor(deps, stores, call, provider, identity, {
      user,
      link: linked.right,
      proof: given.factor?.proof ?? 'provider',
    })
  })
}

const link = (
  deps: FinishSignInDeps,
  call: Call,
  provider: Provider,
  identity: ExternalIdentity,
  userId: User['id'],
): Outcome<EnterFailure, Opened> =>
  deps.unitOfWork.run<EnterFailure, Opened>(call, async (stores) => {
    const linked = await linkCaller(deps, stores, provider, identity, userId)
    if (isLeft(linked)) return linked
    if (isBeyond(provider, linked.right.user)) return left(adminOfSite())
    await recordSignIn(deps, stores, linked.right.link, identity)
    await reconcileTeams(deps, stores, provider, linked.right.user, identity)
    return right({ user: linked.right.user, isLink: true, sessionKey: undefined })
  })

const codeNeeded = (): Failure<'SecondFactorNeeded'> =>
  SecondFactorNeeded(
    'Your identity provider let you in. This account also has a second factor: enter a one-time code or use a passkey.',
  )

const finished = async (deps: FinishSignInDeps, opened: Exclude<Opened, 'code'>): Promise<FinishedSignIn> => ({
  ...opened,
  busPass: opened.isLink ? undefined : await deps.sessionOpening.passFor(opened.user),
})

/** Returns the function that counts a refused sign-in, and has it recorded. */
export const makeRefused =
  ({ tally }: Pick<FinishSignInDeps, 'tally'>) =>
  <F extends Failure>(provider: Provider | undefined, failure: F): Either<F, never> => {
    tally.signIn(provider?.id, failure.tag)
    return left(provider === undefined ? failure : recordedRefusal(provider, failure))
  }

/** What a provider says when it refuses: RFC 6749 §4.1.2.1, without what a message must not repeat. */
const errorWord = (error: string): string => error.replaceAll(/[^a-z_]/g, '').slice(0, 40)

const refusedByProvider = (provider: Provider, error: string): Failure<'ProviderAnswerRefused'> =>
  ProviderAnswerRefused(
    `${provider.displayName} refused the sign-in (${errorWord(error) || 'no reason given'}). Try again, or ask those ` +
      'who run the provider whether you may use this service.',
  )

/** What a provider has proven. */
export interface Proven {
  readonly attempt: SignInAttempt
  readonly provider: Provider
  readonly identity: ExternalIdentity
}

/** Reports whether the caller may continue an attempt: a link belongs to the user who asked for it. */
export const isOfCaller = ({ principal }: Call, { isLink, userId }: SignInAttempt): boolean =>
  !isLink || (principal?.userId === userId && principal?.impersonator === undefined)

/** Opens a session for a proven person, or links the account of the caller. */
export const completeProven = async (
  deps: FinishSignInDeps,
  call: Call,
  { attempt, provider, identity }: Proven,
): Outcome<SignInFailure | Failure<'SecondFactorNeeded'>, FinishedSignIn> => {
  const opened =
    attempt.isLink && attempt.userId !== undefined
      ? await link(deps, call, provider, identity, attempt.userId)
      : await enter(deps, call, provider, identity, { browserHash: attempt.browserHash })
  if (isLeft(opened)) return makeRefused(deps)(provider, opened.left)
  if (opened.right === 'code') {
    deps.tally.signIn(provider.id, 'second-factor')
    return left(codeNeeded())
  }
  await deps.providers.mark(provider.id, '', deps.clock.now())
  deps.tally.signIn(provider.id, opened.right.isLink ? 'linked' : 'signed-in')
  return right(await finished(deps, opened.right))
}

export interface FinishSignInInput {
  readonly providerId: ProviderId
  readonly answer: SignInAnswer
  readonly browserKey: Secret | undefined
}

/**
 * Completes a sign-in or a link with the answer of the provider. The attempt is used up whatever becomes of it. Nothing
 * but a complete check of the answer opens a session.
 */
export const makeFinishSignIn = (deps: FinishSignInDeps) => {
  const take = makeTakeAttempt(deps)
  const clientOf = makeClientOf(deps.secretBox)

  const identify = async (
    call: Call,
    { providerId, answer, browserKey }: FinishSignInInput,
  ): Outcome<SignInFailure, Proven> => {
    const taken = await take(answer.state, providerId, browserKey)
    if (isLeft(taken)) return taken
    const { attempt, secrets } = taken.right
    const provider = await deps.providers.active(providerId)
    if (provider?.kind !== 'oidc') return left(providerMissing())
    if (!isOfCaller(call, attempt)) return left(attemptMissing())
    if (answer.error !== undefined) return left(refusedByProvider(provider, answer.error))
    const { groupsClaim } = provider.options
    const expected = { ...secrets, groupsClaim, redirectUri: redirectUri(deps.baseUrl(), provider.id) }
    const identity = await deps.openIdConnect.identify(await clientOf(provider), answer, expected, call.signal)
    if (isLeft(identity)) {
      if (identity.left.tag === 'ProviderUnavailable')
        await deps.providers.mark(provider.id, identity.left.message, deps.clock.now())
      return identity
    }
    return right({ attempt, provider, identity: identity.right })
  }

  const refused = makeRefused(deps)
  return async (
    call: Call,
    input: FinishSignInInput,
  ): Outcome<SignInFailure | Failure<'SecondFactorNeeded'>, FinishedSignIn> => {
    const proven = await identify(call, input)
    if (isLeft(proven)) return refused(await deps.providers.active(input.providerId), proven.left)
    return completeProven(deps, call, proven.right)
  }
}

export interface FinishWithCodeInput {
  readonly providerId: ProviderId
  /** A one-time or recovery code. */
  readonly code: string | undefined
  /** The response of a passkey in place of a code. */
  readonly passkey: AssertionResponse | undefined
  readonly browserKey: Secret | undefined
}

/** Completes a sign-in that awaits a second factor, which is judged and used up before anything is opened. */
export const makeFinishWithCode = (deps: FinishSignInDeps) => {
  const refused = makeRefused(deps)
  return async (
    call: Call,
    { providerId, code, passkey, browserKey }: FinishWithCodeInput,
  ): Outcome<SignInFailure | Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>, FinishedSignIn> => {
    const browserHash = browserKey === undefined ? undefined : deps.digest.digest(browserKey.reveal())
    const attempt = browserHash === undefined ? undefined : await deps.attempts.awaitingCode(browserHash, providerId)
    const provider = await deps.providers.active(providerId)
    if (attempt?.userId === undefined || attempt.expiresAt.getTime() <= deps.clock.now().getTime())
      return left(attemptMissing())
    if (provider === undefined) return left(providerMissing())
    const { userId } = attempt
    const presented = { userId, code, passkey, browserKey, sourceIp: call.sourceIp }
    const used = await deps.sessionOpening.useFactor(presented)
    if (isLeft(used)) return used
    if (!(await deps.attempts.use(attempt.stateHash, 'code'))) return left(attemptMissing())
    const waiting = await openAttempt<Waiting>(deps.secretBox, attempt)
    const identity = {
      ...waiting.identity,
      idToken: secret(waiting.idToken),
      refreshToken: optionalSecret(waiting.refreshToken),
    }
    const proof = passkey === undefined ? 'provider' : 'passkey'
    const opened = await enter(deps, call, provider, identity, {
      browserHash: attempt.browserHash,
      factor: { userId, proof },
    })
    if (isLeft(opened)) return refused(provider, opened.left)
    if (opened.right === 'code') return left(attemptMissing())
    deps.tally.signIn(provider.id, 'signed-in')
    return right(await finished(deps, opened.right))
  }
}
