import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { Entropy, Secret, SecretBox } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { userMissing } from '../types.ts'
import { auditOfUser } from '../audit.ts'
import type { PresentedProof } from '../access-ports.ts'
import type { AuthenticateAgainDeps, AuthenticateAgainFailure } from '../credentials.ts'
import { lockProvenUser, makeAuthenticateAgain } from '../credentials.ts'
import {
  disabledMail,
  enrolledMail,
  postIfAddressed,
  recoveryCodesReplacedMail,
  resetByAdminMail,
} from '../emails/account-mail.ts'
import type { IdentityChanges, IdentitySettings, IdentityStores, TokenDigest } from '../ports.ts'
import type { User } from '../types.ts'
import {
  alreadyEnrolled,
  isEnrolled,
  makeRecoveryCodes,
  makeSealedSeeds,
  makeSeedRef,
  notEnrolled,
  OneTimeCodeWrong,
  recoveryCodeHash,
} from './codes.ts'
import type { CheckCodeDeps } from './one-time-codes.ts'
import { makeCheckFirstCode } from './one-time-codes.ts'
import type { OneTimePasswords } from './ports.ts'

export interface OfferSecondFactorDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly oneTimePasswords: OneTimePasswords
  readonly secretBox: SecretBox
  readonly entropy: Entropy
  readonly clock: Clock
  readonly settings: IdentitySettings
}

export interface OfferedSecondFactor {
  /** The seed. It is shown only here. */
  readonly seed: Secret
  /** The seed in the form for an authenticator app. */
  readonly uri: Secret
}

export type OfferSecondFactorFailure = Failure<'SecondFactorEnrolled'> | Failure<'NotAuthenticated'>

/**
 * Returns the name of this site for authenticator apps: the host, without characters that would end a label (a port,
 * the colons of IPv6).
 *
 * @internal
 */
export const issuerOf = (baseUrl: string): string => {
  const authority = baseUrl.replace(/^[a-z]+:\/\//, '').replace(/\/.*$/, '')
  const host = authority
    .replace(/:\d+$/, '')
    .replaceAll(/[^\w.-]+/g, ' ')
    .trim()
  return `Moorage (${host})`
}

/**
 * Creates a seed that waits for its first code, and replaces one that is still waiting. It enrolls nothing, so it is
 * not audited.
 */
export const makeOfferSecondFactor = (deps: OfferSecondFactorDeps) => {
  const seeds = makeSealedSeeds(deps.secretBox)
  return async (call: SignedInCall): Outcome<OfferSecondFactorFailure, OfferedSecondFactor> => {
    const { userId } = call.principal
    const seed = deps.oneTimePasswords.newSeed()
    const ref = makeSeedRef(deps.entropy)
    const sealed = await seeds.seal(seed, userId, ref)
    return deps.unitOfWork.run<OfferSecondFactorFailure, OfferedSecondFactor>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call)
      if (isLeft(locked)) return locked
      const user = locked.right
      if (!(await stores.secondFactors.offer(userId, sealed, ref, deps.clock.now()))) return left(alreadyEnrolled())
      return right({ seed, uri: deps.oneTimePasswords.uri(seed, issuerOf(deps.settings.baseUrl()), user.login) })
    })
  }
}

export interface EnrollSecondFactorDeps extends Omit<CheckCodeDeps, 'seeds'> {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly secretBox: SecretBox
  readonly digest: TokenDigest
  readonly entropy: Entropy
}

export type EnrollSecondFactorFailure =
  | Failure<'SecondFactorEnrolled'>
  | Failure<'OneTimeCodeWrong'>
  | Failure<'TooManyAttempts'>
  | Failure<'NotAuthenticated'>

const wrong = (): Failure<'OneTimeCodeWrong'> =>
  OneTimeCodeWrong('The code does not belong to the secret that was shown last; scan it and send the current code.')

