import { left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditedUser } from './audited-user.ts'
import { userMissing } from './find-user.ts'
import type { IdentityChanges } from './ports.ts'

/** Brings a deactivated account back as it was, without the credentials that ended. An account that is not deactivated is missing. */
export const makeReactivateAccount =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges> }) =>
  (call: SignedInCall, userId: UserId): Outcome<Failure<'UserMissing'>, void> =>
    deps.unitOfWork.run<Failure<'UserMissing'>, void>(call, async (stores) => {
      const user = await stores.users.lock(userId)
      if (user === undefined || !(await stores.accountLife.reactivate(user.id))) return left(userMissing())
      await stores.audit.record({ action: 'user.reactivated', ...auditedUser(user) })
      return right(undefined)
    })
