import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Entropy, Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import { localSignInOff, SecondFactorNeeded, SignInProhibited } from '../access-ports.ts'
import type { Failure, FailureType, Outcome } from '../../kernel/failure.ts'
import { Busy, defineFailure } from '../../kernel/failure.ts'
import { definedFields } from '../../kernel/json.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Call, SessionProof } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { IdentityChanges, IdentitySettings, PasswordRecord, TokenDigest } from '../ports.ts'
import { browserBinding } from '../passkeys/challenges.ts'
import type { AssertionResponse, UsedPasskey } from '../passkey-ports.ts'
import type { UseOneTimeCode } from '../second-factor/ports.ts'
import type { BusPasses, RememberedCookie } from '../sessions/ports.ts'
import type { RememberCookie } from '../sessions/remembered-logins.ts'
import { newRememberSecret, newSeries, rememberCookieValue } from '../sessions/remembered-logins.ts'
import { newSessionKey, openSession } from '../sessions/sessions.ts'
import type { CheckCredentialsDeps } from '../credentials.ts'
import { badCredentials, makeCheckCredentials, provenOf } from '../credentials.ts'

/** An unknown user or a wrong password. Both give the same answer. */
export const SignInRefused = defineFailure(
  'SignInRefused',
  'NotFound',
  'The user name or the password is wrong, or there were too many failed attempts.',
)
export interface SignInDeps extends CheckCredentialsDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
  readonly settings: IdentitySettings
  readonly busPasses: BusPasses
}

export interface SignInInput {
  readonly login: string
  readonly password: Secret
  readonly remember: boolean
}

export interface SignedIn {
  readonly sessionKey: Secret
  /** Set if the login is to be remembered. */
  readonly remembered: RememberedCookie | undefined
  readonly busPass: Secret | undefined
}

/** The account changed between the password check and the creation of the session. */
const AccountChanged: FailureType<'AccountChanged'> = defineFailure(
  'AccountChanged',
  'Conflict',
  'The password, the second factor or the passkey was replaced during the request.',
)

export type SignInFailure = Failure<'SignInRefused'> | Failure<'SignInProhibited'> | Failure<'TooManyAttempts'>

/**
 * A further check on an account that may sign in and whose password was correct. Right is what proves the user. It may
 * run twice in one sign-in.
 */
export type SecondStep<F extends Failure> = (record: PasswordRecord) => Outcome<F, SessionProof>

export const prohibited = (): Failure<'SignInProhibited'> =>
  SignInProhibited(
    'This account may not sign in: it is shut, or its e-mail address was not confirmed yet. If you never ' +
      'confirmed it, ask for a new password: that sends the mail for it again. Otherwise ask an administrator.',
  )

/**
 * Opens a session with a new key; a session that the call came with ends. Everything after the password check is one
 * transaction, in which the account must be unchanged since the check. A hash with old parameters is replaced in it.
 */
const makeSignInBy = (deps: SignInDeps) => {
  const checkCredentials = makeCheckCredentials(deps)

  const authenticateOnce = async <F extends Failure>(
    call: Call,
    input: SignInInput,
    secondStep: SecondStep<F>,
  ): Outcome<SignInFailure | F, PasswordRecord & { readonly proof: SessionProof }> => {
    const checked = await checkCredentials({
      login: input.login,
      password: input.password,
      sourceIp: call.sourceIp,
      proven: provenOf(call),
    })
    if (isLeft(checked)) {
      return checked.left.tag === 'NotAuthenticated'
        ? left(refusedAs(checked.left))
        : left(checked.left as Failure<'TooManyAttempts'>)
    }
    const { account } = checked.right
    if (!account.isEnabled) return left(prohibited())
    if (checked.right.isLocalSignInOff) return left(SignInProhibited(localSignInOff))
    const second = await secondStep(checked.right)
    return isLeft(second) ? second : right({ ...checked.right, proof: second.right })
  }

  return async <F extends Failure>(
    call: Call,
    input: SignInInput,
    secondStep: SecondStep<F>,
  ): Outcome<SignInFailure | F, SignedIn> => {
    // Another sign-in may have rehashed the password; a second check decides.
    for (let attempts = 2; attempts > 0; attempts--) {
      const proven = await authenticateOnce(call, input, secondStep)
      if (isLeft(proven)) return proven
      const opened = await openProven(deps, call, proven.right, {
        proof: proven.right.proof,
        remember: input.remember,
        newPhc: await rehashed(deps, proven.right, input.password),
      })
      if (!isLeft(opened)) return opened
      if (opened.left.tag !== 'AccountChanged') return left(opened.left as Failure<'SignInProhibited'>)
    }
    return left(refusedAs(badCredentials()))
  }
}

