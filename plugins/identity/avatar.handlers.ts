import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeFindAvatar, makeRemoveAvatar, makeSetAvatar } from '../../core/identity/change-avatar.ts'
import { pictureType } from '../../core/kernel/picture.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { deleteAvatar, discardAvatar, getAvatarSettings, setAvatar, showAvatar, showDrawnAvatar, uploadAvatar } from './avatar.routes.ts'
import type { IdentityGiven } from './needs.ts'
import { avatarUrl, placeOf } from './user-wire.ts'

/** A name always has the same picture, but a later release may draw it in another way. */
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
