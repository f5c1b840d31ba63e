import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeFindAvatar, makeRemoveAvatar, makeSetAvatar } from '../../../core/identity/accounts/avatars.ts'
import { makeFindUser } from '../../../core/identity/accounts/users.ts'
import { profileOf } from '../../../core/identity/authentication/authenticator.ts'
import { maySee } from '../../../core/identity/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { pictureType } from '../../../core/kernel/picture.ts'
import { Redirect } from '../../kit/reply.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle } from '../../kit/route.ts'
import type { IdentityGiven } from '../needs.ts'
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

export const userRoutes = ({ stores, settings }: IdentityGiven): readonly BoundRoute[] => {
  const findUser = makeFindUser(stores)
  return [
    handle(getCaller, async ({ call, query }) => {
      const { userId } = call.principal
      const user = profileOf(call.principal) ?? (await stores.users.byId(userId))
      if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
      const isClientOrgUser = query.check_client_org === 'true' && (await stores.holdings.isClientOrgUser(userId))
      // The holder of such a token sees the owner of the token, but not the owner's private data.
      const viewer = { userId: viewerOf(call.principal).userId, isSiteAdmin: false }
      return right(userWire(placeOf(settings, call), viewer, user, isClientOrgUser))
    }),
    handle(searchUsers, async ({ call, query, page }) => {
      const viewer = viewerOf(call.principal)
      // Older clients send 0 for any user.
      const uid = query.uid === undefined || query.uid === 0 ? undefined : (query.uid as UserId)
      return right(mapPage(await stores.users.search(viewer, searchTextOf(query.q), uid, page), (user) => userWire(placeOf(settings, call), viewer, user)))
    }),
    handle(getUser, async ({ call, params }) => {
      const viewer = viewerOf(call.principal)
      const user = await findUser(viewer, params.username)
      const renamed = isLeft(user) ? await stores.users.byFormerLogin(params.username) : undefined
      if (renamed !== undefined && maySee(viewer, renamed)) return right(new Redirect(307, `/users/${renamed.login}`))
      return isLeft(user) ? user : right(userWire(placeOf(settings, call), viewer, user.right))
    }),
    handle(listPublicKeys, () => Promise.resolve(right([]))),
    handle(listSigningKeys, () => Promise.resolve(right([]))),
  ]
}

/** The picture of a name is stable within a release. A later release may draw it differently. */
const drawnIsFresh = 'public, max-age=86400'

export const avatarRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const set = makeSetAvatar(given)
  const remove = makeRemoveAvatar(given)
  const find = makeFindAvatar(given.stores.avatars)
  return [
    handle(setAvatar, ({ call, body }) => set(call, body.image)),
    handle(uploadAvatar, ({ call, body }) => set(call, body.avatar)),
    handle(deleteAvatar, ({ call }) => remove(call)),
    handle(discardAvatar, ({ call }) => remove(call)),
    handle(getAvatarSettings, async ({ call }) => {
      const { userId, login: name } = call.principal
      const digest = (await given.stores.users.byId(userId))?.avatarDigest
      const source = digest === undefined ? '' : 'local'
      return right({ source, avatar: avatarUrl(placeOf(given.settings, call), { name, digest }), gravatar: '', federavatar: false })
    }),
    handle(showAvatar, async ({ params }) => {
      const bytes = await find(params.digest)
      return isLeft(bytes) ? bytes : right({ contentType: pictureType, bytes: bytes.right })
    }),
    handle(showDrawnAvatar, async ({ params }) =>
      right({ contentType: pictureType, bytes: await given.pictures.ofName(params.name), headers: { 'Cache-Control': drawnIsFresh } }),
    ),
  ]
}
