import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Call } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import { passwordChangedMail, postIfAddressed } from '../emails/account-mail.ts'
import { userMissing } from '../accounts/users.ts'
import type { PasswordPolicy } from './password-policy.ts'
import { checkPassword, isRetyped, PasswordsDiffer } from './password-policy.ts'
import type { IdentityChanges, IdentityStores, PasswordHasher } from '../ports.ts'

export interface SetPasswordDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly hasher: PasswordHasher
  readonly passwords: PasswordPolicy
  readonly clock: Clock
}

export interface SetPasswordInput {
  readonly login: string
  readonly password: Secret
  /** If set, it must be the same as the password. */
  readonly retyped?: Secret | undefined
  readonly mustChangePassword?: boolean | undefined
}

export type SetPasswordFailure = Failure<'UserMissing'> | Failure<'PasswordsDiffer'> | Failure<'PasswordTooWeak'> | Failure<'TooManyAttempts'>

/** Sets a user's password without requiring the old one, and ends all of the user's sessions. Tokens remain. */
export const makeSetPassword =
  (deps: SetPasswordDeps) =>
  async (call: Call, input: SetPasswordInput): Outcome<SetPasswordFailure, void> => {
    if (!isRetyped(input)) return left(PasswordsDiffer('The two passwords must not differ.'))
    const user = await deps.stores.users.byLogin(input.login)
    if (user === undefined) return left(userMissing())
    const context = { login: user.login, emails: [user.primaryEmail], fullName: user.fullName }
    const password = checkPassword(deps.passwords, input.password, context)
    if (isLeft(password)) return password
    const phc = await deps.hasher.hash(password.right)
    if (isLeft(phc)) return phc
    return deps.unitOfWork.run<SetPasswordFailure, void>(call, async (stores) => {
      const isSet = await stores.users.replacePassword(user.id, phc.right, undefined, input.mustChangePassword ?? false)
      if (!isSet) return left(userMissing())
      await stores.linkCodes.closeAll(user.id, 'password-reset', undefined, deps.clock.now())
      const ended = await stores.sessions.removeAll(user.id, undefined)
      await stores.audit.record(auditOfUser(user, 'user.password_changed', { by: 'administrator', sessions_ended: ended }))
      await postIfAddressed(stores.mail, passwordChangedMail(user, deps.clock.now(), { kind: 'administrator' }))
      return right(undefined)
    })
  }