/**
 * Enrolls the offered seed once its first code is correct, and returns the recovery codes, once. That code is used up.
 * All sessions except the current one end: their holders have not proved the second factor.
 */
export const makeEnrollSecondFactor = (deps: EnrollSecondFactorDeps) => {
  const checkFirstCode = makeCheckFirstCode({ ...deps, seeds: makeSealedSeeds(deps.secretBox) })
  return async (
    call: SignedInCall<readonly Secret[]>,
    code: string,
  ): Outcome<EnrollSecondFactorFailure, readonly Secret[]> => {
    const { userId, sessionId } = call.principal
    const offered = await deps.stores.secondFactors.find(userId)
    if (offered === undefined) return left(wrong())
    if (isEnrolled(offered)) return left(alreadyEnrolled())
    const step = await checkFirstCode(offered, code, call.sourceIp)
    if (isLeft(step))
      return left(step.left.tag === 'OneTimeCodeRequired' ? wrong() : (step.left as Failure<'TooManyAttempts'>))
    const codes = makeRecoveryCodes(deps.entropy)
    const hashes = codes.map((one) => recoveryCodeHash(deps.digest, one))
    return deps.unitOfWork.run<EnrollSecondFactorFailure, readonly Secret[]>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call)
      if (isLeft(locked)) return locked
      const user = locked.right
      const now = deps.clock.now()
      if (!(await stores.secondFactors.enroll(userId, offered.ref, step.right, now))) {
        return left(isEnrolled(await stores.secondFactors.find(userId)) ? alreadyEnrolled() : wrong())
      }
      await stores.secondFactors.replaceRecoveryCodes(userId, hashes, now)
      const ended = await stores.sessions.removeAll(userId, sessionId)
      await stores.audit.record(
        auditOfUser(user, 'second_factor.enrolled', { recovery_codes: codes.length, sessions_ended: ended }),
      )
      await postIfAddressed(stores.mail, enrolledMail(user, { at: now, sourceIp: call.sourceIp }))
      return right(codes.map(secret))
    })
  }
}

export interface ReplaceRecoveryCodesDeps extends AuthenticateAgainDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly digest: TokenDigest
  readonly entropy: Entropy
  readonly clock: Clock
}

export type ReplaceRecoveryCodesFailure =
  | AuthenticateAgainFailure
  | Failure<'SecondFactorMissing'>
  | Failure<'NotAuthenticated'>

/** Invalidates all recovery codes and returns new ones, once. */
export const makeReplaceRecoveryCodes = (deps: ReplaceRecoveryCodesDeps) => {
  const authenticateAgain = makeAuthenticateAgain(deps)
  return async (
    call: SignedInCall<readonly Secret[]>,
    proof: PresentedProof,
  ): Outcome<ReplaceRecoveryCodesFailure, readonly Secret[]> => {
    const proven = await authenticateAgain(call, proof)
    if (isLeft(proven)) return proven
    const { userId } = call.principal
    const codes = makeRecoveryCodes(deps.entropy)
    const hashes = codes.map((one) => recoveryCodeHash(deps.digest, one))
    return deps.unitOfWork.run<ReplaceRecoveryCodesFailure, readonly Secret[]>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call, proven.right)
      if (isLeft(locked)) return locked
      const user = locked.right
      if ((await stores.secondFactors.enrolledRef(userId)) === undefined) return left(notEnrolled())
      const now = deps.clock.now()
      await stores.secondFactors.replaceRecoveryCodes(userId, hashes, now)
      await stores.audit.record(
        auditOfUser(user, 'second_factor.recovery_codes_replaced', { recovery_codes: codes.length }),
      )
      await postIfAddressed(stores.mail, recoveryCodesReplacedMail(user, { at: now, sourceIp: call.sourceIp }))
      return right(codes.map(secret))
    })
  }
}

export interface DisableSecondFactorDeps extends AuthenticateAgainDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