/** Returns the same message and audit data as a refused Basic header, with this route's own status. */
const refusedAs = ({ message, about }: Failure): Failure<'SignInRefused'> =>
  SignInRefused(message, definedFields({ about }))

/** Returns undefined for a user who must change the password first. */
const passFor = async (
  deps: Pick<SignInDeps, 'busPasses' | 'settings'>,
  { account: { userId, login, mustChangePassword } }: PasswordRecord,
): Promise<Secret | undefined> =>
  mustChangePassword ? undefined : deps.busPasses.passFor({ userId, login }, deps.settings.sessionSeconds)

/** Returns the new hash of a password whose old hash uses weaker parameters than the current ones. */
const rehashed = async (deps: SignInDeps, record: PasswordRecord, password: Secret): Promise<string | undefined> => {
  if (!deps.hasher.needsRehash(record.phc)) return undefined
  try {
    return await deps.hasher.hash(password)
  } catch (error) {
    if (error instanceof Busy) return undefined
    throw error
  }
}

/** What is known of a sign-in beside the account. */
export interface Opening {
  readonly proof: SessionProof
  readonly remember: boolean
  /** The same password under current parameters. */
  readonly newPhc?: string | undefined
  /** The passkey that signs in. It must still exist. */
  readonly passkey?: UsedPasskey
}

export type OpenProvenDeps = Pick<SignInDeps, 'busPasses' | 'clock' | 'digest' | 'entropy' | 'settings' | 'unitOfWork'>

/** Opens a session for an account that was proven. Failure AccountChanged: the account is no longer what was proven. */
export const openProven = async (
  deps: OpenProvenDeps,
  call: Call,
  record: PasswordRecord,
  { proof, remember: isAsked, newPhc, passkey }: Opening,
): Outcome<Failure<'SignInProhibited'> | Failure<'AccountChanged'>, SignedIn> => {
  const { account, phc } = record
  const key = newSessionKey(deps.entropy)
  const cookie = { series: newSeries(deps.entropy), secret: newRememberSecret(deps.entropy) }
  const remembers = isAsked && deps.settings.rememberSeconds > 0
  const opened = await deps.unitOfWork.run<
    Failure<'SignInProhibited'> | Failure<'AccountChanged'>,
    Omit<SignedIn, 'busPass'>
  >(call, async (stores) => {
    // A password change locks the user and ends the sessions: no session may be created after it with the old
    // password.
    const refused = await changedSince(stores, record, passkey)
    if (refused !== undefined) return left(refused)
    const now = deps.clock.now()
    const old = call.principal
    if (old?.sessionId !== undefined) await stores.sessions.remove(old.userId, old.sessionId)
    const remembered = remembers ? await remember(stores, deps, call, record, { ...cookie, proof }) : undefined
    const opening = { userId: account.userId, key, remembered, proof, now }
    const sessionId = await openSession(stores, deps, call, opening)
    await stores.users.markLoggedIn(account.userId, now)
    if (newPhc !== undefined) await stores.users.rehashPassword(account.userId, newPhc, phc)
    const shown = {
      session: sessionId,
      remember: remembers,
      second_factor: record.hasSecondFactor,
      ...definedFields({ passkey: passkey?.name }),
    }
    await stores.audit.record(auditOfUser({ id: account.userId, login: account.login }, 'user.signed_in', shown))
    const kept = remembers
      ? { value: rememberCookieValue(cookie), validSeconds: deps.settings.rememberSeconds }
      : undefined
    return right({ sessionKey: secret(key), remembered: kept })
  })
  return isLeft(opened) ? opened : right({ ...opened.right, busPass: await passFor(deps, record) })
}

