import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { SetPasswordDeps } from './set-password.ts'
import { checkPassword } from './password-policy.ts'

export const OldPasswordWrong = defineFailure('OldPasswordWrong', 'Forbidden')

export interface ChangeOwnPasswordInput {
  readonly oldPassword: Secret
  readonly password: Secret
  readonly revokesTokens: boolean
}

export type ChangeOwnPasswordFailure = Failure<'OldPasswordWrong'> | Failure<'PasswordTooWeak'> | Failure<'TooManyAttempts'>

const wrong = (): Failure<'OldPasswordWrong'> => OldPasswordWrong('The old password is wrong.')

/**
 * Replaces the caller's password, ends all sessions but the one of this call and, when told to, removes all access
 * tokens. Of two changes at once with the same old password one is refused.
 */
export const makeChangeOwnPassword =
  (deps: SetPasswordDeps) =>
  async (call: SignedInCall, input: ChangeOwnPasswordInput): Outcome<ChangeOwnPasswordFailure, void> => {
    const { userId, sessionId } = call.principal
    const user = await deps.stores.users.byId(userId)
    const oldPhc = await deps.stores.users.passwordPhc(userId)
    if (user === undefined || oldPhc === undefined) return left(wrong())
    const matches = await deps.hasher.verify(oldPhc, input.oldPassword)
    if (isLeft(matches)) return matches
    if (!matches.right) return left(wrong())
    const context = { login: user.login, emails: [user.primaryEmail], fullName: user.fullName }
    const password = checkPassword(deps.passwords, input.password, context)
    if (isLeft(password)) return password
    const phc = await deps.hasher.hash(password.right)
    if (isLeft(phc)) return phc
    return deps.unitOfWork.run<ChangeOwnPasswordFailure, void>(call, async (stores) => {
      if (!(await stores.users.replacePassword(userId, phc.right, oldPhc, false))) return left(wrong())
      const sessionsEnded = await stores.sessions.removeAll(userId, sessionId)
      const tokensRemoved = input.revokesTokens ? await stores.tokens.removeAll(userId) : 0
      await stores.audit.record({
        action: 'user.password_changed',
        objectType: 'user',
        objectId: userId,
        objectName: user.login,
        tenantId: userId,
        changes: { by: 'user', sessions_ended: sessionsEnded, tokens_removed: tokensRemoved },
      })
      return right(undefined)
    })
  }
