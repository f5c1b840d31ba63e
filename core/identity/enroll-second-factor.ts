import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Entropy } from '../kernel/entropy.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret, SecretBox } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { postIfAddressed } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import { lockProvenUser } from './lock-proven-user.ts'
import type { IdentityChanges, IdentityStores, TokenDigest } from './ports.ts'
import { recoveryCodeHash } from './recovery-codes.ts'
import { enrolledMail } from './second-factor-mail.ts'
import { alreadyEnrolled, isEnrolled, makeRecoveryCodes, OneTimeCodeWrong } from './second-factor-rules.ts'
import { makeSeedSafe } from './seed-safe.ts'
import { makeJudgeFirstCode } from './use-one-time-code.ts'
import type { JudgeCodeDeps } from './use-one-time-code.ts'

export interface EnrollSecondFactorDeps extends Omit<JudgeCodeDeps, 'seeds'> {
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
 * Makes the offered seed count once its first code was right, and answers the recovery codes, once. That code is used
 * up. All sessions but the one of this call end: whoever holds them never proved the second factor.
 */
export const makeEnrollSecondFactor = (deps: EnrollSecondFactorDeps) => {
  const judgeFirstCode = makeJudgeFirstCode({ ...deps, seeds: makeSeedSafe(deps.secretBox) })
  return async (call: SignedInCall<readonly Secret[]>, code: string): Outcome<EnrollSecondFactorFailure, readonly Secret[]> => {
    const { userId, sessionId } = call.principal
    const offered = await deps.stores.secondFactors.find(userId)
    if (offered === undefined) return left(wrong())
    if (isEnrolled(offered)) return left(alreadyEnrolled())
    const step = await judgeFirstCode(offered, code, call.sourceIp)
    if (isLeft(step)) return left(step.left.tag === 'OneTimeCodeRequired' ? wrong() : (step.left as Failure<'TooManyAttempts'>))
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
      await stores.audit.record({
        action: 'second_factor.enrolled',
        ...auditedUser(user),
        changes: { recovery_codes: codes.length, sessions_ended: ended },
      })
      await postIfAddressed(stores.mail, enrolledMail(user, { at: now, sourceIp: call.sourceIp }))
      return right(codes.map(secret))
    })
  }
}
