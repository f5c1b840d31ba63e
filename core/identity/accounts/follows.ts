import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { findUser } from './users.ts'
import type { IdentityChanges, IdentityStores, FollowStore } from '../ports.ts'
import type { User, Viewer } from '../types.ts'

export const FollowRefused = defineFailure('FollowRefused', 'Forbidden')
export const NotFollowing = defineFailure('NotFollowing', 'NotFound')

interface ReadDeps {
  readonly stores: Pick<IdentityStores, 'users' | 'follows'>
}

export interface ListFollowsInput {
  readonly viewer: Viewer
  readonly login: string
  readonly page: PageRequest
}

const makeList =
  ({ stores }: ReadDeps, relation: 'followers' | 'following') =>
  async (_call: SignedInCall, { viewer, login, page }: ListFollowsInput): Outcome<Failure<'UserMissing'>, Page<User>> => {
    const user = await findUser(stores, viewer, login)
    return isLeft(user) ? user : right(await stores.follows[relation](viewer, user.right.id, page))
  }

/** Lists the followers of a user whom the viewer may see, by login. */
export const makeListFollowers = (deps: ReadDeps): ReturnType<typeof makeList> => makeList(deps, 'followers')

/** Lists the users whom a user follows, by login. The viewer may see the user. */
export const makeListFollowing = (deps: ReadDeps): ReturnType<typeof makeList> => makeList(deps, 'following')

export interface CheckFollowingInput {
  readonly viewer: Viewer
  /** Absent: the caller. */
  readonly follower?: string
  readonly target: string
}

/** Succeeds if one user follows another. The viewer may see both. */
export const makeCheckFollowing =
  ({ stores }: ReadDeps) =>
  async (call: SignedInCall, { viewer, follower, target }: CheckFollowingInput): Outcome<Failure<'UserMissing' | 'NotFollowing'>, void> => {
    const user = follower === undefined ? right({ id: call.principal.userId }) : await findUser(stores, viewer, follower)
    if (isLeft(user)) return user
    const followed = await findUser(stores, viewer, target)
    if (isLeft(followed)) return followed
    const isFollowing = await stores.follows.isFollowing(user.right.id, followed.right.id)
    return isFollowing ? right(undefined) : left(NotFollowing('No follow relation.'))
  }

/** The audit rows about follow relations. They are in the log of the follower. */
const auditOf = defineAudit(
  'user',
  ['user.followed', 'user.unfollowed'],
  ({ followerId, target }: { readonly followerId: UserId; readonly target: User }) => ({
    objectId: target.id,
    objectName: target.login,
    tenantId: followerId,
  }),
)

export interface FollowUserDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

const makeChange =
  (
    { stores: { users }, unitOfWork }: FollowUserDeps,
    action: 'user.followed' | 'user.unfollowed',
    change: (follows: FollowStore, call: SignedInCall, target: User) => Promise<boolean>,
  ) =>
  async (call: SignedInCall, login: string): Outcome<Failure<'UserMissing'> | Failure<'FollowRefused'>, void> => {
    const { userId, isSiteAdmin } = call.principal
    const found = await findUser({ users }, { userId, isSiteAdmin }, login)
    if (isLeft(found)) return found
    const target = found.right
    if (target.id === userId) return left(FollowRefused('You cannot follow yourself.'))
    return unitOfWork.run<never, void>(call, async ({ follows, audit }) => {
      if (await change(follows, call, target)) await audit.record(auditOf({ followerId: userId, target }, action))
      return right(undefined)
    })
  }

/** Follows a user whom the caller may see. It is idempotent. */
export const makeFollowUser = (deps: FollowUserDeps): ReturnType<typeof makeChange> =>
  makeChange(deps, 'user.followed', (follows, call, target) => follows.follow(call.principal.userId, target.id, deps.clock.now()))

/** Unfollows a user. It is idempotent. */
export const makeUnfollowUser = (deps: FollowUserDeps): ReturnType<typeof makeChange> =>
  makeChange(deps, 'user.unfollowed', (follows, call, target) => follows.unfollow(call.principal.userId, target.id))
