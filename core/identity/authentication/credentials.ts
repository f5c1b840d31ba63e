import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import { definedFields } from '../../kernel/json.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Principal, SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { CredentialStore, IdentityStores, PasswordHasher, PasswordRecord } from '../ports.ts'
import { NotAuthenticated } from '../ports.ts'
import { enrolledRef } from '../second-factor/codes.ts'
import type { UseOneTimeCode } from '../second-factor/ports.ts'
import type { User } from '../types.ts'
import { maxPasswordLength } from './password-policy.ts'
import type { ThrottledCheckDeps } from './throttle.ts'
import { makeThrottledCheck } from './throttle.ts'

export interface CheckCredentialsDeps extends ThrottledCheckDeps {
  readonly credentials: CredentialStore
  readonly hasher: PasswordHasher
}

export interface PresentedPassword {
  /** A name, or a verified address. */
  readonly login: string
  readonly password: Secret
  readonly sourceIp: string
}

const maxLoginLength = 254

/**
 * Returns the same failure for an unknown name, a wrong password and a locked account: identical bytes, so that the
 * response does not disclose which. `userId`, if the account exists, is for that account's own log.
 */
export const badCredentials = (userId?: UserId): Failure<'NotAuthenticated'> =>
  NotAuthenticated(
    'The user name or the password is wrong, or there were too many failed attempts; in that case wait before the next one.',
    { about: { action: 'user.sign_in_refused', objectType: 'user', ...definedFields({ tenantId: userId, objectId: userId }) } },
  )

/**
 * Checks a name (or verified address) and a password. An unknown name and a locked subject cost the same hash as a
 * wrong password, are counted in the same way and return the same failure. Does not check whether the account may sign
 * in.
 */
export const makeCheckCredentials = (deps: CheckCredentialsDeps) => {
  const throttledCheck = makeThrottledCheck(deps)
  return async (presented: PresentedPassword): Outcome<Failure<'NotAuthenticated'> | Failure<'TooManyAttempts'>, PasswordRecord> => {
    const key = presented.login.toLowerCase()
    const isPlausible = key.length <= maxLoginLength && presented.password.reveal().length <= maxPasswordLength
    const record = isPlausible ? await deps.credentials.passwordByKey(key) : undefined
    const userId = record?.account.userId
    const verify = async () => deps.hasher.verify(record?.phc ?? (await deps.hasher.dummyPhc()), presented.password)
    return throttledCheck(
      { kind: 'password', subject: userId ?? key.slice(0, maxLoginLength), sourceIp: presented.sourceIp },
      async (): Promise<Either<Failure<'TooManyAttempts'>, PasswordRecord | undefined>> => {
        const matches = await verify()
        if (isLeft(matches)) return matches
        return right(matches.right ? record : undefined)
      },
      () => badCredentials(userId),
      verify,
    )
  }
}

/** The credential was replaced or revoked between its check and the change. */
export const credentialOutdated = (): Failure<'NotAuthenticated'> =>
  NotAuthenticated('The credential was replaced or revoked during the request. Send the current one.')

/** The stores that hold what authenticates a caller. */
export type ProvenStores = Pick<IdentityStores, 'users' | 'tokens' | 'sessions' | 'secondFactors'>

/** The values that a correct password, and code, were verified against. */
export interface ProvenSecrets {
  readonly phc: Secret
  /** Undefined if the account had no second factor. */
  readonly secondFactorRef: string | undefined
}

/** Reports whether the password and the second factor are unchanged since they were verified. The user's row is locked. */
const secretsUnchanged = async (stores: Pick<IdentityStores, 'users' | 'secondFactors'>, userId: UserId, proven: ProvenSecrets): Promise<boolean> =>
  (await stores.users.passwordPhc(userId)) === proven.phc.reveal() && enrolledRef(await stores.secondFactors.find(userId)) === proven.secondFactorRef

/**
 * Reports whether the caller's credential is still in force, inside a transaction: for changes whose result outlives
 * the credential. Locks the user's row, as a password change does, so that of two concurrent changes one sees the
 * other's result.
 */
