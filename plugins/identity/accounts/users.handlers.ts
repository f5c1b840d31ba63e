import { right } from 'fp-ts/lib/Either.js'
import { makeFindAvatar, makeRemoveAvatar, makeSetAvatar } from '../../../core/identity/accounts/avatars.ts'
import { ContentDigestToken } from '../../../core/identity/accounts/ports.ts'
import { makeGetCaller, makeGetUser } from '../../../core/identity/accounts/profiles.ts'
import { IdentitySettingsToken, IdentityStoresToken, IdentityUnitOfWorkToken } from '../../../core/identity/ports.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { PictureMakerToken, pictureType } from '../../../core/kernel/picture.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { Redirect } from '../../kit/reply.ts'
import { searchTextOf } from './user-listing.ts'
import { avatarUrl, placeOf, userWire, viewerOf } from './user-wire.ts'
import {
  deleteAvatar,
  discardAvatar,
  getAvatarSettings,
  getCaller,
  getUser,
  listPublicKeys,
  listSigningKeys,
  searchUsers,
  setAvatar,
  showAvatar,
  showDrawnAvatar,
  uploadAvatar,
} from './users.routes.ts'

export const userGroup = defineGroup({
  needs: { stores: IdentityStoresToken, settings: IdentitySettingsToken },
  routes: ({ stores, settings }) => [
    handle(getCaller, makeGetCaller({ stores }), {
      input: ({ query }) => ({ checksClientOrg: query.check_client_org === 'true' }),
      reply: ({ user, isClientOrgUser }, { call }) => {
        // The holder of a token that sees only what is public sees the owner of the token, but not the owner's private data.
        const viewer = { userId: viewerOf(call.principal).userId, isSiteAdmin: false }
        return userWire(placeOf(settings, call), viewer, user, isClientOrgUser)
      },
    }),
    handle(
      searchUsers,
      async ({ principal }, { query: { q, uid }, page }) =>
        // Older clients send 0 for any user.
        right(await stores.users.search(viewerOf(principal), searchTextOf(q), uid === 0 ? undefined : uid, page)),
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
  ],
})

/** The picture of a name is stable within a release. A later release may draw it differently. */
const drawnIsFresh = 'public, max-age=86400'

export const avatarGroup = defineGroup({
  needs: {
    clock: ClockToken,
    contentDigest: ContentDigestToken,
    pictures: PictureMakerToken,
    settings: IdentitySettingsToken,
    stores: IdentityStoresToken,
    unitOfWork: IdentityUnitOfWorkToken,
  },
  routes: (given) => [
    handle(setAvatar, makeSetAvatar(given), { input: ({ body }) => body.image }),
    handle(uploadAvatar, makeSetAvatar(given), { input: ({ body }) => body.avatar }),
    handle(deleteAvatar, makeRemoveAvatar(given)),
    handle(discardAvatar, makeRemoveAvatar(given)),
    handle(
      getAvatarSettings,
      async ({ principal }) => right({ name: principal.login, digest: (await given.stores.users.byId(principal.userId))?.avatarDigest }),
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
