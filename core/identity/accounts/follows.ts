import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { makeFindUser } from './users.ts'
import type { IdentityChanges, IdentityStores, FollowStore } from '../ports.ts'
import type { User } from '../types.ts'

export const FollowRefused = defineFailure('FollowRefused', 'Forbidden')

export interface FollowUserDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

const makeChange = (
  deps: FollowUserDeps,
  action: 'user.followed' | 'user.unfollowed',
  change: (follows: FollowStore, call: SignedInCall, target: User) => Promise<boolean>,
) => {
  const findUser = makeFindUser(deps.stores)
  return async (call: SignedInCall, login: string): Outcome<Failure<'UserMissing'> | Failure<'FollowRefused'>, void> => {
    const { userId, isSiteAdmin } = call.principal
    const target = await findUser({ userId, isSiteAdmin }, login)
    if (isLeft(target)) return target
    if (target.right.id === userId) return left(FollowRefused('You cannot follow yourself.'))
    return deps.unitOfWork.run<never, void>(call, async (stores) => {
      if (await change(stores.follows, call, target.right)) {
        await stores.audit.record({
          action,
          objectType: 'user',
          objectId: target.right.id,
          objectName: target.right.login,
          tenantId: userId,
        })
      }
      return right(undefined)
    })
  }
}

/** Follows a user whom the caller may see. It is idempotent. */
export const makeFollowUser = (deps: FollowUserDeps): ReturnType<typeof makeChange> =>
  makeChange(deps, 'user.followed', (follows, call, target) => follows.follow(call.principal.userId, target.id, deps.clock.now()))

/** Unfollows a user. It is idempotent. */
export const makeUnfollowUser = (deps: FollowUserDeps): ReturnType<typeof makeChange> =>
  makeChange(deps, 'user.unfollowed', (follows, call, target) => follows.unfollow(call.principal.userId, target.id))