export const credentialStillValid = async (
  stores: ProvenStores,
  clock: Clock,
  principal: Principal,
): Promise<boolean> => {
  const { method, provenPhc, provenSecondFactorRef, tokenId, tokenCreatedAt, sessionId } = principal
  const actorId = principal.impersonator?.userId ?? principal.userId
  if ((await stores.users.lock(actorId)) === undefined) return false
  if (method === 'password') return provenPhc === undefined || secretsUnchanged(stores, actorId, { phc: provenPhc, secondFactorRef: provenSecondFactorRef })
  if (tokenId !== undefined) return stores.tokens.isInForce(actorId, tokenId, tokenCreatedAt)
  if (sessionId === undefined) return true
  return (await stores.sessions.list(actorId, clock.now())).some(({ id }) => id === sessionId)
}

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
  const user = (await credentialStillValid(stores, clock, principal)) ? await stores.users.lock(principal.userId) : undefined
  if (user === undefined) return left(credentialOutdated())
  return again === undefined || (await secretsUnchanged(stores, user.id, again)) ? right(user) : left(credentialOutdated())
}

/** The caller is authenticated, but did not supply the password (and code) in this request. */
export const ProofRequired = defineFailure('ProofRequired', 'Forbidden')

export interface AuthenticateAgainDeps extends CheckCredentialsDeps {
  readonly useOneTimeCode: UseOneTimeCode
}

export interface Proof {
  readonly password: Secret | undefined
  /** A code of the authenticator, or a recovery code. */
  readonly passCode: string | undefined
}

export type AuthenticateAgainFailure = Failure<'ProofRequired'> | Failure<'TooManyAttempts'>

/** Returns the same failure for a proof that is missing, wrong, used, or temporarily locked. */
const required = ({ principal }: SignedInCall<never>): Failure<'ProofRequired'> =>
  ProofRequired(
    'Prove in this request that it is you: HTTP Basic with the password and a one-time code, or the keys password and passCode in the body. After too many failed attempts wait before the next one.',
    { about: { tenantId: principal.userId, objectType: 'user', objectId: principal.userId, objectName: principal.login } },
  )

/**
 * Verifies again that the caller knows the account's password and, if enrolled, has the second factor: a session or
 * token alone may be stolen. Returns what was verified, for the change to compare inside its transaction; undefined for
 * HTTP Basic, which has already verified both for this request and records that in its principal.
 */
export const makeAuthenticateAgain = (deps: AuthenticateAgainDeps) => {
  const checkCredentials = makeCheckCredentials(deps)
  return async (call: SignedInCall<never>, proof: Proof): Outcome<AuthenticateAgainFailure, ProvenSecrets | undefined> => {
    const { principal, sourceIp } = call
    if (principal.impersonator !== undefined) return left(required(call))
    if (principal.method === 'password') return right(undefined)
    if (proof.password === undefined) return left(required(call))
    const checked = await checkCredentials({ login: principal.login, password: proof.password, sourceIp })
    if (isLeft(checked)) return left(checked.left.tag === 'TooManyAttempts' ? (checked.left as Failure<'TooManyAttempts'>) : required(call))
    // Another account may have taken the name since the caller was authenticated.
    if (checked.right.account.userId !== principal.userId) return left(required(call))
    const { phc, hasSecondFactor, secondFactorRef } = checked.right
    const proven = { phc: secret(phc), secondFactorRef }
    if (!hasSecondFactor) return right(proven)
    const used = await deps.useOneTimeCode({ userId: principal.userId, code: proof.passCode, sourceIp })
    if (isLeft(used)) return left(used.left.tag === 'TooManyAttempts' ? (used.left as Failure<'TooManyAttempts'>) : required(call))
    return right(proven)
  }
}

/** The password entered again by a signed-in user is wrong, or there were too many wrong ones. */
export const OwnPasswordWrong = defineFailure('OwnPasswordWrong', 'Forbidden')

export interface VerifyOwnPasswordDeps extends ThrottledCheckDeps {
  readonly stores: IdentityStores
  readonly hasher: PasswordHasher
}

export type VerifyOwnPasswordFailure = Failure<'OwnPasswordWrong'> | Failure<'TooManyAttempts'>

const wrong = (call: SignedInCall): Failure<'OwnPasswordWrong'> =>
  OwnPasswordWrong('The password is wrong, or there were too many failed attempts; in that case wait before the next one.', {
    about: { tenantId: call.principal.userId, objectType: 'user', objectId: call.principal.userId },
  })

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
    const check = async () => {
      const matches = await verify()
      if (isLeft(matches)) return matches
      return right(matches.right ? phc : undefined)
    }
    return throttledCheck({ kind: 'password', subject: userId, sourceIp: call.sourceIp }, check, () => wrong(call), verify)
  }
}
