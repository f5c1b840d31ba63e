import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { userMissing } from './find-user.ts'
import type { IdentityChanges, IdentityStores } from './ports.ts'

/** Lets a user in again who was made inactive or prohibited from signing in; answers whether something changed. */
export const makeEnableUser =
  (deps: { readonly stores: IdentityStores; readonly unitOfWork: UnitOfWork<IdentityChanges> }) =>
  async (call: Call, login: string): Outcome<Failure<'UserMissing'>, boolean> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    return deps.unitOfWork.run<Failure<'UserMissing'>, boolean>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      if (user === undefined) return left(userMissing())
      if (user.isActive && !user.prohibitLogin) return right(false)
      await stores.users.update(user.id, { isActive: true, prohibitLogin: false })
      await stores.audit.record({
        action: 'user.enabled',
        objectType: 'user',
        objectId: user.id,
        objectName: user.login,
        tenantId: user.id,
      })
      return right(true)
    })
  }
