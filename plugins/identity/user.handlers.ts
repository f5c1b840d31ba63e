import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../core/kernel/brand.ts'
import { defaultPageLimit, maxPageLimit } from '../../core/kernel/page.ts'
import { profileOf } from '../../core/identity/authenticate.ts'
import { makeFindUser } from '../../core/identity/find-user.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { getCaller, getUser, searchUsers } from './user.routes.ts'
import { userWire, viewerOf } from './user-wire.ts'

const limitOf = (asked: number | undefined): number => (asked === undefined || asked < 1 ? defaultPageLimit : Math.min(asked, maxPageLimit))

export const userRoutes = ({ stores, settings }: IdentityGiven): readonly BoundRoute[] => {
  const findUser = makeFindUser(stores)
  return [
    handle(getCaller, async ({ call, query }) => {
      const { userId } = call.principal
      const user = profileOf(call.principal) ?? (await stores.users.byId(userId))
      if (user === undefined) throw new Error('the account of a proven caller is gone')
      const isClientOrgUser = query.check_client_org === 'true' && (await stores.holdings.isClientOrgUser(userId))
      return right(userWire(settings.baseUrl(), { userId, isSiteAdmin: false }, user, isClientOrgUser))
    }),
    handle(searchUsers, async ({ call, query }) => {
      const viewer = viewerOf(call.principal)
      const prefix = (query.q ?? '').normalize('NFC').toLowerCase()
      // Older clients send 0 for 'any user'.
      const uid = query.uid === undefined || query.uid === 0 ? undefined : (query.uid as UserId)
      const found = await stores.users.search(viewer, prefix, uid, limitOf(query.limit))
      return right({ ok: true, data: found.map((user) => userWire(settings.baseUrl(), viewer, user)) })
    }),
    handle(getUser, async ({ call, params }) => {
      const viewer = viewerOf(call.principal)
      const user = await findUser(viewer, params.username)
      return isLeft(user) ? user : right(userWire(settings.baseUrl(), viewer, user.right))
    }),
  ]
}
