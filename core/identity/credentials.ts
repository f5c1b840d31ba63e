import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { CallerProofs, PresentedProof } from './access-ports.ts'
import { ProofRequired } from './access-ports.ts'
import type { UserId } from '../kernel/ids.ts'
import { definedFields } from '../kernel/json.ts'
import type { Call, Principal, SignedInCall } from '../kernel/principal.ts'
import { fullScope, makeOwnCall } from '../kernel/principal.ts'
import type { Entropy, Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOfUser } from './audit.ts'
import { postIfAddressed } from './emails/account-mail.ts'
import { addressKey } from './emails/email-address.ts'
import type {
  Background,
  CredentialStore,
  DomainNames,
  IdentityChanges,
  IdentityStores,
  PasswordHasher,
  PasswordRecord,
  ProvenStores,
} from './ports.ts'
import { NotAuthenticated, NotPermitted, TooManyAttempts } from './ports.ts'
import type { ChallengeBinding } from './passkey-ports.ts'
import type { UseOneTimeCode } from './second-factor/ports.ts'
import type { User } from './types.ts'
import { maxPasswordLength } from './authentication/password-policy.ts'
import type { Attempt, AttemptKind, AttemptThrottle, OnLocked } from './attempt-ports.ts'

export interface ThrottledCheckDeps {
  readonly throttle: AttemptThrottle
  readonly onLocked: OnLocked
}

/** The failure for a blocked address. It discloses nothing about any account. */
const addressBlocked = (retryAfterSeconds: number): Failure<'TooManyAttempts'> =>
  TooManyAttempts('Too many failed attempts from this address; wait and try again.', { retryAfterSeconds })

/**
 * Every check of a guessable secret goes through this function. `check` returns undefined for a wrong guess; `refused`
 * is the one failure for a wrong guess and for a locked subject. `whenLocked`, if set, runs instead of the check on a
 * locked subject, so that the cost is the same.
 */
export const makeThrottledCheck =
  ({ throttle, onLocked }: ThrottledCheckDeps) =>
  async <E extends Failure, R extends Failure, A>(
    attempt: Attempt,
    check: () => Promise<Either<E, A | undefined>>,
    refused: () => R,
    whenLocked?: () => Promise<unknown>,
  ): Outcome<E | R | Failure<'TooManyAttempts'>, A> => {
    const guarded = await throttle.guard(attempt, check)
    switch (guarded.kind) {
      case 'judged':
        return guarded.answer
      case 'address-blocked':
        return left(addressBlocked(guarded.retryAfterSeconds))
      case 'subject-locked':
        await whenLocked?.()
        return left(refused())
      case 'wrong':
        if (guarded.hasLocked && typeof attempt.subject === 'number') onLocked({ ...attempt, subject: attempt.subject })
        return left(refused())
    }
  }

export interface NotifyLockedDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly background: Background
  readonly entropy: Entropy
  readonly clock: Clock
}

const whatFailed: Readonly<Record<AttemptKind, string>> = {
  password: 'the password was wrong',
  'one-time-code': 'the password was right, but the one-time code was wrong',
  passkey: 'the response of a passkey was not valid',
  'reset-code': 'the code to set a new password was wrong',
}

/**
 * Notifies the owner of a locked account by mail and in the account's log, in one transaction. It runs after the
 * response: a slower response for existing accounts would disclose that they exist.
 */
export const makeNotifyLocked = (deps: NotifyLockedDeps): OnLocked => {
  const ownCall = makeOwnCall(deps.entropy)
  return ({ kind, subject, sourceIp }) =>
    deps.background.run('telling of a locked account', async () => {
      // The attempt has no call yet: authentication precedes it.
      const told = await deps.unitOfWork.run({ ...ownCall('identity.lock'), sourceIp }, async (stores) => {
        const user = await stores.users.byId(subject)
        if (user === undefined) return right(undefined)
        await stores.audit.record(auditOfUser(user, 'user.locked', { attempts: kind }))
        await postIfAddressed(stores.mail, {
          to: user.primaryEmail,
          subject: 'Sign-in to your account is locked for a while',
          paragraphs: [
            `There were too many failed attempts for the account ${user.login}: ${whatFailed[kind]}. The ` +
              `last one came at ${deps.clock.now().toISOString()} from ${sourceIp}.`,
            'New sign-ins are refused for a while; the lock ends by itself. Sessions and access tokens stay valid.',
            kind === 'one-time-code'
              ? 'If this was not you, your password is known to another person: change it.'
              : 'If this was not you, you do not need to do anything; an administrator can remove the lock.',
          ],
          accountId: user.id,
        })
        return right(undefined)
      })
      if (isLeft(told)) throw new Error(told.left)
    })
}

