import { right } from 'fp-ts/lib/Either.js'
import {
  makeCheckFollowing,
  makeFollowUser,
  makeListFollowers,
  makeListFollowing,
  makeUnfollowUser,
} from '../../../core/identity/accounts/follows.ts'
import { IdentitySettingsToken, IdentityStoresToken, IdentityUnitOfWorkToken } from '../../../core/identity/ports.ts'
import type { User } from '../../../core/identity/types.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import {
  checkFollowing,
  checkOwnFollowing,
  followUser,
  listFollowers,
  listFollowing,
  listOwnFollowers,
  listOwnFollowing,
  unfollowUser,
} from './follows.routes.ts'
import { placeOf, userWire, viewerOf } from './user-wire.ts'

export const followGroup = defineGroup({
  needs: {
    clock: ClockToken,
    settings: IdentitySettingsToken,
    stores: IdentityStoresToken,
    unitOfWork: IdentityUnitOfWorkToken,
  },
  routes: (given) => {
    const { follows } = given.stores
    const toWire = (user: User, { call }: { readonly call: SignedInCall }) =>
      userWire(placeOf(given.settings, call), viewerOf(call.principal), user)
    return [
      handle(listFollowers, makeListFollowers(given), {
        input: ({ call, params, page }) => ({ viewer: viewerOf(call.principal), login: params.username, page }),
        reply: toWire,
      }),
      handle(listFollowing, makeListFollowing(given), {
        input: ({ call, params, page }) => ({ viewer: viewerOf(call.principal), login: params.username, page }),
        reply: toWire,
      }),
      handle(
        listOwnFollowers,
        async ({ principal }, { page }) => right(await follows.followers(viewerOf(principal), principal.userId, page)),
        { reply: toWire },
      ),
      handle(
        listOwnFollowing,
        async ({ principal }, { page }) => right(await follows.following(viewerOf(principal), principal.userId, page)),
        { reply: toWire },
      ),
      handle(checkFollowing, makeCheckFollowing(given), {
        input: ({ call, params }) => ({ viewer: viewerOf(call.principal), follower: params.username, target: params.target }),
      }),
      handle(checkOwnFollowing, makeCheckFollowing(given), {
        input: ({ call, params }) => ({ viewer: viewerOf(call.principal), target: params.username }),
      }),
      handle(followUser, makeFollowUser(given), { input: ({ params }) => params.username }),
      handle(unfollowUser, makeUnfollowUser(given), { input: ({ params }) => params.username }),
    ]
  },
})
