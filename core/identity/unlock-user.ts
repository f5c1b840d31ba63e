import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditedUser } from './audited-user.ts'
import { userMissing } from './find-user.ts'
import type { IdentityChanges, IdentityStores } from './ports.ts'
import type { AttemptThrottle } from './throttle-ports.ts'
import type { User } from './types.ts'

export interface UnlockUserDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly throttle: AttemptThrottle
}

/**
 * Lets a user in again: one who was made inactive or prohibited from signing in, and one who is locked after failed
 * attempts, whose count starts anew. An account that was deactivated, or whose address nobody confirmed, stays as it is:
 * those have ways of their own. Answers whether something changed. The counters are on their own, so they go first:
 * a crash between leaves an unlocked account without the row that tells of it, never the other way round.
 */
export const makeUnlockUser =
  (deps: UnlockUserDeps) =>
  async (call: Call, login: string): Outcome<Failure<'UserMissing'>, boolean> => {
    const found = await deps.stores.users.byLogin(login)
    if (found === undefined) return left(userMissing())
    const wasLocked = await deps.throttle.unlock(found.id)
    return deps.unitOfWork.run<Failure<'UserMissing'>, boolean>(call, async (stores) => {
      const user = await stores.users.lock(found.id)
      if (user === undefined) return left(userMissing())
      const isWaiting = (await stores.accountLife.lockState(user.id)) !== undefined
      const wasShut = !isWaiting && (!user.isActive || user.prohibitLogin)
      if (wasShut) await stores.users.update(user.id, { isActive: true, prohibitLogin: false })
      if (wasShut) await stores.audit.record(entryOf('user.enabled', user))
      if (wasLocked) await stores.audit.record(entryOf('user.unlocked', user))
      return right(wasShut || wasLocked)
    })
  }

const entryOf = (action: string, user: User) => ({ action, ...auditedUser(user) })
