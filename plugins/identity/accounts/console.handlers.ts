import { right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import type { DeactivatedAccount } from '../../../core/identity/accounts/ports.ts'
import { makeListUsers } from '../../../core/identity/accounts/profiles.ts'
import {
  makeDeleteUserById,
  makePurgeAccounts,
  makeReactivateAccount,
  reactivationDays,
} from '../../../core/identity/accounts/removal.ts'
import { makeSendTestMail } from '../../../core/identity/site-rules.ts'
import { makeEditUserById } from '../../../core/identity/accounts/user-changes.ts'
import { makeCreateUser } from '../../../core/identity/accounts/users.ts'
import {
  CommonPasswordsPort,
  DomainNamesPort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
  PasswordHasherPort,
} from '../../../core/identity/ports.ts'
import type { User } from '../../../core/identity/types.ts'
import { ClockPort, laterByDays, unixSeconds } from '../../../core/kernel/clock.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { optionalSecret, secret } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { passwordPolicyOf } from '../passwords.ts'
import type { AdminEditUserPayload } from './console.routes.ts'
import {
  consoleCreateUser,
  consoleDeleteUser,
  consoleEditUser,
  consoleListDeleted,
  consoleListUsers,
  consolePurge,
  consoleReactivate,
  consoleTestMail,
} from './console.routes.ts'
import { listingOf, searchTextOf } from './user-wire.ts'

const consoleUser = (user: User) => ({
  ID: user.id,
  Name: user.login,
  FullName: user.fullName,
  Email: user.primaryEmail,
  IsActive: user.isActive,
  IsAdmin: user.isAdmin,
  IsRestricted: user.restricted,
  ProhibitLogin: user.prohibitLogin,
  AllowCreateOrganization: user.allowCreateOrganization,
  MustChangePassword: user.mustChangePassword,
  LoginType: 0,
  LoginName: user.login,
  Website: user.website,
  Location: user.location,
  Visibility: user.visibility,
  CreatedUnix: unixSeconds(user.createdAt),
  LastLoginUnix: unixSeconds(user.lastLoginAt),
})

const deletedAccount = (account: DeactivatedAccount) => ({
  ID: account.userId,
  Name: account.login,
  FullName: account.fullName,
  Email: account.primaryEmail,
  DeactivatedUnix: unixSeconds(account.deactivatedAt),
  DeactivatedBy: account.deactivatedBy ?? '',
  PurgedAfterUnix: unixSeconds(laterByDays(account.deactivatedAt, reactivationDays)),
})

/**
 * An empty password does not change the password. All accounts are local, so the type and the name of the login are
 * ignored.
 */
const editOf = ({
  active: isActive,
  admin: isAdmin,
  password,
  disableTwoFactor,
  loginType: _type,
  loginName: _name,
  ...rest
}: t.TypeOf<typeof AdminEditUserPayload>) => ({
  ...definedFields({ ...rest, isActive, isAdmin, password: optionalSecret(password === '' ? undefined : password) }),
  removesSecondFactor: disableTwoFactor === true,
})

export const consoleGroup = defineGroup({
  needs: {
    clock: ClockPort,
    commonPasswords: CommonPasswordsPort,
    domains: DomainNamesPort,
    hasher: PasswordHasherPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    unitOfWork: IdentityUnitOfWorkPort,
  },
  routes: (given) => {
    const deps = { ...given, passwords: passwordPolicyOf(given) }
    return [
      handle(consoleListUsers, makeListUsers(given), {
        input: ({ query, page }) => ({ text: searchTextOf(query.q, given.domains), page, listing: listingOf(query) }),
        reply: consoleUser,
      }),
      handle(consoleCreateUser, makeCreateUser(deps), {
        input: ({ body }) => ({
          login: body.userName,
          email: body.email,
          password: secret(body.password ?? ''),
          fullName: body.fullName,
          mustChangePassword: body.mustChangePassword ?? true,
          sendsNotice: body.sendNotify,
        }),
        reply: consoleUser,
      }),
      handle(consoleEditUser, makeEditUserById(deps), {
        input: ({ params, body }) => ({ id: params.userid, ...editOf(body) }),
        reply: consoleUser,
      }),
      handle(consoleDeleteUser, makeDeleteUserById(given), { input: ({ params }) => params.userid }),
      handle(consoleListDeleted, async (_call, { page }) => right(await given.stores.accountLife.deactivated(page)), {
        reply: deletedAccount,
      }),
      handle(consoleReactivate, makeReactivateAccount(given), { input: ({ params }) => params.id }),
      handle(consolePurge, makePurgeAccounts(given), {
        input: () => ({ deactivated: 0, unconfirmed: 1 }),
        reply: (purged) => purged,
      }),
      handle(consoleTestMail, makeSendTestMail(given), { input: ({ query }) => query.email }),
    ]
  },
})
