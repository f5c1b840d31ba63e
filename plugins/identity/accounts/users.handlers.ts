import { right } from 'fp-ts/lib/Either.js'
import {
  makeFindAvatar,
  makeRemoveAvatar,
  makeSetAvatar,
  makeGetCaller,
  makeGetUser,
  makeCheckFollowing,
  makeFollowUser,
  makeListFollowers,
  makeListFollowing,
  makeUnfollowUser,
} from '../../../core/identity/accounts/profiles.ts'
import { findUser } from '../../../core/identity/accounts/users.ts'
import { ContentDigestPort } from '../../../core/identity/accounts/ports.ts'
import {
  DomainNamesPort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
} from '../../../core/identity/ports.ts'
import type { User } from '../../../core/identity/types.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { PictureMakerPort, pictureType } from '../../../core/kernel/picture.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { Redirect } from '../../kit/reply.ts'
import { avatarUrl, placeOf, searchTextOf, userWire, viewerOf } from './user-wire.ts'
import {
  checkFollowing,
  checkOwnFollowing,
  deleteAvatar,
  discardAvatar,
  followUser,
  getAvatarSettings,
  getCaller,
  getUser,
  listFollowers,
  listFollowing,
  listOwnFollowers,
  listOwnFollowing,
  listOwnRepositories,
  listPublicKeys,
  listRepositoriesOfUser,
  listSigningKeys,
  searchUsers,
  setAvatar,
  showAvatar,
  showDrawnAvatar,
  unfollowUser,
  uploadAvatar,
} from './users.routes.ts'

export const userGroup = defineGroup({
  needs: { domains: DomainNamesPort, stores: IdentityStoresPort, settings: IdentitySettingsPort },
  routes: ({ domains, stores, settings }) => [
    handle(getCaller, makeGetCaller({ stores }), {
      input: ({ query }) => ({ checksClientOrg: query.check_client_org === 'true' }),
      reply: ({ user, isClientOrgUser }, { call }) => {
        // The holder of a token that sees only what is public sees the owner of the token, but not the owner's private
        // data.
        const viewer = { userId: viewerOf(call.principal).userId, isSiteAdmin: false }
        return userWire(placeOf(settings, call), viewer, user, isClientOrgUser)
      },
    }),
    handle(
      searchUsers,
      async ({ principal }, { query: { q, uid }, page }) =>
        // Older clients send 0 for any user.
        right(
          await stores.users.search(viewerOf(principal), searchTextOf(q, domains), uid === 0 ? undefined : uid, page),
        ),
      { reply: (user, { call }) => userWire(placeOf(settings, call), viewerOf(call.principal), user) },
    ),
    handle(getUser, makeGetUser({ stores }), {
      input: ({ call, params }) => ({ viewer: viewerOf(call.principal), login: params.username }),
      reply: (found, { call }) =>
        found.kind === 'renamed'
          ? new Redirect(307, `/users/${found.login}`)
          : userWire(placeOf(settings, call), viewerOf(call.principal), found.user),
    }),
    handle(listPublicKeys, async () => right([])),
    handle(listSigningKeys, async () => right([])),
    handle(listOwnRepositories, async () => right([])),
    handle(listRepositoriesOfUser, (call, { params }) => findUser(stores, viewerOf(call.principal), params.username), {
      reply: () => [],
    }),
  ],
})

/** The picture of a name is stable within a release. A later release may draw it differently. */
const drawnIsFresh = 'public, max-age=86400'

export const avatarGroup = defineGroup({
  needs: {
    clock: ClockPort,
    contentDigest: ContentDigestPort,
    pictures: PictureMakerPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    unitOfWork: IdentityUnitOfWorkPort,
  },
  routes: (given) => [
    handle(setAvatar, makeSetAvatar(given), { input: ({ body }) => body.image }),
    handle(uploadAvatar, makeSetAvatar(given), { input: ({ body }) => body.avatar }),
    handle(deleteAvatar, makeRemoveAvatar(given)),
    handle(discardAvatar, makeRemoveAvatar(given)),
    handle(
      getAvatarSettings,
      async ({ principal }) =>
        right({ name: principal.login, digest: (await given.stores.users.byId(principal.userId))?.avatarDigest }),
      {
        reply: (picture, { call }) => ({
          source: picture.digest === undefined ? '' : 'local',
          avatar: avatarUrl(placeOf(given.settings, call), picture),
          gravatar: '',
          federavatar: false,
        }),
      },
    ),
    handle(showAvatar, makeFindAvatar(given), {
      input: ({ params }) => params.digest,
      reply: (bytes) => ({ contentType: pictureType, bytes }),
    }),
    handle(showDrawnAvatar, async (_call, { params }) => right(await given.pictures.ofName(params.name)), {
      reply: (bytes) => ({ contentType: pictureType, bytes, headers: { 'Cache-Control': drawnIsFresh } }),
    }),
  ],
})

export const followGroup = defineGroup({
  needs: {
    clock: ClockPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    unitOfWork: IdentityUnitOfWorkPort,
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
        input: ({ call, params }) => ({
          viewer: viewerOf(call.principal),
          follower: params.username,
          target: params.target,
        }),
      }),
      handle(checkOwnFollowing, makeCheckFollowing(given), {
        input: ({ call, params }) => ({ viewer: viewerOf(call.principal), target: params.username }),
      }),
      handle(followUser, makeFollowUser(given), { input: ({ params }) => params.username }),
      handle(unfollowUser, makeUnfollowUser(given), { input: ({ params }) => params.username }),
    ]
  },
})
