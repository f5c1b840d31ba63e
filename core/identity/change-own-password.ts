import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { passwordChangedMail, postIfAddressed } from './account-mail.ts'
import { auditedUser } from './audited-user.ts'
import type { SetPasswordDeps } from './set-password.ts'
import { checkPassword, PasswordTooWeak } from './password-policy.ts'
import type { VerifyOwnPasswordDeps } from './verify-own-password.ts'
import { makeVerifyOwnPassword, OwnPasswordWrong } from './verify-own-password.ts'

export type ChangeOwnPasswordDeps = SetPasswordDeps & VerifyOwnPasswordDeps

export interface ChangeOwnPasswordInput {
  readonly oldPassword: Secret
  readonly password: Secret
  readonly revokesTokens: boolean
}

export type ChangeOwnPasswordFailure = Failure<'OwnPasswordWrong'> | Failure<'PasswordTooWeak'> | Failure<'TooManyAttempts'>

/**
 * Replaces the caller's password, ends all sessions but the one of this call and, when told to, removes all access
 * tokens. Of two changes at once with the same old password one is refused.
 */
export const makeChangeOwnPassword =
  (deps: ChangeOwnPasswordDeps) =>
  async (call: SignedInCall, input: ChangeOwnPasswordInput): Outcome<ChangeOwnPasswordFailure, void> => {
    const { userId, sessionId } = call.principal
    const user = await deps.stores.users.byId(userId)
    const oldPhc = await makeVerifyOwnPassword(deps)(call, input.oldPassword)
    if (isLeft(oldPhc)) return oldPhc
    if (user === undefined) throw new Error('the account of a proven caller is gone')
    const context = { login: user.login, emails: [user.primaryEmail], fullName: user.fullName }
    const password = checkPassword(deps.passwords, input.password, context)
    if (isLeft(password)) return password
    if (user.mustChangePassword && password.right.reveal() === input.oldPassword.reveal()) return left(PasswordTooWeak('The new password must be another one.'))
    const phc = await deps.hasher.hash(password.right)
    if (isLeft(phc)) return phc
    return deps.unitOfWork.run<ChangeOwnPasswordFailure, void>(call, async (stores) => {
      if (!(await stores.users.replacePassword(userId, phc.right, oldPhc.right, false))) return left(OwnPasswordWrong('The password was replaced meanwhile.'))
      await stores.linkCodes.closeAll(userId, 'password-reset', undefined, deps.clock.now())
      const sessionsEnded = await stores.sessions.removeAll(userId, sessionId)
      const tokensRemoved = input.revokesTokens ? await stores.tokens.removeAll(userId) : 0
      await stores.audit.record({
        action: 'user.password_changed',
        ...auditedUser(user),
        changes: { by: 'user', sessions_ended: sessionsEnded, tokens_removed: tokensRemoved },
      })
      await postIfAddressed(stores.mail, passwordChangedMail(user, deps.clock.now(), { kind: 'user', sourceIp: call.sourceIp }))
      return right(undefined)
    })
  }
