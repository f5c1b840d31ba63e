import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { Page } from '../../../core/kernel/page.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import { makeFindUser } from '../../../core/identity/accounts/users.ts'
import { makeFollowUser, makeUnfollowUser } from '../../../core/identity/accounts/follows.ts'
import type { User, Viewer } from '../../../core/identity/types.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle } from '../../kit/route.ts'
import {
  checkFollowing, checkOwnFollowing, followUser, listFollowers, listFollowing, listOwnFollowers, listOwnFollowing, NotFollowing,
  unfollowUser,
} from './follows.routes.ts'
import type { IdentityGiven } from '../needs.ts'
import { placeOf, userWire, viewerOf } from './user-wire.ts'

const listRoutes = ({ stores, settings }: IdentityGiven): readonly BoundRoute[] => {
  const findUser = makeFindUser(stores)
  const wire = (call: Call, viewer: Viewer, page: Page<User>) => right(mapPage(page, (user) => userWire(placeOf(settings, call), viewer, user)))
  return [
    handle(listFollowers, async ({ call, params, page }) => {
      const viewer = viewerOf(call.principal)
      const user = await findUser(viewer, params.username)
      return isLeft(user) ? user : wire(call, viewer, await stores.follows.followers(viewer, user.right.id, page))
    }),
    handle(listFollowing, async ({ call, params, page }) => {
      const viewer = viewerOf(call.principal)
      const user = await findUser(viewer, params.username)
      return isLeft(user) ? user : wire(call, viewer, await stores.follows.following(viewer, user.right.id, page))
    }),
    handle(listOwnFollowers, async ({ call, page }) => {
      const viewer = viewerOf(call.principal)
      return wire(call, viewer, await stores.follows.followers(viewer, call.principal.userId, page))
    }),
    handle(listOwnFollowing, async ({ call, page }) => {
      const viewer = viewerOf(call.principal)
      return wire(call, viewer, await stores.follows.following(viewer, call.principal.userId, page))
    }),
  ]
}

const relationRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const { stores } = given
  const findUser = makeFindUser(stores)
  const follow = makeFollowUser(given)
  const unfollow = makeUnfollowUser(given)
  const answer = async (userId: UserId, targetId: UserId) =>
    (await stores.follows.isFollowing(userId, targetId)) ? right(undefined) : left(NotFollowing('No follow relation.'))
  return [
    handle(checkFollowing, async ({ call, params }) => {
      const viewer = viewerOf(call.principal)
      const user = await findUser(viewer, params.username)
      if (isLeft(user)) return user
      const target = await findUser(viewer, params.target)
      return isLeft(target) ? target : answer(user.right.id, target.right.id)
    }),
    handle(checkOwnFollowing, async ({ call, params }) => {
      const target = await findUser(viewerOf(call.principal), params.username)
      return isLeft(target) ? target : answer(call.principal.userId, target.right.id)
    }),
    handle(followUser, ({ call, params }) => follow(call, params.username)),
    handle(unfollowUser, ({ call, params }) => unfollow(call, params.username)),
  ]
}

export const followRoutes = (given: IdentityGiven): readonly BoundRoute[] => [...listRoutes(given), ...relationRoutes(given)]
