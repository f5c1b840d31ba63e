import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { JudgeGuessDeps } from './judge-guess.ts'
import { makeJudgeGuess } from './judge-guess.ts'
import { maxPasswordLength } from './password-policy.ts'
import type { IdentityStores, PasswordHasher } from './ports.ts'

/** The password that a signed-in user was asked for again is wrong, or there were too many wrong ones. */
export const OwnPasswordWrong = defineFailure('OwnPasswordWrong', 'Forbidden')

export interface VerifyOwnPasswordDeps extends JudgeGuessDeps {
  readonly stores: IdentityStores
  readonly hasher: PasswordHasher
}

export type VerifyOwnPasswordFailure = Failure<'OwnPasswordWrong'> | Failure<'TooManyAttempts'>

const wrong = (call: SignedInCall): Failure<'OwnPasswordWrong'> =>
  OwnPasswordWrong('The password is wrong, or there were too many failed attempts; in that case wait before the next one.', {
    about: { tenantId: call.principal.userId, objectType: 'user', objectId: call.principal.userId },
  })

/**
 * Asks a signed-in user for the password again, before a change that a found session or token must not make. Counted with
 * the sign-ins of the account. Answers the hash that was proven: a change compares it in its transaction, so that a
 * password that was replaced meanwhile proves nothing.
 */
export const makeVerifyOwnPassword = (deps: VerifyOwnPasswordDeps) => {
  const judgeGuess = makeJudgeGuess(deps)
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
    return judgeGuess({ kind: 'password', subject: userId, sourceIp: call.sourceIp }, check, () => wrong(call), verify)
  }
}
