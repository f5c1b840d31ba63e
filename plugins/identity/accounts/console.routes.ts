import * as t from 'io-ts'
import { UserNameRefused, UserMissing, ProfileInvalid } from '../../../core/identity/accounts/users.ts'
import { UserInUse } from '../../../core/identity/accounts/removal.ts'
import { LastAdmin } from '../../../core/identity/accounts/user-changes.ts'
import { EmailInvalid } from '../../../core/identity/emails/email-address.ts'
import { PasswordTooWeak } from '../../../core/identity/authentication/password-policy.ts'
import { EmailTaken, TooManyAttempts, UserNameTaken } from '../../../core/identity/ports.ts'
import { OwnSecondFactor } from '../../../core/identity/second-factor/enrollment.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { siteAdmin } from '../../kit/access.ts'
import { answer, freeText, optional, pathId, request, SafeInteger } from '../../kit/codecs.ts'
import { empty, json, list } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { UsersQuery, usersQueryText } from './user-wire.ts'

const route = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' })

/** A row of the console's list of users. Instants are in Unix seconds; 0 means never. */
const ConsoleUser = answer(
  {
    ID: SafeInteger,
    Name: t.string,
    FullName: t.string,
    Email: t.string,
    IsActive: t.boolean,
    IsAdmin: t.boolean,
    IsRestricted: t.boolean,
    ProhibitLogin: t.boolean,
    AllowCreateOrganization: t.boolean,
    MustChangePassword: t.boolean,
    LoginType: SafeInteger,
    LoginName: t.string,
    Website: t.string,
    Location: t.string,
    Visibility: t.string,
    CreatedUnix: SafeInteger,
    LastLoginUnix: SafeInteger,
  },
  'ConsoleUser',
)
const consoleUserExample = {
  ID: 7, Name: 'ada', FullName: 'Ada Lovelace', Email: 'ada@example.org', IsActive: true, IsAdmin: false, IsRestricted: false, ProhibitLogin: false,
  AllowCreateOrganization: true, MustChangePassword: false, LoginType: 0, LoginName: 'ada', Website: '', Location: 'London', Visibility: 'public',
  CreatedUnix: 1795248000, LastLoginUnix: 0,
}

const DeletedAccount = answer(
  {
    ID: SafeInteger,
    Name: t.string,
    FullName: t.string,
    Email: t.string,
    DeactivatedUnix: SafeInteger,
    DeactivatedBy: t.string,
    PurgedAfterUnix: SafeInteger,
  },
  'DeletedAccount',
)

const AdminCreateUserPayload = request(
  {
    loginType: optional(freeText(32)),
    loginName: optional(freeText(255)),
    userName: freeText(255),
    fullName: optional(freeText(100)),
    email: freeText(320),
    password: optional(freeText()),
    sendNotify: optional(t.boolean),
    mustChangePassword: optional(t.boolean),
  },
  'AdminCreateUserPayload',
)

export const AdminEditUserPayload = request(
  {
    loginType: optional(freeText(32)),
    loginName: optional(freeText(255)),
    fullName: optional(freeText(100)),
    email: optional(freeText(320)),
    password: optional(freeText()),
    website: optional(freeText(255)),
    location: optional(freeText(50)),
    active: optional(t.boolean),
    admin: optional(t.boolean),
    allowCreateOrganization: optional(t.boolean),
    prohibitLogin: optional(t.boolean),
    disableTwoFactor: optional(t.boolean),
  },
  'AdminEditUserPayload',
)

const UserIdPath = request({ userid: pathId<UserId>() }, 'UserIdPath')

export const consoleListUsers = route({
  id: 'identity.consoleListUsers',
  method: 'GET',
  path: '/accounts/admin/users',
  summary: 'List all users, as rows of a console',
  description: usersQueryText,
  query: UsersQuery,
  ok: list(ConsoleUser, consoleUserExample),
})

