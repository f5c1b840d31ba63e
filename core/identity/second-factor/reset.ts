import { left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { Call } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import { postIfAddressed, resetByAdminMail } from '../emails/account-mail.ts'
import { userMissing } from '../accounts/users.ts'
import type { IdentityChanges, IdentityStores } from '../ports.ts'
import type { User } from '../types.ts'
import { isEnrolled, notEnrolled } from './codes.ts'

/** An administrator must remove the own second factor through the operation that requires a proof. */
export const OwnSecondFactor = defineFailure('OwnSecondFactor', 'Forbidden')

/** Returns why the caller may not reset this account's second factor; undefined if there is no reason. */
export const ownSecondFactorRefusal = ({ principal }: Call<never>, userId: UserId): Failure<'OwnSecondFactor'> | undefined =>
  userId === principal?.userId || userId === principal?.impersonator?.userId
    ? OwnSecondFactor('Your own second factor must be removed in your security settings.')
    : undefined

export interface ResetSecondFactorDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

export type ResetSecondFactorFailure = Failure<'UserMissing'> | Failure<'SecondFactorMissing'> | Failure<'OwnSecondFactor'>

/**
 * Removes seed and codes, ends all sessions and notifies the user. The surrounding transaction must hold the lock on
 * the user's row.
 */
export const resetSecondFactorOf = async (stores: IdentityChanges, user: User, now: Date): Outcome<Failure<'SecondFactorMissing'>, void> => {
  if (!isEnrolled(await stores.secondFactors.find(user.id))) return left(notEnrolled())
  await stores.secondFactors.remove(user.id)
  const ended = await stores.sessions.removeAll(user.id, undefined)
  await stores.audit.record(auditOfUser(user, 'second_factor.disabled', { by: 'administrator', sessions_ended: ended }))
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
