import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, map, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Mail } from '../kernel/mail.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { postIfAddressed } from './account-mail.ts'
import type { DeactivateFailure } from './deactivate-account.ts'
import { deactivateHeld, reactivationDays } from './deactivate-account.ts'
import { lockProvenUser } from './lock-proven-user.ts'
import type { ProvenSecrets } from './still-proven.ts'
import type { IdentityChanges } from './ports.ts'
import type { ProveAgainDeps, ProveAgainFailure } from './prove-again.ts'
import { makeProveAgain } from './prove-again.ts'
import type { User } from './types.ts'
import type { VerifyOwnPasswordDeps } from './verify-own-password.ts'
import { makeVerifyOwnPassword } from './verify-own-password.ts'

export interface DeleteOwnAccountDeps extends ProveAgainDeps, VerifyOwnPasswordDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

export interface DeleteOwnAccountInput {
  readonly password: Secret
  /** A code of the authenticator, or a recovery code. HTTP Basic has brought one already. */
  readonly passCode: string | undefined
}

export type DeleteOwnAccountFailure =
  | ProveAgainFailure
  | Exclude<DeactivateFailure, Failure<'UserMissing'>>
  | Failure<'OwnPasswordWrong'>
  | Failure<'NotAuthenticated'>

/** To the owner, who asked for it. */
const deletedMail = (user: User, at: Date, sourceIp: string): Mail => ({
  to: user.primaryEmail,
  subject: 'Your account was deleted',
  paragraphs: [
    `The account ${user.login} was deleted at ${at.toISOString()} from the address ${sourceIp}: nobody can sign in with it, its sessions were ended and its access tokens removed.`,
    `For ${reactivationDays} days an administrator can bring it back; after that it is removed for good.`,
    'If this was not you, tell an administrator now.',
  ],
  accountId: user.id,
})

/**
 * Shuts the caller's own account, after which an administrator can bring it back for a while. The password is asked for
 * whatever proved the caller, since programs send theirs unasked; so is the second factor, once a request.
 */
export const makeDeleteOwnAccount = (deps: DeleteOwnAccountDeps) => {
  const proveAgain = makeProveAgain(deps)
  const verifyPassword = makeVerifyOwnPassword(deps)
  return async (call: SignedInCall, input: DeleteOwnAccountInput): Outcome<DeleteOwnAccountFailure, void> => {
    const isByPassword = call.principal.method === 'password' && call.principal.impersonator === undefined
    const proven: Either<DeleteOwnAccountFailure, ProvenSecrets | undefined> = isByPassword
      ? map(() => undefined)(await verifyPassword(call, input.password))
      : await proveAgain(call, input)
    if (isLeft(proven)) return proven
    return deps.unitOfWork.run<DeleteOwnAccountFailure, void>(call, async (stores) => {
      const locked = await lockProvenUser(stores, deps.clock, call, proven.right)
      if (isLeft(locked)) return locked
      const user = locked.right
      const at = deps.clock.now()
      const done = await deactivateHeld(stores, user, call.principal.userId, at)
      if (isLeft(done)) return left(done.left)
      await postIfAddressed(stores.mail, deletedMail(user, at, call.sourceIp))
      return right(undefined)
    })
  }
}