export type DisableSecondFactorFailure =
  | AuthenticateAgainFailure
  | Failure<'SecondFactorMissing'>
  | Failure<'NotAuthenticated'>

/**
 * Removes the caller's authenticator app, and the recovery codes unless a passkey remains; ends all sessions except the
 * current one.
 */
export const makeDisableSecondFactor = (deps: DisableSecondFactorDeps) => {
  const authenticateAgain = makeAuthenticateAgain(deps)
  return async (call: SignedInCall, proof: PresentedProof): Outcome<DisableSecondFactorFailure, void> => {
    const proven = await authenticateAgain(call, proof)
    if (isLeft(proven)) return proven
    const { userId, sessionId } = call.principal
    return deps.unitOfWork.run<DisableSecondFactorFailure, void>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call, proven.right)
      if (isLeft(locked)) return locked
      const user = locked.right
      if (!isEnrolled(await stores.secondFactors.find(userId))) return left(notEnrolled())
      await stores.secondFactors.remove(userId)
      const ended = await stores.sessions.removeAll(userId, sessionId)
      await stores.audit.record(auditOfUser(user, 'second_factor.disabled', { by: 'user', sessions_ended: ended }))
      const hasPasskeys = (await stores.secondFactors.enrolledRef(userId)) !== undefined
      const occasion = { at: deps.clock.now(), sourceIp: call.sourceIp }
      await postIfAddressed(stores.mail, disabledMail(user, occasion, hasPasskeys))
      return right(undefined)
    })
  }
}

/** An administrator must remove the own second factor through the operation that requires a proof. */
export const OwnSecondFactor = defineFailure(
  'OwnSecondFactor',
  'Forbidden',
  'The own second factor must be removed in the settings of the account.',
)

/** Returns why the caller may not reset this account's second factor; undefined if there is no reason. */
export const ownSecondFactorRefusal = (
  { principal }: Call<never>,
  userId: UserId,
): Failure<'OwnSecondFactor'> | undefined =>
  userId === principal?.userId || userId === principal?.impersonator?.userId
    ? OwnSecondFactor('Your own second factor must be removed in your security settings.')
    : undefined

export interface ResetSecondFactorDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

export type ResetSecondFactorFailure =
  | Failure<'UserMissing'>
  | Failure<'SecondFactorMissing'>
  | Failure<'OwnSecondFactor'>

/**
 * Removes seed, passkeys and codes, ends all sessions and notifies the user. The surrounding transaction must hold the lock on
 * the user's row.
 */
export const resetSecondFactorOf = async (
  stores: IdentityChanges,
  user: User,
  now: Date,
): Outcome<Failure<'SecondFactorMissing'>, void> => {
  if ((await stores.secondFactors.enrolledRef(user.id)) === undefined) return left(notEnrolled())
  const passkeys = await stores.passkeys.removeAll(user.id)
  await stores.secondFactors.remove(user.id)
  const ended = await stores.sessions.removeAll(user.id, undefined)
  await stores.audit.record(
    auditOfUser(user, 'second_factor.disabled', {
      by: 'administrator',
      passkeys_removed: passkeys,
      sessions_ended: ended,
    }),
  )
  await postIfAddressed(stores.mail, resetByAdminMail(user, now))
  return right(undefined)
}

/**
 * Removes the second factor of a user who lost it, and ends all sessions of that user. For a site admin, or the
 * operator at the command line.
 */
export const makeResetSecondFactor =
  (deps: ResetSecondFactorDeps) =>
  async (call: Call, login: string): Outcome<ResetSecondFactorFailure, void> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    const refused = ownSecondFactorRefusal(call, found.id)
    if (refused !== undefined) return left(refused)
    return deps.unitOfWork.run<ResetSecondFactorFailure, void>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      return user === undefined ? left(userMissing()) : resetSecondFactorOf(stores, user, deps.clock.now())
    })
  }
