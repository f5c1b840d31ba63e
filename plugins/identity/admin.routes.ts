import { UserNameRefused } from '../../core/identity/create-user.ts'
import { CreationTimeRefused } from '../../core/identity/creation-time.ts'
import { UserInUse } from '../../core/identity/delete-user.ts'
import { LastAdmin } from '../../core/identity/edit-user.ts'
import { EmailInvalid } from '../../core/identity/email-address.ts'
import { UserMissing } from '../../core/identity/find-user.ts'
import { PasswordTooWeak } from '../../core/identity/password-policy.ts'
import { EmailTaken, TooManyAttempts, UserNameTaken } from '../../core/identity/ports.ts'
import { ProfileInvalid } from '../../core/identity/profile-rules.ts'
import { read, siteAdmin, write } from '../kit/access.ts'
import { optional, QueryBoolean, request } from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { ChangePasswordParams, CreateUserOption, EditUserOption, User, UserPath } from './codecs.ts'
import { fullUserExample } from './examples.ts'
import { PasswordsDiffer } from './settings.routes.ts'
import { UsersQuery, usersQueryText } from './user-listing.ts'

const tag = 'Administration'

export const adminListUsers = defineRoute({
  id: 'identity.adminListUsers',
  method: 'GET',
  path: '/admin/users',
  summary: 'List all users',
  description: usersQueryText,
  tag,
  access: siteAdmin,
  scope: read('admin'),
  query: UsersQuery,
  ok: list(User, fullUserExample),
  failures: [],
})

export const adminCreateUser = defineRoute({
  id: 'identity.adminCreateUser',
  method: 'POST',
  path: '/admin/users',
  summary: 'Make a user',
  description: 'The address counts as verified. A password that the policy refuses is 400. `created_at`, for users who come from elsewhere, is an instant that is not in the future.',
  tag,
  access: siteAdmin,
  scope: write('admin'),
  body: body(CreateUserOption, { username: 'ada', email: 'ada@example.org', password: 'a long passphrase', full_name: 'Ada Lovelace' }),
  ok: json(201, User, fullUserExample),
  failures: [UserNameRefused, UserNameTaken, CreationTimeRefused, EmailInvalid, EmailTaken, PasswordTooWeak, TooManyAttempts],
  statusOf: { PasswordTooWeak: 400 },
})

export const adminEditUser = defineRoute({
  id: 'identity.adminEditUser',
  method: 'PATCH',
  path: '/admin/users/{username}',
  summary: 'Change a user; what is absent stays as it is, an empty text clears',
  description:
    'Making a user inactive, prohibiting sign-in and setting a password end all of the user\'s sessions; access tokens of a shut account are refused. The last active site administrator stays one (409).',
  tag,
  access: siteAdmin,
  scope: write('admin'),
  params: UserPath,
  body: body(EditUserOption, { full_name: 'Ada King', prohibit_login: false }),
  ok: json(200, User, fullUserExample),
  failures: [UserMissing, LastAdmin, ProfileInvalid, EmailInvalid, EmailTaken, PasswordTooWeak, TooManyAttempts],
  statusOf: { PasswordTooWeak: 400 },
})

export const adminDeleteUser = defineRoute({
  id: 'identity.adminDeleteUser',
  method: 'DELETE',
  path: '/admin/users/{username}',
  summary: 'Delete a user with all credentials',
  description:
    'Refused with 422 for the caller, for an organization, for the last active site administrator, and while the user is a member of an organization or owns clusters; `errors` names what is in the way. ' +
    'With `purge=true` the user leaves the organizations that have another owner, so that only those without one, and clusters, are in the way.',
  tag,
  access: siteAdmin,
  scope: write('admin'),
  params: UserPath,
  query: request({ purge: optional(QueryBoolean) }, 'DeleteUserQuery'),
  ok: empty(204),
  failures: [UserMissing, UserInUse],
})

export const adminChangePassword = defineRoute({
  id: 'identity.adminChangePassword',
  method: 'POST',
  path: '/admin/users/{username}/change-password',
  summary: "Set a user's password and end the user's sessions",
  tag,
  access: siteAdmin,
  scope: write('admin'),
  refusesSudo: true,
  params: UserPath,
  body: body(ChangePasswordParams, { password: 'another long phrase' }),
  ok: empty(200),
  failures: [UserMissing, PasswordTooWeak, PasswordsDiffer, TooManyAttempts],
})
