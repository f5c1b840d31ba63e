import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../core/kernel/ids.ts'
import { mapPage } from '../../core/kernel/page.ts'
import { profileOf } from '../../core/identity/prove-token.ts'
import { makeFindUser } from '../../core/identity/find-user.ts'
import { maySee } from '../../core/identity/types.ts'
import { Redirect } from '../kit/reply.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { getCaller, getUser, listPublicKeys, listSigningKeys, searchUsers } from './user.routes.ts'
import { searchTextOf } from './user-listing.ts'
import { placeOf, userWire, viewerOf } from './user-wire.ts'

export const userRoutes = ({ stores, settings }: IdentityGiven): readonly BoundRoute[] => {
  const findUser = makeFindUser(stores)
  return [
    handle(getCaller, async ({ call, query }) => {
      const { userId } = call.principal
      const user = profileOf(call.principal) ?? (await stores.users.byId(userId))
      if (user === undefined) throw new Error('the account of a proven caller is gone')
      const isClientOrgUser = query.check_client_org === 'true' && (await stores.holdings.isClientOrgUser(userId))
      // Who holds such a token learns whose it is, not what the owner keeps to oneself.
      const viewer = { userId: viewerOf(call.principal).userId, isSiteAdmin: false }
      return right(userWire(placeOf(settings, call), viewer, user, isClientOrgUser))
    }),
    handle(searchUsers, async ({ call, query, page }) => {
      const viewer = viewerOf(call.principal)
      // Older clients send 0 for 'any user'.
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
