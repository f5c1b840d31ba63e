import * as t from 'io-ts'
import { UserNameRefused, ProfileInvalid } from '../../../core/identity/accounts/users.ts'
import { UserMissing } from '../../../core/identity/types.ts'
import { UserInUse } from '../../../core/identity/accounts/removal.ts'
import { LastAdmin } from '../../../core/identity/accounts/user-changes.ts'
import { EmailInvalid } from '../../../core/identity/emails/email-address.ts'
import { PasswordTooWeak } from '../../../core/identity/authentication/password-policy.ts'
import { EmailTaken, UserNameTaken } from '../../../core/identity/ports.ts'
import { OwnSecondFactor } from '../../../core/identity/second-factor/enrollment.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { siteAdmin } from '../../kit/access.ts'
import { answer, described, freeText, naming, optional, pathId, request, SafeInteger } from '../../kit/codecs.ts'
import { empty, json, list, packed } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { UsersQuery, usersQueryText } from './user-wire.ts'

const route = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' })

/** A row of the console's list of users. Instants are in Unix seconds; 0 means never. */
const ConsoleUser = answer(
  {
    ID: described(SafeInteger, 'The id of the user, from 1.'),
    Name: described(t.string, 'The name of the user.'),
    FullName: described(t.string, 'The display name; empty if not set.'),
    Email: described(t.string, 'The primary address; empty if the account has none.'),
    IsActive: described(t.boolean, 'Whether the account is active.'),
    IsAdmin: described(t.boolean, 'Whether the user is a site admin.'),
    IsRestricted: described(t.boolean, 'Whether an administrator marked the account as restricted.'),
    ProhibitLogin: described(t.boolean, 'Whether an administrator prohibited sign-in.'),
    AllowCreateOrganization: described(t.boolean, 'Whether the user may create organizations.'),
    MustChangePassword: described(t.boolean, 'Whether the user must replace the password before any other request.'),
    LoginType: described(SafeInteger, 'Always 0: all accounts are local.'),
    LoginName: described(t.string, 'The same as `Name`.'),
    Website: described(t.string, 'An http or https URL; empty if not set.'),
    Location: described(t.string, 'A place; empty if not set.'),
    Visibility: described(
      t.string,
      'Who may see the user: `public` everyone, `limited` signed-in users, `private` the user and site admins.',
    ),
    CreatedUnix: described(SafeInteger, 'The creation of the account, in seconds since the epoch.'),
    LastLoginUnix: described(SafeInteger, 'The last sign-in, in seconds since the epoch; 0 for never.'),
  },
  'ConsoleUser',
)
const consoleUserExample = {
  ID: 7,
  Name: 'ada',
  FullName: 'Ada Lovelace',
  Email: 'ada@example.org',
  IsActive: true,
  IsAdmin: false,
  IsRestricted: false,
  ProhibitLogin: false,
  AllowCreateOrganization: true,
  MustChangePassword: false,
  LoginType: 0,
  LoginName: 'ada',
  Website: '',
  Location: 'London',
  Visibility: 'public',
  CreatedUnix: 1795248000,
  LastLoginUnix: 0,
}

const DeletedAccount = answer(
  {
    ID: described(SafeInteger, 'The id of the user, from 1.'),
    Name: described(t.string, 'The name of the user.'),
    FullName: described(t.string, 'The display name; empty if not set.'),
    Email: described(t.string, 'The primary address; empty if the account has none.'),
    DeactivatedUnix: described(SafeInteger, 'When the account was deactivated, in seconds since the epoch.'),
    DeactivatedBy: described(t.string, 'The name of who deactivated the account; empty if not known.'),
    PurgedAfterUnix: described(SafeInteger, 'When the account is removed permanently, in seconds since the epoch.'),
  },
  'DeletedAccount',
)

const AdminCreateUserPayload = request(
  {
    loginType: described(optional(freeText(32)), 'Accepted for older clients and ignored: all accounts are local.'),
    loginName: described(
      optional(freeText(255)),
      'Accepted for older clients and ignored, since the login is always the user name.',
    ),
    userName: described(
      freeText(255),
      'The name of the new user, unique among users and organizations without regard to case.',
    ),
    fullName: described(optional(freeText(100)), 'The display name, at most 100 characters; empty by default.'),
    email: described(freeText(320), 'The primary address of the new user, unique among all accounts.'),
    password: described(
      optional(freeText()),
      'The password, at most 256 characters, which the policy must allow; an absent one is empty, and refused.',
    ),
    sendNotify: described(
      optional(t.boolean),
      'Whether the user is notified of the account by mail, without the password; false by default.',
    ),
    mustChangePassword: described(
      optional(t.boolean),
      'Whether the user must replace the password before any other request; true by default.',
    ),
  },
  'AdminCreateUserPayload',
)

