import { left, right } from 'fp-ts/lib/Either.js'
import { makeEditUser } from '../../core/identity/edit-user.ts'
import { userMissing } from '../../core/identity/find-user.ts'
import { presentFields, ProfileInvalid } from '../../core/identity/profile-rules.ts'
import { makeRenameUser } from '../../core/identity/rename-user.ts'
import type { User } from '../../core/identity/types.ts'
import { accountNameKey } from '../../core/kernel/ids.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { mapPage } from '../../core/kernel/page.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import { adminGetUser, adminListEmails, adminRenameUser, adminSearchEmails, adminUpdateProfile } from './admin-account.routes.ts'
import { emailWire } from './email-wire.ts'
import type { IdentityGiven } from './needs.ts'
import { passwordPolicyOf } from './password-policy-of.ts'
import { profileWire } from './profile-wire.ts'
import { searchTextOf } from './user-listing.ts'
import { placeOf, userWire, viewerOf } from './user-wire.ts'

/** The id that a text of digits is; 0, which nobody has, for what no id can be. */
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
      return edit(call, params.username, presentFields({ fullName, hideEmail, ...rest }))
    }),
    handle(adminRenameUser, ({ call, params, body }) => rename(call, params.username, body.new_username)),
  ]
}