/** Locks the user and compares the account with what was verified. */
const changedSince = async (
  stores: IdentityChanges,
  { account, phc, secondFactorRef }: PasswordRecord,
  passkey: UsedPasskey | undefined,
): Promise<Failure<'SignInProhibited'> | Failure<'AccountChanged'> | undefined> => {
  const user = await stores.users.lock(account.userId)
  if (user === undefined || (await stores.users.passwordPhc(account.userId)) !== phc)
    return AccountChanged('The password was replaced.')
  if (!user.isActive || user.prohibitLogin) return prohibited()
  if (passkey !== undefined && !(await stores.passkeys.list(account.userId)).some(({ id }) => id === passkey.id))
    return AccountChanged('The passkey was removed.')
  const isSame = (await stores.secondFactors.enrolledRef(account.userId)) === secondFactorRef
  return isSame ? undefined : AccountChanged('The second factor was changed.')
}

const remember = async (
  stores: IdentityChanges,
  deps: OpenProvenDeps,
  call: Call,
  { account }: PasswordRecord,
  cookie: RememberCookie & { readonly proof: SessionProof },
) => {
  const createdAt = deps.clock.now()
  const expiresAt = laterBySeconds(createdAt, deps.settings.rememberSeconds)
  const id = await stores.rememberedLogins.insert({
    userId: account.userId,
    seriesHash: deps.digest.digest(cookie.series),
    secretHash: deps.digest.digest(cookie.secret),
    sourceIp: call.sourceIp,
    userAgent: call.userAgent ?? '',
    createdAt,
    expiresAt,
    proof: cookie.proof,
  })
  return { id, expiresAt }
}

/** Signs in with a password only. An account with a second factor is refused, after the password was correct. */
export const makeSignIn = (deps: SignInDeps) => {
  const signIn = makeSignInBy(deps)
  return (call: Call, input: SignInInput): Outcome<SignInFailure | Failure<'SecondFactorNeeded'>, SignedIn> =>
    signIn<Failure<'SecondFactorNeeded'>>(call, input, async ({ hasSecondFactor }) =>
      hasSecondFactor
        ? left(
            SecondFactorNeeded(
              'This account has a second factor, so a password alone does not sign in: use POST ' +
                '/user/signin/twofa. A program gets an access token, which needs no code, by one request: ' +
                'POST /users/{username}/tokens with the password in HTTP Basic and a one-time code in the ' +
                'header X-OTP.',
            ),
          )
        : right('password'),
    )
}

export interface SignInWithCodeInput extends SignInInput {
  /** A code of the authenticator, or a recovery code. */
  readonly code: string | undefined
  /** The response of a passkey in place of a code, with the browser that asked for its challenge. */
  readonly passkey?: { readonly response: AssertionResponse; readonly browser: Secret | undefined } | undefined
}

/**
 * Signs in with a password and, if a second factor is enrolled, an unused code or a passkey. It is not read before the
 * password was correct, nor if there is no second factor.
 */
export const makeSignInWithCode = (deps: SignInDeps & { readonly useOneTimeCode: UseOneTimeCode }) => {
  const signIn = makeSignInBy(deps)
  return (
    call: Call,
    input: SignInWithCodeInput,
  ): Outcome<SignInFailure | Failure<'OneTimeCodeRequired'>, SignedIn> => {
    // A second attempt within one sign-in must not require a second code: the first is used up.
    let provenFor: UserId | undefined
    return signIn<Failure<'OneTimeCodeRequired'> | Failure<'TooManyAttempts'>>(
      call,
      input,
      async ({ account: { userId }, hasSecondFactor }) => {
        if (!hasSecondFactor) return right('password')
        const proof = input.passkey === undefined ? 'code' : 'passkey'
        if (provenFor === userId) return right(proof)
        const passkey = input.passkey && {
          response: input.passkey.response,
          binding: browserBinding(input.passkey.browser),
        }
        const used = await deps.useOneTimeCode({ userId, code: input.code, passkey, sourceIp: call.sourceIp })
        if (isLeft(used)) return used
        provenFor = userId
        return right(proof)
      },
    )
  }
}
