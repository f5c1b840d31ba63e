import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../../core/kernel/ids.ts'
import { secret } from '../../core/kernel/secret.ts'
import { makeChangeOwnPassword } from '../../core/identity/change-own-password.ts'
import { makeDeleteOwnAccount } from '../../core/identity/delete-own-account.ts'
import { makeEditOwnProfile } from '../../core/identity/edit-own-profile.ts'
import { presentFields } from '../../core/identity/profile-rules.ts'
import type { User } from '../../core/identity/types.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { passwordPolicyOf } from './password-policy-of.ts'
import { profileWire } from './profile-wire.ts'
import { clearedCookies } from './session-cookies.ts'
import {
  changePassword, deleteAccount, editProfile, editUserSettings, getProfile, getUserSettings, PasswordNeeded, PasswordsDiffer,
} from './settings.routes.ts'

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
    if (user === undefined) throw new Error('the account of a proven caller is gone')
    return user
  }
  return [
    handle(getUserSettings, async ({ call }) => right(settingsWire(await caller(call.principal.userId)))),
    handleChange(editUserSettings, settingsWire, ({ call, body }) => {
      const { full_name: fullName, hide_email: hideEmail, diff_view_style: diffViewStyle, hide_activity: hideActivity, ...rest } = body
      return edit(call, presentFields({ fullName, hideEmail, diffViewStyle, hideActivity, ...rest }))
    }),
    handle(getProfile, async ({ call }) => right(profileWire(await caller(call.principal.userId)))),
    handleChange(editProfile, profileWire, ({ call, body: { full_name: fullName, keep_email_private: hideEmail, ...rest } }) =>
      edit(call, presentFields({ fullName, hideEmail, ...rest })),
    ),
    handle(changePassword, async ({ call, body }) => {
      if (body.retype !== undefined && body.retype !== body.password) return left(PasswordsDiffer('The two new passwords differ.'))
      return change(call, {
        oldPassword: secret(body.old_password),
        password: secret(body.password),
        revokesTokens: body.revoke_tokens ?? false,
      })
    }),
    handle(deleteAccount, async ({ call, body: { password, passCode } }) => {
      if (password === undefined) return left(PasswordNeeded('Send the password of the account in the JSON body, as password.'))
      const deleted = await deleteOwn(call, { password: secret(password), passCode })
      return isLeft(deleted) ? deleted : right(clearedCookies(given.settings))
    }),
  ]
}
