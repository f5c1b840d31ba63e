import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { makeDeleteUser } from '../../../core/identity/accounts/removal.ts'
import type { EditUserInput } from '../../../core/identity/accounts/user-changes.ts'
import { makeEditUser, makeRenameUser, makeUnlockUser } from '../../../core/identity/accounts/user-changes.ts'
import { makeCreateUser } from '../../../core/identity/accounts/user-creation.ts'
import { creationTime, ProfileInvalid, userMissing } from '../../../core/identity/accounts/users.ts'
import { makeSetPassword } from '../../../core/identity/authentication/passwords.ts'
import type { User } from '../../../core/identity/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { EditUserOption } from '../codecs.ts'
import type { IdentityGiven } from '../needs.ts'
import { passwordPolicyOf } from '../needs.ts'
import {
  adminChangePassword,
  adminCreateUser,
  adminDeleteUser,
  adminEditUser,
  adminGetUser,
  adminListEmails,
  adminListUsers,
  adminRenameUser,
  adminSearchEmails,
  adminUnlockUser,
  adminUpdateProfile,
} from './admin.routes.ts'
import { PasswordsDiffer } from './settings.routes.ts'
import { listingOf, searchTextOf } from './user-listing.ts'
import { emailWire, placeOf, profileWire, userWire, viewerOf } from './user-wire.ts'
import { definedFields } from '../../../core/kernel/fields.ts'

const editOf = (body: t.TypeOf<typeof EditUserOption>): EditUserInput =>
  definedFields({
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
      if (body.retype !== undefined && body.retype !== body.password) return left(PasswordsDiffer('The two passwords must not differ.'))
      return setPassword(call, { login: params.username, password: secret(body.password) })
    }),
  ]
}

/** Returns the id that a text of digits denotes. Returns 0, which no user has, for a text that cannot be an id. */
const idOf = (text: string): UserId => (/^[1-9][0-9]{0,15}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : 0) as UserId

const emailRoutes = ({ stores }: IdentityGiven): readonly BoundRoute[] => [
  handle(adminListEmails, async ({ page }) =>
    right(mapPage(await stores.emails.listAll('', page), ({ email, login }) => emailWire(email, login))),
  ),
  handle(adminSearchEmails, async ({ query, page }) =>
    right(mapPage(await stores.emails.listAll(searchTextOf(query.q), page), ({ email, login }) => emailWire(email, login))),
  ),
]

export const adminAccountRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const { stores, settings } = given
  const edit = makeEditUser({ ...given, passwords: passwordPolicyOf(given) })
  const rename = makeRenameUser(given)
  const find = async (text: string): Promise<User | undefined> => (await stores.users.byId(idOf(text))) ?? stores.users.byLogin(text)
  return [
    ...emailRoutes(given),
    handle(adminGetUser, async ({ call, params }) => {
      const user = await find(params.username)
      return user === undefined ? left(userMissing()) : right(userWire(placeOf(settings, call), viewerOf(call.principal), user))
    }),
    handleChange(adminUpdateProfile, profileWire, async ({ call, params, body }) => {
      const { name, full_name: fullName, keep_email_private: hideEmail, ...rest } = body
      if (name !== undefined && name !== '' && accountNameKey(name) !== accountNameKey(params.username)) {
        return left(ProfileInvalid('The name cannot be changed here.'))
      }
      return edit(call, params.username, definedFields({ fullName, hideEmail, ...rest }))
    }),
    handle(adminRenameUser, ({ call, params, body }) => rename(call, params.username, body.new_username)),
  ]
}

export const unlockRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const unlock = makeUnlockUser(given)
  return [
    handle(adminUnlockUser, async ({ call, params }) => {
      const unlocked = await unlock(call, params.username)
      return isLeft(unlocked) ? unlocked : right(undefined)
    }),
  ]
}
