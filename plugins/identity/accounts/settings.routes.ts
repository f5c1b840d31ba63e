import { PageSizeInvalid } from '../../../core/identity/accounts/page-sizes.ts'
import { AccountInUse } from '../../../core/identity/accounts/removal.ts'
import { ProfileInvalid } from '../../../core/identity/accounts/users.ts'
import { OwnPasswordWrong, ProofRequired } from '../../../core/identity/authentication/credentials.ts'
import { PasswordTooWeak } from '../../../core/identity/authentication/password-policy.ts'
import { NotAuthenticated, TooManyAttempts } from '../../../core/identity/ports.ts'
import { defineFailure } from '../../../core/kernel/failure.ts'
import { read, signedIn, write } from '../../kit/access.ts'
import { cookies, empty, json } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import {
  DeleteAccountParams,
  Pagination,
  PaginationParams,
  Profile,
  profileExample,
  ProfileParams,
  UpdatePasswordParams,
  UserSettings,
  UserSettingsOptions,
} from '../codecs.ts'

const tag = 'Identity - Users & Settings'

export const PasswordsDiffer = defineFailure('PasswordsDiffer', 'Unprocessable')
export const PasswordNeeded = defineFailure('PasswordNeeded', 'Unprocessable')

const settingsExample = {
  full_name: 'Ada Lovelace',
  website: '',
  description: '',
  location: 'London',
  language: 'en-US',
  theme: 'dark',
  diff_view_style: 'split',
  hide_email: true,
  hide_activity: false,
}

export const getUserSettings = defineRoute({
  id: 'identity.getUserSettings',
  method: 'GET',
  path: '/user/settings',
  summary: "Show the caller's settings",
  description: '`theme`, `diff_view_style` and `hide_activity` are kept for user interfaces: nothing here reads them.',
  tag,
  access: signedIn,
  scope: read('user'),
  ok: json(200, UserSettings, settingsExample),
  failures: [],
})

export const editUserSettings = defineRoute({
  id: 'identity.editUserSettings',
  method: 'PATCH',
  path: '/user/settings',
  summary: "Change the caller's settings; what is absent stays as it is",
  description: 'An empty text clears a field. `language` is a BCP 47 tag; `de_de` is read as `de-DE`.',
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(UserSettingsOptions, { full_name: 'Ada Lovelace', location: '', theme: 'dark' }),
  ok: json(200, UserSettings, settingsExample),
  failures: [ProfileInvalid],
})

export const getProfile = defineRoute({
  id: 'identity.getProfile',
  method: 'GET',
  path: '/user/settings/profile',
  summary: "Show the caller's profile",
  tag,
  access: signedIn,
  scope: read('user'),
  ok: json(200, Profile, profileExample),
  failures: [],
})

export const editProfile = defineRoute({
  id: 'identity.editProfile',
  method: 'POST',
  path: '/user/settings/profile',
  summary: "Change the caller's profile; what is absent stays as it is",
  description: '`email` must be a verified address of the caller and becomes the primary one. `name` cannot be changed here.',
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(ProfileParams, { full_name: 'Ada Lovelace', keep_email_private: true }),
  ok: json(200, Profile, profileExample),
  failures: [ProfileInvalid],
})

export const changePassword = defineRoute({
  id: 'identity.changePassword',
  method: 'POST',
  path: '/user/settings/account/password',
  summary: "Change the caller's password",
  description: "Ends all the caller's other sessions. Access tokens stay unless `revoke_tokens` is true.",
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  beforePasswordChange: true,
  body: body(UpdatePasswordParams, { old_password: 'a long passphrase', password: 'another long phrase', retype: 'another long phrase' }),
  ok: empty(200),
  failures: [OwnPasswordWrong, PasswordTooWeak, PasswordsDiffer, TooManyAttempts],
})

export const deleteAccount = defineRoute({
  id: 'identity.deleteAccount',
  method: 'POST',
  path: '/user/settings/account/delete',
  summary: "Delete the caller's own account",
  description:
    'The password stands in the body, whatever proved the caller; one in the query string is not looked at (422). An account with a second factor sends `passCode` as well, a one-time code or a recovery code, or HTTP Basic with a one-time code in `X-OTP`. The account is inactive at once, its sessions end and its access tokens are removed; an administrator can bring it back for 30 days. 422 with a list of what is in the way: organizations of which nobody else is an owner, clusters, or being the last active site administrator.',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  body: body(DeleteAccountParams, { password: 'a long passphrase', passCode: '492039' }, { whenAbsent: {} }),
  ok: cookies(200, 'Deleted, cookies cleared'),
  failures: [PasswordNeeded, OwnPasswordWrong, ProofRequired, AccountInUse, NotAuthenticated, TooManyAttempts],
})

const path = '/user/settings/pagination'
const example = { productUI: 10, consoleUI: 10, platformUI: 25 }

export const getPageSizes = defineRoute({
  id: 'identity.getPageSizes',
  method: 'GET',
  path,
  summary: 'Show how many rows a page of each user interface has',
  description: 'A memory for user interfaces, 10 until something was chosen. The lists of this interface take `limit` instead.',
  tag,
  access: signedIn,
  scope: read('user'),
  ok: json(200, Pagination, example),
  failures: [],
})

export const changePageSizes = defineRoute({
  id: 'identity.changePageSizes',
  method: 'POST',
  path,
  summary: 'Choose how many rows a page of each user interface has',
  description: '1 to 1,000; what is absent stays as it is.',
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(PaginationParams, { platformUI: 25 }),
  ok: json(200, Pagination, example),
  failures: [PageSizeInvalid],
})
