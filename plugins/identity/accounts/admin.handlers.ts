import { right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { makeGetAnyUser, makeListUsers } from '../../../core/identity/accounts/profiles.ts'
import { makeDeleteUser } from '../../../core/identity/accounts/removal.ts'
import type { UserEdit } from '../../../core/identity/accounts/user-changes.ts'
import { makeEditUser, makeRenameUser, makeUnlockUser } from '../../../core/identity/accounts/user-changes.ts'
import { makeImportUser } from '../../../core/identity/accounts/users.ts'
import { makeSetPassword } from '../../../core/identity/authentication/passwords.ts'
import { AttemptThrottlePort } from '../../../core/identity/attempt-ports.ts'
import {
  CommonPasswordsPort,
  DomainNamesPort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
  PasswordHasherPort,
} from '../../../core/identity/ports.ts'
import type { User, UserVisibility } from '../../../core/identity/types.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { optionalSecret, secret } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import type { EditUserOption } from './codecs.ts'
import { passwordPolicyOf } from '../passwords.ts'
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
import { listingOf, searchTextOf, emailWire, placeOf, profileWire, userWire, viewerOf } from './user-wire.ts'

/** An empty visibility is unchanged, or the default for a new user. */
const visibilityOf = (word: UserVisibility | '' | undefined): UserVisibility | undefined =>
  word === '' ? undefined : word

const editOf = (body: t.TypeOf<typeof EditUserOption>): UserEdit =>
  definedFields({
    fullName: body.full_name,
    email: body.email,
    // Clients of this family send every text, and an empty password for one that is unchanged.
    password: optionalSecret(body.password === '' ? undefined : body.password),
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
    visibility: visibilityOf(body.visibility),
  })

/** The routes of site admins that create, change and delete users. */
export const adminGroup = defineGroup({
  needs: {
    clock: ClockPort,
    commonPasswords: CommonPasswordsPort,
    domains: DomainNamesPort,
    hasher: PasswordHasherPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    throttle: AttemptThrottlePort,
    unitOfWork: IdentityUnitOfWorkPort,
  },
  routes: (given) => {
    const deps = { ...given, passwords: passwordPolicyOf(given) }
    const toWire = (user: User, { call }: { readonly call: SignedInCall<never> }) =>
      userWire(placeOf(given.settings, call), viewerOf(call.principal), user)
    return [
      handle(adminListUsers, makeListUsers(given), {
        input: ({ query, page }) => ({ text: searchTextOf(query.q, given.domains), page, listing: listingOf(query) }),
        reply: toWire,
      }),
      handle(adminCreateUser, makeImportUser(deps), {
        input: ({ body }) => ({
          login: body.username,
          email: body.email,
          password: secret(body.password),
          fullName: body.full_name,
          mustChangePassword: body.must_change_password ?? false,
          restricted: body.restricted,
          visibility: visibilityOf(body.visibility),
          sendsNotice: body.send_notify,
          createdAt: body.created_at,
        }),
        reply: toWire,
      }),
      handle(adminEditUser, makeEditUser(deps), {
        input: ({ params, body }) => ({ login: params.username, ...editOf(body) }),
        reply: toWire,
      }),
      handle(adminDeleteUser, makeDeleteUser(given), {
        input: ({ params, query }) => ({ login: params.username, leavesOrganizations: query.purge }),
      }),
      handle(adminChangePassword, makeSetPassword(deps), {
        input: ({ params, body }) => ({
          login: params.username,
          password: secret(body.password),
          retyped: optionalSecret(body.retype),
        }),
      }),
      handle(adminUnlockUser, makeUnlockUser(given), { input: ({ params }) => params.username }),
      handle(adminGetUser, makeGetAnyUser(given), { input: ({ params }) => params.username, reply: toWire }),
      handle(adminUpdateProfile, makeEditUser(deps), {
        input: ({ params, body: { full_name: fullName, keep_email_private: hideEmail, ...rest } }) => ({
          login: params.username,
          ...definedFields({ fullName, hideEmail, ...rest }),
        }),
        reply: profileWire,
      }),
      handle(adminRenameUser, makeRenameUser(given), {
        input: ({ params, body }) => ({ login: params.username, newLogin: body.new_username }),
      }),
    ]
  },
})

/** The routes of site admins that read the addresses of all users. */
export const adminEmailGroup = defineGroup({
  needs: { domains: DomainNamesPort, stores: IdentityStoresPort },
  routes: ({ domains, stores }) => [
    handle(adminListEmails, async (_call, { page }) => right(await stores.emails.listAll('', page)), {
      reply: ({ email, login }) => emailWire(email, login, domains),
    }),
    handle(
      adminSearchEmails,
      async (_call, { query, page }) => right(await stores.emails.listAll(searchTextOf(query.q, domains), page)),
      { reply: ({ email, login }) => emailWire(email, login, domains) },
    ),
  ],
})
