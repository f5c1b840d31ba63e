import { left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditedUser } from './audited-user.ts'
import { isLastActingAdmin } from './edit-user.ts'
import { userMissing } from './find-user.ts'
import type { IdentityChanges } from './ports.ts'
import type { User } from './types.ts'

/** Nobody else could take care of what the account holds; `errors` names it. */
export const AccountInUse = defineFailure('AccountInUse', 'Unprocessable')

/** So long a deactivated account can come back. */
export const reactivationDays = 30

export type DeactivateFailure = Failure<'UserMissing'> | Failure<'AccountInUse'>

/** As `makeDeactivateAccount`, within a transaction that holds the user's row. */
export const deactivateHeld = async (stores: IdentityChanges, user: User, by: UserId, at: Date): Outcome<Failure<'AccountInUse'>, void> => {
  if (await isLastActingAdmin(stores, user)) {
    return left(AccountInUse('This is the last active site administrator.', { errors: ['last active site administrator'] }))
  }
  const unattended = await stores.holdings.unattended(user.id)
  if (unattended.length > 0) {
    return left(AccountInUse(`Hand over or delete what belongs to this account alone, first: ${unattended.slice(0, 5).join(', ')}${unattended.length > 5 ? ' and more' : ''}.`, { errors: unattended }))
  }
  if (!(await stores.accountLife.deactivate(user.id, by, at))) return right(undefined)
  await stores.sessions.removeAll(user.id, undefined)
  await stores.tokens.removeAll(user.id)
  await stores.linkCodes.closeAll(user.id, 'password-reset', undefined, at)
  await stores.audit.record({ action: 'user.deactivated', ...auditedUser(user) })
  return right(undefined)
}

/**
 * Shuts an account to be deleted: it is inactive at once, its sessions end and its tokens go, its name stays taken. A
 * site admin can bring it back for 30 days, without the tokens. Not the last active site admin, not the only active
 * owner of an organization, not while clusters belong to the account. Who may ask is the caller's to decide.
 */
export const makeDeactivateAccount =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges>; readonly clock: Clock }) =>
  (call: SignedInCall, userId: UserId): Outcome<DeactivateFailure, void> =>
    deps.unitOfWork.run<DeactivateFailure, void>(call, async (stores) => {
      const user = await stores.users.lock(userId)
      return user === undefined ? left(userMissing()) : deactivateHeld(stores, user, call.principal.userId, deps.clock.now())
    })
