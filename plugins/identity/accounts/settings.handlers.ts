import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { defaultPageSizes, makeChangePageSizes } from '../../../core/identity/accounts/page-sizes.ts'
import type { PageSizes } from '../../../core/identity/accounts/ports.ts'
import { makeDeleteOwnAccount } from '../../../core/identity/accounts/removal.ts'
import { makeEditOwnProfile } from '../../../core/identity/accounts/user-changes.ts'
import { makeChangeOwnPassword } from '../../../core/identity/authentication/password-changes.ts'
import type { User } from '../../../core/identity/types.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { IdentityGiven } from '../needs.ts'
import { passwordPolicyOf } from '../needs.ts'
import { clearedCookies } from '../sessions/session-cookies.ts'
import {
  changePageSizes,
  changePassword,
  deleteAccount,
  editProfile,
  editUserSettings,
  getPageSizes,
  getProfile,
  getUserSettings,
  PasswordNeeded,
  PasswordsDiffer,
} from './settings.routes.ts'
import { profileWire } from './user-wire.ts'
import { definedFields } from '../../../core/kernel/fields.ts'

const settingsWire = (user: User) => ({
  full_name: user.fullName,
  website: user.website,
  description: user.description,
  location: user.location,
  language: user.language,
  theme: user.theme,
  diff_view_style: user.diffViewStyle,
  hide_email: user.hideEmail,
  hide_activity: user.hideActivity,
})

export const settingsRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const edit = makeEditOwnProfile(given)
  const change = makeChangeOwnPassword({ ...given, passwords: passwordPolicyOf(given) })
  const deleteOwn = makeDeleteOwnAccount(given)
  const caller = async (id: UserId): Promise<User> => {
    const user = await given.stores.users.byId(id)
    if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
    return user
  }
  return [
    handle(getUserSettings, async ({ call }) => right(settingsWire(await caller(call.principal.userId)))),
    handleChange(editUserSettings, settingsWire, ({ call, body }) => {
      const { full_name: fullName, hide_email: hideEmail, diff_view_style: diffViewStyle, hide_activity: hideActivity, ...rest } = body
      return edit(call, definedFields({ fullName, hideEmail, diffViewStyle, hideActivity, ...rest }))
    }),
    handle(getProfile, async ({ call }) => right(profileWire(await caller(call.principal.userId)))),
    handleChange(editProfile, profileWire, ({ call, body: { full_name: fullName, keep_email_private: hideEmail, ...rest } }) =>
      edit(call, definedFields({ fullName, hideEmail, ...rest })),
    ),
    handle(changePassword, async ({ call, body }) => {
      if (body.retype !== undefined && body.retype !== body.password) return left(PasswordsDiffer('The two new passwords must not differ.'))
      return change(call, {
        oldPassword: secret(body.old_password),
        password: secret(body.password),
        revokesTokens: body.revoke_tokens ?? false,
      })
    }),
    handle(deleteAccount, async ({ call, body: { password, passCode } }) => {
      if (password === undefined) return left(PasswordNeeded('password: must be in the JSON body.'))
      const deleted = await deleteOwn(call, { password: secret(password), passCode })
      return isLeft(deleted) ? deleted : right(clearedCookies(given.settings))
    }),
  ]
}

const pageSizesWire = ({ productUi, consoleUi, platformUi }: PageSizes) => ({ productUI: productUi, consoleUI: consoleUi, platformUI: platformUi })

export const pageSizeRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const change = makeChangePageSizes(given)
  return [
    handle(getPageSizes, async ({ call }) => right(pageSizesWire((await given.stores.pageSizes.find(call.principal.userId)) ?? defaultPageSizes))),
    handleChange(changePageSizes, pageSizesWire, ({ call, body }) =>
      change(call, definedFields({ productUi: body.productUI, consoleUi: body.consoleUI, platformUi: body.platformUI })),
    ),
  ]
}
