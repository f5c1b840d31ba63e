import { UserInUse } from '../../../core/identity/accounts/removal.ts'
import { LastAdmin } from '../../../core/identity/accounts/user-changes.ts'
import { UserNameRefused, CreationTimeRefused, ProfileInvalid } from '../../../core/identity/accounts/users.ts'
import { UserMissing } from '../../../core/identity/types.ts'
import { PasswordsDiffer, PasswordTooWeak } from '../../../core/identity/authentication/password-policy.ts'
import { EmailInvalid } from '../../../core/identity/emails/email-address.ts'
import { EmailTaken, UserNameTaken } from '../../../core/identity/ports.ts'
import { siteAdmin } from '../../kit/access.ts'
import { described, freeText, naming, optional, QueryBoolean, request } from '../../kit/codecs.ts'
import { empty, json, list, packed, paged } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { Email, emailExample, fullUserExample, Profile, profileExample, User, UserPath } from '../codecs.ts'
import { ChangePasswordParams, CreateUserOption, EditUserOption, ProfileParams } from './codecs.ts'
import { UsersQuery, usersQueryText } from './user-wire.ts'

const common = { tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' } as const
const route = routesOf(common)
const userRoute = routesOf({ ...common, params: UserPath, failures: [UserMissing] })

export const adminListUsers = route({
  id: 'identity.adminListUsers',
  method: 'GET',
  path: '/admin/users',
  summary: 'List all users',
  description: usersQueryText,
  query: UsersQuery,
  ok: packed(list(User, fullUserExample)),
})

export const adminCreateUser = route({
  id: 'identity.adminCreateUser',
  method: 'POST',
  path: '/admin/users',
  summary: 'Make a user',
  description:
    'The address is verified. Returns 400 for a password that the policy does not allow. `created_at`, for ' +
    'users who are migrated from another service, must not be in the future.',
  body: body(CreateUserOption, {
    username: 'ada',
    email: 'ada@example.org',
    password: 'a long passphrase',
    full_name: 'Ada Lovelace',
  }),
  ok: json(201, User, fullUserExample),
  failures: [UserNameRefused, UserNameTaken, CreationTimeRefused, EmailInvalid, EmailTaken, PasswordTooWeak],
  statusOf: { PasswordTooWeak: 400 },
})

export const adminEditUser = userRoute({
  id: 'identity.adminEditUser',
  method: 'PATCH',
  path: '/admin/users/{username}',
  summary: 'Update a user; omitted fields do not change, an empty string clears',
  description:
    "Making a user inactive, prohibiting sign-in and setting a password end all of the user's sessions; " +
    'access tokens of an inactive account are rejected. An empty password or address, which some clients send with ' +
    'every change, is unchanged. Returns 409 if it would leave no active site administrator.',
  body: body(EditUserOption, { full_name: 'Ada King', prohibit_login: false }),
  ok: json(200, User, fullUserExample),
  failures: [LastAdmin, ProfileInvalid, EmailInvalid, EmailTaken, PasswordTooWeak],
  statusOf: { PasswordTooWeak: 400 },
})

export const adminDeleteUser = userRoute({
  id: 'identity.adminDeleteUser',
  method: 'DELETE',
  path: '/admin/users/{username}',
  summary: 'Delete a user with all credentials',
  description:
    'Returns 422 for the caller, for an organization, for the last active site administrator, and while ' +
    'the user is a member of an organization or owns clusters; `errors` names the reasons. ' +
    'With `purge=true` the user first leaves the organizations that have another owner.',
  query: request(
    {
      purge: described(
        optional(QueryBoolean),
        'With `true` the user first leaves the organizations that have another owner; false by default.',
      ),
    },
    'DeleteUserQuery',
  ),
  ok: empty(204),
  failures: [UserInUse],
})

export const adminChangePassword = userRoute({
  id: 'identity.adminChangePassword',
  method: 'POST',
  path: '/admin/users/{username}/change-password',
  summary: "Set a user's password and end the user's sessions",
  description:
    'Access tokens stay. Returns 422 for a password that the policy does not allow, and if `retype` differs.',
  refusesSudo: true,
  body: body(ChangePasswordParams, { password: 'another long phrase' }),
  ok: empty(200),
  failures: [PasswordTooWeak, PasswordsDiffer],
})

const RenameUserOption = request(
  {
    new_username: described(
      freeText(255),
      'The new name, unique among users and organizations without regard to case.',
    ),
  },
  'RenameUserOption',
)

export const adminListEmails = route({
  id: 'identity.adminListEmails',
  method: 'GET',
  path: '/admin/emails',
  summary: 'List the e-mail addresses of all users',
  description: 'Confirmed and unconfirmed addresses, each with its user.',
  ok: packed(paged(list(Email, emailExample))),
})

export const adminSearchEmails = route({
  id: 'identity.adminSearchEmails',
  method: 'GET',
  path: '/admin/emails/search',
  summary: 'Search e-mail addresses',
  description: 'Ignores case. Addresses that start with `q` come first.',
  query: request(
    {
      q: described(
        optional(naming(freeText(320), 'account', 'name')),
        'A part of the address, without regard to case; all addresses if absent or empty.',
      ),
    },
    'AdminEmailsQuery',
  ),
  ok: packed(paged(list(Email, emailExample))),
})

export const adminGetUser = userRoute({
  id: 'identity.adminGetUser',
  method: 'GET',
  path: '/admin/users/{username}',
  summary: 'Get a user, including private ones',
  description: 'By id or by name. Digits are an id, or a name if no user has the id.',
  ok: json(200, User, fullUserExample),
})

export const adminUpdateProfile = userRoute({
  id: 'identity.adminUpdateProfile',
  method: 'POST',
  path: '/admin/users/{username}/update',
  summary: "Update a user's profile; omitted fields do not change, an empty string clears",
  description:
    'The name must be the present one: this route cannot change it. A new address becomes the primary one ' +
    'and is verified.',
  body: body(ProfileParams, { full_name: 'Ada King', location: 'London' }),
  ok: json(200, Profile, { ...profileExample, full_name: 'Ada King' }),
  failures: [LastAdmin, ProfileInvalid, EmailInvalid, EmailTaken, PasswordTooWeak],
})

export const adminRenameUser = userRoute({
  id: 'identity.adminRenameUser',
  method: 'POST',
  path: '/admin/users/{username}/rename',
  summary: 'Rename a user',
  description:
    'The old name redirects to the user until another account uses it. Access tokens and sessions stay valid.',
  body: body(RenameUserOption, { new_username: 'ada-king' }),
  ok: empty(204),
  failures: [UserNameRefused, UserNameTaken],
})

export const adminUnlockUser = userRoute({
  id: 'identity.adminUnlockUser',
  method: 'POST',
  path: '/admin/users/{username}/unlock',
  summary: 'Unlock a user',
  description:
    'Ends a lock after failed sign-ins or one-time codes and resets the count of failures; makes an ' +
    'inactive account active and allows it to sign in. An account that was deactivated, or whose address ' +
    'is not confirmed yet, does not change. Takes effect on other instances within five seconds. Returns ' +
    '204 also if there is nothing to do.',
  ok: empty(204),
})