export const consoleCreateUser = route({
  id: 'identity.consoleCreateUser',
  method: 'POST',
  path: '/accounts/admin/users/new',
  summary: 'Make a user',
  description:
    'The address is verified. `loginType` and `loginName` are accepted and ignored: all accounts are local. `sendNotify` sends the user a mail, without the password.',
  body: body(AdminCreateUserPayload, { loginType: '0-0', userName: 'ada', email: 'ada@example.org', password: 'a long passphrase' }),
  ok: json(201, ConsoleUser, consoleUserExample),
  failures: [UserNameRefused, UserNameTaken, EmailInvalid, EmailTaken, PasswordTooWeak, TooManyAttempts],
})

export const consoleEditUser = route({
  id: 'identity.consoleEditUser',
  method: 'POST',
  path: '/accounts/admin/users/{userid}',
  summary: 'Update a user; omitted fields do not change, an empty string clears',
  description:
    'An empty password does not change the password. `disableTwoFactor` removes the second factor and ends the sessions. Returns 409 if it would leave no active site administrator.',
  refusesSudo: true,
  params: UserIdPath,
  body: body(AdminEditUserPayload, { loginType: '0-0', email: 'ada@example.org', fullName: 'Ada King', active: true }),
  ok: json(200, ConsoleUser, consoleUserExample),
  failures: [UserMissing, OwnSecondFactor, LastAdmin, ProfileInvalid, EmailInvalid, EmailTaken, PasswordTooWeak, TooManyAttempts],
})

export const consoleDeleteUser = route({
  id: 'identity.consoleDeleteUser',
  method: 'POST',
  path: '/accounts/admin/users/{userid}/delete',
  summary: 'Delete a user with all credentials permanently',
  description: 'Refused with 400 for what DELETE /admin/users/{username} refuses with 422.',
  params: UserIdPath,
  ok: empty(200),
  failures: [UserMissing, UserInUse],
  statusOf: { UserInUse: 400 },
})

export const consoleListDeleted = route({
  id: 'identity.consoleListDeleted',
  method: 'GET',
  path: '/accounts/admin/users/deleted_accounts',
  summary: 'List the deactivated accounts, which can be restored',
  ok: list(DeletedAccount, {
    ID: 7, Name: 'ada', FullName: 'Ada Lovelace', Email: 'ada@example.org', DeactivatedUnix: 1795248000, DeactivatedBy: 'ada', PurgedAfterUnix: 1797840000,
  }),
})

export const consoleReactivate = route({
  id: 'identity.consoleReactivate',
  method: 'POST',
  path: '/accounts/admin/users/deleted_accounts/{id}/reactivate',
  summary: 'Restore a deactivated account',
  description: 'Restores everything except access tokens and sessions.',
  params: request({ id: pathId<UserId>() }, 'DeletedAccountPath'),
  ok: empty(200),
  failures: [UserMissing],
})

export const consolePurge = route({
  id: 'identity.consolePurge',
  method: 'DELETE',
  path: '/accounts/admin/delete/inactive-users',
  summary: 'Remove deactivated and unconfirmed accounts permanently',
  description:
    'Removes all accounts that were deactivated, and those that were not confirmed within a day. Accounts that an administrator made inactive stay. `kept` is the number of accounts that stay because they are the only owner of an organization, or own a cluster.',
  ok: json(200, answer({ removed: SafeInteger, kept: SafeInteger }, 'PurgedAccounts'), { removed: 2, kept: 0 }),
})

export const consoleTestMail = route({
  id: 'identity.consoleTestMail',
  method: 'POST',
  path: '/accounts/admin/config/test_mail',
  summary: 'Send a test mail',
  description: 'The mail is queued like every other mail: it is sent within seconds if mail is configured, and waits otherwise.',
  query: request({ email: freeText(320) }, 'TestMailQuery'),
  ok: empty(200, 'Posted'),
  failures: [EmailInvalid],
})