/** Returns a call for a change that precedes the request's own call. Its author is the user who was proven. */
export const callAsUser = (user: User, operation: string, sourceIp: string): Call => ({
  principal: { userId: user.id, login: user.login, isSiteAdmin: user.isAdmin, method: 'password', scopes: fullScope },
  requestId: '',
  sourceIp,
  operation,
  signal: new AbortController().signal,
})

export interface CheckCredentialsDeps extends ThrottledCheckDeps {
  readonly credentials: CredentialStore
  readonly domains: DomainNames
  readonly hasher: PasswordHasher
}

export interface PresentedPassword {
  /** A name, or a verified address. */
  readonly login: string
  readonly password: Secret
  readonly sourceIp: string
  /** The user whom the caller has already proven to be, and by what. */
  readonly proven?: { readonly userId: UserId; readonly by: string } | undefined
}

/** Returns what a call without a new password proves of its sender: by a session, a token or a remembered login. */
export const provenOf = ({
  principal,
  rememberedUserId,
}: Pick<Call, 'principal' | 'rememberedUserId'>): PresentedPassword['proven'] => {
  if (principal?.impersonator !== undefined) return undefined
  if (principal?.sessionId !== undefined) return { userId: principal.userId, by: `session ${principal.sessionId}` }
  if (principal?.tokenId !== undefined) return { userId: principal.userId, by: `token ${principal.tokenId}` }
  return rememberedUserId === undefined ? undefined : { userId: rememberedUserId, by: 'remembered login' }
}

/** Returns the binding of a challenge for a proof by the caller: another session or token cannot answer it. */
export const proofBindingOf = (call: SignedInCall<never>): ChallengeBinding => callerBindingOf(call, 'proof')

/** Returns the binding of a challenge to the credential of the caller. */
export const callerBindingOf = (call: SignedInCall<never>, purpose: 'proof' | 'registration'): ChallengeBinding => ({
  purpose,
  holder: `user ${call.principal.userId} ${provenOf(call)?.by ?? 'password'}`,
})

const maxLoginLength = 254

const refusedSignIn = (userId: UserId | undefined) =>
  ({
    action: 'user.sign_in_refused',
    objectType: 'user',
    ...definedFields({ tenantId: userId, objectId: userId }),
  }) as const

/**
 * Returns the same failure for an unknown name, a wrong password and a locked account: identical bytes, so that the
 * response does not disclose which. `userId`, if the account exists, is for that account's own log.
 */
export const badCredentials = (userId?: UserId): Failure<'NotAuthenticated'> =>
  NotAuthenticated(
    'The user name or the password is wrong, or there were too many failed attempts; in that case wait ' +
      'before the next one.',
    { about: refusedSignIn(userId) },
  )

/** The password is right, so this discloses nothing to others. */
export const accountDisabled = (userId: UserId): Failure<'NotPermitted'> =>
  NotPermitted('This account is inactive, or prohibited from signing in. An administrator can change that.', {
    about: refusedSignIn(userId),
  })

/**
 * Checks a name (or verified address) and a password. An unknown name and a locked subject cost the same hash as a
 * wrong password, are counted in the same way and return the same failure. Does not check whether the account may sign
 * in.
 */
export const makeCheckCredentials = (deps: CheckCredentialsDeps) => {
  const throttledCheck = makeThrottledCheck(deps)
  return async (
    presented: PresentedPassword,
  ): Outcome<Failure<'NotAuthenticated'> | Failure<'TooManyAttempts'>, PasswordRecord> => {
    const key = addressKey(presented.login, deps.domains)
    const isPlausible = key.length <= maxLoginLength && presented.password.reveal().length <= maxPasswordLength
    const record = isPlausible ? await deps.credentials.passwordByKey(key) : undefined
    const userId = record?.account.userId
    const subject = userId ?? key.slice(0, maxLoginLength)
    const verify = async () =>
      deps.hasher.verify(record?.phc ?? (await deps.hasher.dummyPhc()), presented.password, subject)
    return throttledCheck(
      {
        kind: 'password',
        subject,
        sourceIp: presented.sourceIp,
        provenBy: userId !== undefined && presented.proven?.userId === userId ? presented.proven.by : undefined,
      },
      async (): Promise<Either<never, PasswordRecord | undefined>> => right((await verify()) ? record : undefined),
      () => badCredentials(userId),
      verify,
    )
  }
}

