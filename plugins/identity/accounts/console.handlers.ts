import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { laterByDays, unixSeconds } from '../../../core/kernel/clock.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { DeactivatedAccount } from '../../../core/identity/accounts/ports.ts'
import { makeCreateUser } from '../../../core/identity/accounts/user-creation.ts'
import { reactivationDays, makeDeleteUser, makePurgeAccounts, makeReactivateAccount } from '../../../core/identity/accounts/removal.ts'
import { makeEditUser } from '../../../core/identity/accounts/user-changes.ts'
import { userMissing } from '../../../core/identity/accounts/users.ts'
import { ownSecondFactorRefusal } from '../../../core/identity/second-factor/reset.ts'
import { makeSendTestMail } from '../../../core/identity/accounts/site-rules.ts'
import type { User } from '../../../core/identity/types.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import {
  consoleCreateUser, consoleDeleteUser, consoleEditUser, consoleListDeleted, consoleListUsers, consolePurge, consoleReactivate,
  consoleTestMail,
} from './console.routes.ts'
import type { IdentityGiven } from '../needs.ts'
import { passwordPolicyOf } from '../needs.ts'
import { listingOf, searchTextOf } from './user-listing.ts'
import { definedFields } from '../../../core/kernel/fields.ts'

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

const loginOf = async ({ stores }: IdentityGiven, id: number): Outcome<Failure<'UserMissing'>, string> => {
  const user = await stores.users.byId(id as UserId)
  return user === undefined ? left(userMissing()) : right(user.login)
}

const userRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const deps = { ...given, passwords: passwordPolicyOf(given) }
  const create = makeCreateUser(deps)
  const edit = makeEditUser(deps)
  const remove = makeDeleteUser(given)
  return [
    handle(consoleListUsers, async ({ query, page }) => {
      const listing = listingOf(query)
      if (listing === undefined) return right({ items: [], total: 0 })
      return right(mapPage(await given.stores.users.list(searchTextOf(query.q), page, listing), consoleUser))
    }),
    handleChange(consoleCreateUser, consoleUser, ({ call, body }) =>
      create(call, {
        login: body.userName,
        email: body.email,
        password: secret(body.password ?? ''),
        fullName: body.fullName,
        mustChangePassword: body.mustChangePassword ?? true,
        sendsNotice: body.sendNotify,
      }),
    ),
    handleChange(consoleEditUser, consoleUser, async ({ call, params, body }) => {
      const login = await loginOf(given, params.userid)
      if (isLeft(login)) return login
      const removesSecondFactor = body.disableTwoFactor === true
      const refused = removesSecondFactor ? ownSecondFactorRefusal(call, params.userid as UserId) : undefined
      if (refused !== undefined) return left(refused)
      const { loginType: _type, loginName: _name, disableTwoFactor: _disables, active: isActive, admin: isAdmin, password, ...rest } = body
      const newPassword = password === undefined || password === '' ? undefined : secret(password)
      return edit(call, login.right, { ...definedFields({ ...rest, isActive, isAdmin, password: newPassword }), removesSecondFactor })
    }),
    handle(consoleDeleteUser, async ({ call, params }) => {
      const login = await loginOf(given, params.userid)
      return isLeft(login) ? login : remove(call, login.right)
    }),
  ]
}

export const consoleRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const reactivate = makeReactivateAccount(given)
  const purge = makePurgeAccounts(given)
  const sendTestMail = makeSendTestMail(given)
  return [
    ...userRoutes(given),
    handle(consoleListDeleted, async ({ page }) => right(mapPage(await given.stores.accountLife.deactivated(page), deletedAccount))),
    handle(consoleReactivate, ({ call, params }) => reactivate(call, params.id as UserId)),
    handle(consolePurge, async ({ call }) => right(await purge(call, { deactivated: 0, unconfirmed: 1 }))),
    handle(consoleTestMail, ({ call, query }) => sendTestMail(call, query.email)),
  ]
}
