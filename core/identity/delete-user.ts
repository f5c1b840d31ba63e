import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { isLastActingAdmin } from './edit-user.ts'
import { userMissing } from './find-user.ts'
import type { IdentityChanges, IdentityStores } from './ports.ts'

/** The account is still needed; `errors` names by what. */
export const UserInUse = defineFailure('UserInUse', 'Unprocessable')

export interface DeleteUserDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
}

type DeleteUserFailure = Failure<'UserMissing'> | Failure<'UserInUse'>

/**
 * Removes a user with all credentials. Not the caller, not the last site admin, not while the account holds anything.
 * With `leavesOrganizations` its memberships are no obstacle, but for organizations of which nobody else is an owner.
 */
export const makeDeleteUser =
  (deps: DeleteUserDeps) =>
  async (call: SignedInCall, login: string, leavesOrganizations = false): Outcome<DeleteUserFailure, void> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) {
      const kind = await deps.stores.users.kindOfName(login)
      return left(kind === 'organization' ? UserInUse('This is an organization; delete it at /orgs.') : userMissing())
    }
    const caller = call.principal.impersonator?.userId ?? call.principal.userId
    if (found.id === caller || found.id === call.principal.userId) return left(UserInUse('You cannot delete your own account here.'))
    return deps.unitOfWork.run<DeleteUserFailure, void>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      if (user === undefined) return left(userMissing())
      if (await isLastActingAdmin(stores, user)) return left(UserInUse('This is the last active site administrator.'))
      const organizations = leavesOrganizations ? await stores.holdings.leaveOrganizations(user.id) : []
      const holdings = await stores.holdings.of(user.id)
      if (holdings.length > 0) return left(UserInUse(`The account is still needed: ${holdings.slice(0, 5).join(', ')}${holdings.length > 5 ? ' and more' : ''}.`, { errors: holdings }))
      await stores.users.remove(user.id)
      await stores.audit.record({
        action: 'user.deleted',
        objectType: 'user',
        objectId: user.id,
        objectName: user.login,
        ...(organizations.length > 0 ? { changes: { organizations } } : {}),
      })
      return right(undefined)
    })
  }