/** The credential was replaced or revoked between its check and the change. */
export const credentialOutdated = (): Failure<'NotAuthenticated'> =>
  NotAuthenticated('The credential was replaced or revoked during the request. Send the current one.')

/** The values that a correct password, and code, were verified against. */
export interface ProvenSecrets {
  readonly phc: Secret
  /** Undefined if the account had no second factor. */
  readonly secondFactorRef: string | undefined
}

/**
 * Reports whether the password and the second factor are unchanged since they were verified. The user's row is locked.
 */
const secretsUnchanged = async (
  stores: Pick<IdentityStores, 'users' | 'secondFactors'>,
  userId: UserId,
  proven: ProvenSecrets,
): Promise<boolean> =>
  (await stores.users.passwordPhc(userId)) === proven.phc.reveal() &&
  (await stores.secondFactors.enrolledRef(userId)) === proven.secondFactorRef

/**
 * Reports whether the caller's credential is in force, as the transaction sees it. Locks nothing: a caller that locks
 * the user's row, shared or not, before it asks sees the result of each change that has ended a password or a session.
 */
export const isCredentialInForce = async (
  stores: ProvenStores,
  clock: Clock,
  { userId, impersonator, method, provenPhc, provenSecondFactorRef, tokenId, tokenCreatedAt, sessionId }: Principal,
): Promise<boolean> => {
  const actorId = impersonator?.userId ?? userId
  if (method === 'password')
    return (
      provenPhc === undefined ||
      secretsUnchanged(stores, actorId, { phc: provenPhc, secondFactorRef: provenSecondFactorRef })
    )
  if (tokenId !== undefined) return stores.tokens.isInForce(actorId, tokenId, tokenCreatedAt)
  if (sessionId === undefined) return true
  return (await stores.sessions.list(actorId, clock.now())).some(({ id }) => id === sessionId)
}

/**
 * Reports whether the caller's credential is still in force, inside a transaction: for changes whose result outlives
 * the credential. Locks the user's row, as a password change does, so that of two concurrent changes one sees the
 * other's result.
 */
export const credentialStillValid = async (
  stores: ProvenStores,
  clock: Clock,
  principal: Principal,
): Promise<boolean> =>
  (await stores.users.lock(principal.impersonator?.userId ?? principal.userId)) !== undefined &&
  isCredentialInForce(stores, clock, principal)

/**
 * Locks the caller's row until the transaction ends. Returns the user if the caller's credential, and anything the
 * caller verified again, is still in force.
 */
export const lockProvenUser = async (
  stores: ProvenStores,
  clock: Clock,
  { principal }: SignedInCall<never>,
  again?: ProvenSecrets,
): Outcome<Failure<'NotAuthenticated'>, User> => {
  const user = (await credentialStillValid(stores, clock, principal))
    ? await stores.users.lock(principal.userId)
    : undefined
  if (user === undefined) return left(credentialOutdated())
  return again === undefined || (await secretsUnchanged(stores, user.id, again))
    ? right(user)
    : left(credentialOutdated())
}

export interface AuthenticateAgainDeps extends CheckCredentialsDeps {
  readonly useOneTimeCode: UseOneTimeCode
}

export type AuthenticateAgainFailure = Failure<'ProofRequired'> | Failure<'TooManyAttempts'>

/** Returns the same failure for a proof that is missing, wrong, used, or temporarily locked. */
const required = ({ principal }: SignedInCall<never>): Failure<'ProofRequired'> =>
  ProofRequired(
    'Prove in this request that it is you: HTTP Basic with the password and a one-time code, or the keys ' +
      'password and passCode in the body, or the response of a passkey in the key passkey. After too many failed attempts wait before the next one.',
    {
      about: {
        tenantId: principal.userId,
        objectType: 'user',
        objectId: principal.userId,
        objectName: principal.login,
      },
    },
  )

/**
 * Verifies again that the caller knows the account's password and, if enrolled, has the second factor: a session or
 * token alone may be stolen. Returns what was verified, for the change to compare inside its transaction; undefined for
 * HTTP Basic, which has already verified both for this request and records that in its principal.
 */