export const AdminEditUserPayload = request(
  {
    loginType: described(optional(freeText(32)), 'Accepted for older clients and ignored: all accounts are local.'),
    loginName: described(
      optional(freeText(255)),
      'Accepted for older clients and ignored, since the login is always the user name.',
    ),
    fullName: described(
      optional(freeText(100)),
      'The display name, at most 100 characters; absent: unchanged, empty: cleared.',
    ),
    email: described(
      optional(freeText(320)),
      'The new primary address, which counts as verified; absent or empty: unchanged.',
    ),
    password: described(optional(freeText()), 'The new password, at most 256 characters; absent or empty: unchanged.'),
    website: described(
      optional(freeText(255)),
      'An http or https URL of at most 255 characters; absent: unchanged, empty: cleared.',
    ),
    location: described(optional(freeText(50)), 'A place, at most 50 characters; absent: unchanged, empty: cleared.'),
    active: described(optional(t.boolean), 'Whether the account is active; absent: unchanged.'),
    admin: described(optional(t.boolean), 'Whether the user is a site admin; absent: unchanged.'),
    allowCreateOrganization: described(
      optional(t.boolean),
      'Whether the user may create organizations; absent: unchanged.',
    ),
    prohibitLogin: described(optional(t.boolean), 'Whether the user may not sign in; absent: unchanged.'),
    disableTwoFactor: described(
      optional(t.boolean),
      'Removes the second factor of the user and ends the sessions if true; false by default.',
    ),
  },
  'AdminEditUserPayload',
)

const UserIdPath = request(
  {
    userid: described(pathId<UserId>('user'), 'The id of the user, from 1.'),
  },
  'UserIdPath',
)

export const consoleListUsers = route({
  id: 'identity.consoleListUsers',
  method: 'GET',
  path: '/accounts/admin/users',
  summary: 'List all users, as rows of a console',
  description: usersQueryText,
  query: UsersQuery,
  ok: packed(list(ConsoleUser, consoleUserExample)),
})

export const consoleCreateUser = route({
  id: 'identity.consoleCreateUser',
  method: 'POST',
  path: '/accounts/admin/users/new',
  summary: 'Make a user',
  description:
    'The address is verified. `loginType` and `loginName` are accepted and ignored: all accounts are ' +
    'local. `sendNotify` sends the user a mail, without the password.',
  body: body(AdminCreateUserPayload, {
    loginType: '0-0',
    userName: 'ada',
    email: 'ada@example.org',
    password: 'a long passphrase',
  }),
  ok: json(201, ConsoleUser, consoleUserExample),
  failures: [UserNameRefused, UserNameTaken, EmailInvalid, EmailTaken, PasswordTooWeak],
})

export const consoleEditUser = route({
  id: 'identity.consoleEditUser',
  method: 'POST',
  path: '/accounts/admin/users/{userid}',
  summary: 'Update a user; omitted fields do not change, an empty string clears',
  description:
    'An empty password does not change the password. `disableTwoFactor` removes the second factor and ends ' +
    'the sessions. Returns 409 if it would leave no active site administrator.',
  refusesSudo: true,
  params: UserIdPath,
  body: body(AdminEditUserPayload, { loginType: '0-0', email: 'ada@example.org', fullName: 'Ada King', active: true }),
  ok: json(200, ConsoleUser, consoleUserExample),
  failures: [UserMissing, OwnSecondFactor, LastAdmin, ProfileInvalid, EmailInvalid, EmailTaken, PasswordTooWeak],
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
  description: 'Each with the time after which it is removed permanently.',
  ok: packed(
    list(DeletedAccount, {
      ID: 7,
      Name: 'ada',
      FullName: 'Ada Lovelace',
      Email: 'ada@example.org',
      DeactivatedUnix: 1795248000,
      DeactivatedBy: 'ada',
      PurgedAfterUnix: 1797840000,
    }),
  ),
})

export const consoleReactivate = route({
  id: 'identity.consoleReactivate',
  method: 'POST',
  path: '/accounts/admin/users/deleted_accounts/{id}/reactivate',
  summary: 'Restore a deactivated account',
  description: 'Restores everything except access tokens and sessions.',
  params: request(
    {
      id: described(pathId<UserId>('user'), 'The id of the deactivated user, from 1.'),
    },
    'DeletedAccountPath',
  ),
  ok: empty(200),
  failures: [UserMissing],
})

const PurgedAccounts = answer(
  {
    removed: described(SafeInteger, 'The number of accounts that were removed.'),
    kept: described(
      SafeInteger,
      'The number of accounts that stay, because they are the only owner of an organization or own a cluster.',
    ),
  },
  'PurgedAccounts',
)

export const consolePurge = route({
  id: 'identity.consolePurge',
  method: 'DELETE',
  path: '/accounts/admin/delete/inactive-users',
  summary: 'Remove deactivated and unconfirmed accounts permanently',
  description:
    'Removes all accounts that were deactivated, and those that were not confirmed within a day. Accounts ' +
    'that an administrator made inactive stay. `kept` is the number of accounts that stay because they are ' +
    'the only owner of an organization, or own a cluster.',
  ok: json(200, PurgedAccounts, { removed: 2, kept: 0 }),
})

export const consoleTestMail = route({
  id: 'identity.consoleTestMail',
  method: 'POST',
  path: '/accounts/admin/config/test_mail',
  summary: 'Send a test mail',
  description:
    'The mail is queued like every other mail: it is sent within seconds if mail is configured, and waits otherwise.',
  query: request(
    {
      email: described(naming(freeText(320), 'user', 'email'), 'The address that gets the test mail.'),
    },
    'TestMailQuery',
  ),
  ok: empty(200, 'Posted'),
  failures: [EmailInvalid],
})
