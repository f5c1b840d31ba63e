import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { Call } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makeCreateUser } from '../../core/identity/create-user.ts'
import { creationTime } from '../../core/identity/creation-time.ts'
import { makeDeleteUser } from '../../core/identity/delete-user.ts'
import type { EditUserInput } from '../../core/identity/edit-user.ts'
import { makeEditUser } from '../../core/identity/edit-user.ts'
import { presentFields } from '../../core/identity/profile-rules.ts'
import { makeSetPassword } from '../../core/identity/set-password.ts'
import type { User } from '../../core/identity/types.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import { adminChangePassword, adminCreateUser, adminDeleteUser, adminEditUser, adminListUsers } from './admin.routes.ts'
import type { EditUserOption } from './codecs.ts'
import type { IdentityGiven } from './needs.ts'
import { passwordPolicyOf } from './password-policy-of.ts'
import { PasswordsDiffer } from './settings.routes.ts'
import { listingOf, searchTextOf } from './user-listing.ts'
import { placeOf, userWire, viewerOf } from './user-wire.ts'

const editOf = (body: t.TypeOf<typeof EditUserOption>): EditUserInput =>
  presentFields({
    fullName: body.full_name,
    email: body.email,
    password: body.password === undefined ? undefined : secret(body.password),
    mustChangePassword: body.must_change_password,
    website: body.website,
    location: body.location,
    language: body.language,
    description: body.description,
    isActive: body.active,
    isAdmin: body.admin,
    prohibitLogin: body.prohibit_login,
    allowCreateOrganization: body.allow_create_organization,
    restricted: body.restricted,
    visibility: body.visibility,
  })

const accountRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const { settings, stores } = given
  const deps = { ...given, passwords: passwordPolicyOf(given) }
  const create = makeCreateUser(deps)
  const edit = makeEditUser(deps)
  const shown = (user: User, { call }: { readonly call: Call<never> }) => userWire(placeOf(settings, call), viewerOf(call.principal), user)
  return [
    handle(adminListUsers, async ({ call, query, page }) => {
      const listing = listingOf(query)
      if (listing === undefined) return right({ items: [], total: 0 })
      const viewer = viewerOf(call.principal)
      return right(mapPage(await stores.users.list(searchTextOf(query.q), page, listing), (user) => userWire(placeOf(settings, call), viewer, user)))
    }),
    handleChange(adminCreateUser, shown, async ({ call, body }) => {
      const createdAt = creationTime(body.created_at, given.clock.now())
      if (isLeft(createdAt)) return createdAt
      return create(call, {
        login: body.username,
        email: body.email,
        password: secret(body.password),
        fullName: body.full_name,
        mustChangePassword: body.must_change_password ?? false,
        restricted: body.restricted,
        visibility: body.visibility,
        sendsNotice: body.send_notify,
        createdAt: createdAt.right,
      })
    }),
    handleChange(adminEditUser, shown, ({ call, params, body }) => edit(call, params.username, editOf(body))),
  ]
}

export const adminRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const remove = makeDeleteUser(given)
  const setPassword = makeSetPassword({ ...given, passwords: passwordPolicyOf(given) })
  return [
    ...accountRoutes(given),
    handle(adminDeleteUser, ({ call, params, query }) => remove(call, params.username, query.purge ?? false)),
    handle(adminChangePassword, async ({ call, params, body }) => {
      if (body.retype !== undefined && body.retype !== body.password) return left(PasswordsDiffer('The two passwords differ.'))
      return setPassword(call, { login: params.username, password: secret(body.password) })
    }),
  ]
}