export const makeAuthenticateAgain = (deps: AuthenticateAgainDeps) => {
  const checkCredentials = makeCheckCredentials(deps)
  return async (
    call: SignedInCall<never>,
    proof: PresentedProof,
  ): Outcome<AuthenticateAgainFailure, ProvenSecrets | undefined> => {
    const { principal, sourceIp } = call
    if (principal.impersonator !== undefined) return left(required(call))
    if (principal.method === 'password') return right(undefined)
    const passkey = proof.passkey === undefined ? undefined : { response: proof.passkey, binding: proofBindingOf(call) }
    const proveFactor = async (): Outcome<AuthenticateAgainFailure, void> => {
      const used = await deps.useOneTimeCode({ userId: principal.userId, code: proof.passCode, passkey, sourceIp })
      if (!isLeft(used)) return used
      return left(used.left.tag === 'TooManyAttempts' ? (used.left as Failure<'TooManyAttempts'>) : required(call))
    }
    if (proof.password === undefined) {
      // A passkey verifies its user, so that it proves as much as a password with a code.
      if (passkey === undefined) return left(required(call))
      const used = await proveFactor()
      if (isLeft(used)) return used
      const record = await deps.credentials.passwordByKey(principal.login.toLowerCase())
      return record?.account.userId === principal.userId
        ? right({ phc: secret(record.phc), secondFactorRef: record.secondFactorRef })
        : left(required(call))
    }
    const proven = provenOf(call)
    const checked = await checkCredentials({ login: principal.login, password: proof.password, sourceIp, proven })
    if (isLeft(checked))
      return left(
        checked.left.tag === 'TooManyAttempts' ? (checked.left as Failure<'TooManyAttempts'>) : required(call),
      )
    // Another account may have taken the name since the caller was authenticated.
    if (checked.right.account.userId !== principal.userId) return left(required(call))
    const { phc, hasSecondFactor, secondFactorRef } = checked.right
    const secrets = { phc: secret(phc), secondFactorRef }
    if (!hasSecondFactor) return right(secrets)
    const used = await proveFactor()
    return isLeft(used) ? used : right(secrets)
  }
}

/** Returns the proofs of callers for other parts. */
export const makeCallerProofs = (deps: AuthenticateAgainDeps & { readonly clock: Clock }): CallerProofs => {
  const authenticateAgain = makeAuthenticateAgain(deps)
  return {
    async prove(call, proof) {
      const proven = await authenticateAgain(call, proof)
      return isLeft(proven) ? proven : right({ secrets: proven.right })
    },
    lockProven: (stores, call, { secrets }) => lockProvenUser(stores, deps.clock, call, secrets),
  }
}

/** The password entered again by a signed-in user is wrong, or there were too many wrong ones. */
export const OwnPasswordWrong = defineFailure(
  'OwnPasswordWrong',
  'Forbidden',
  'The password is wrong, or there were too many failed attempts.',
)

export interface VerifyOwnPasswordDeps extends ThrottledCheckDeps {
  readonly stores: IdentityStores
  readonly hasher: PasswordHasher
}

export type VerifyOwnPasswordFailure = Failure<'OwnPasswordWrong'> | Failure<'TooManyAttempts'>

const wrong = (call: SignedInCall): Failure<'OwnPasswordWrong'> =>
  OwnPasswordWrong(
    'The password is wrong, or there were too many failed attempts; in that case wait before the next one.',
    {
      about: { tenantId: call.principal.userId, objectType: 'user', objectId: call.principal.userId },
    },
  )

/**
 * Verifies the password of a signed-in user again, before a change that a stolen session or token must not make.
 * Attempts are counted with the sign-ins of the account. Returns the verified hash: a change compares it in its
 * transaction, so that a password replaced in between is not accepted.
 */
export const makeVerifyOwnPassword = (deps: VerifyOwnPasswordDeps) => {
  const throttledCheck = makeThrottledCheck(deps)
  return async (call: SignedInCall, password: Secret): Outcome<VerifyOwnPasswordFailure, string> => {
    const { userId } = call.principal
    const phc = await deps.stores.users.passwordPhc(userId)
    if (phc === undefined || password.reveal().length > maxPasswordLength) return left(wrong(call))
    const verify = () => deps.hasher.verify(phc, password)
    const check = async (): Promise<Either<never, string | undefined>> => right((await verify()) ? phc : undefined)
    return throttledCheck(
      { kind: 'password', subject: userId, sourceIp: call.sourceIp, provenBy: provenOf(call)?.by },
      check,
      () => wrong(call),
      verify,
    )
  }
}
