import { PageSizeInvalid } from '../../../core/identity/accounts/profiles.ts'
import { AccountInUse, PasswordNeeded } from '../../../core/identity/accounts/removal.ts'
import { ProfileInvalid } from '../../../core/identity/accounts/users.ts'
import { ProofRequired } from '../../../core/identity/access-ports.ts'
import { OwnPasswordWrong } from '../../../core/identity/credentials.ts'
import { PasswordsDiffer, PasswordTooWeak } from '../../../core/identity/authentication/password-policy.ts'
import { NotAuthenticated, TooManyAttempts } from '../../../core/identity/ports.ts'
import { signedIn } from '../../kit/access.ts'
import { cookies, empty, json } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { Profile, profileExample } from '../codecs.ts'
import {
  DeleteAccountParams,
  Pagination,
  PaginationParams,
  ProfileParams,
  UpdatePasswordParams,
  UserSettings,
  UserSettingsOptions,
  settingsExample,
} from './codecs.ts'

const route = routesOf({ tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' })

export const getUserSettings = route({
  id: 'identity.getUserSettings',
  method: 'GET',
  path: '/user/settings',
  summary: "Get the caller's settings",
  description:
    '`theme`, `diff_view_style` and `hide_activity` are stored for user interfaces and have no effect on this service.',
  ok: json(200, UserSettings, settingsExample),
})

export const editUserSettings = route({
  id: 'identity.editUserSettings',
  method: 'PATCH',
  path: '/user/settings',
  summary: "Update the caller's settings; omitted fields do not change",
  description: 'An empty string clears a field. `language` is a BCP 47 tag; `de_de` is read as `de-DE`.',
  body: body(UserSettingsOptions, { full_name: 'Ada Lovelace', location: '', theme: 'dark' }),
  ok: json(200, UserSettings, settingsExample),
  failures: [ProfileInvalid],
})

export const getProfile = route({
  id: 'identity.getProfile',
  method: 'GET',
  path: '/user/settings/profile',
  summary: "Get the caller's profile",
  description: 'Includes the address even if other users see a placeholder.',
  ok: json(200, Profile, profileExample),
})

export const editProfile = route({
  id: 'identity.editProfile',
  method: 'POST',
  path: '/user/settings/profile',
  summary: "Update the caller's profile; omitted fields do not change",
  description:
    '`email` must be a verified address of the caller and becomes the primary one. This route cannot change `name`.',
  body: body(ProfileParams, { full_name: 'Ada Lovelace', keep_email_private: true }),
  ok: json(200, Profile, profileExample),
  failures: [ProfileInvalid],
})

export const changePassword = route({
  id: 'identity.changePassword',
  method: 'POST',
  path: '/user/settings/account/password',
  summary: "Change the caller's password",
  description: "Ends all the caller's other sessions. Access tokens stay unless `revoke_tokens` is true.",
  refusesSudo: true,
  beforePasswordChange: true,
  body: body(UpdatePasswordParams, {
    old_password: 'a long passphrase',
    password: 'another long phrase',
    retype: 'another long phrase',
  }),
  ok: empty(200),
  failures: [OwnPasswordWrong, PasswordTooWeak, PasswordsDiffer, TooManyAttempts],
})

export const deleteAccount = route({
  id: 'identity.deleteAccount',
  method: 'POST',
  path: '/user/settings/account/delete',
  summary: "Delete the caller's own account",
  description:
    'The body must contain the password, however the caller is authenticated; a password in the query ' +
    'string is ignored (422). For an account with a second factor, `passCode` must be a one-time code or a ' +
    'recovery code, or the request uses HTTP Basic with a one-time code in `X-OTP`. The account becomes ' +
    'inactive at once, its sessions end and its access tokens are removed; an administrator can restore it ' +
    'for 30 days. Returns 422 with a list of the reasons if the account is the only owner of an ' +
    'organization, owns clusters, or is the last active site administrator.',
  refusesSudo: true,
  body: body(DeleteAccountParams, { password: 'a long passphrase', passCode: '492039' }, { whenAbsent: {} }),
  ok: cookies(200, 'Deleted, cookies cleared'),
  failures: [PasswordNeeded, OwnPasswordWrong, ProofRequired, AccountInUse, NotAuthenticated, TooManyAttempts],
})

const path = '/user/settings/pagination'
const example = { productUI: 10, consoleUI: 10, platformUI: 25 }

export const getPageSizes = route({
  id: 'identity.getPageSizes',
  method: 'GET',
  path,
  summary: 'Get the page size of each user interface',
  description: 'A stored preference for user interfaces, 10 by default. The lists of this API use `limit` instead.',
  ok: json(200, Pagination, example),
})

export const changePageSizes = route({
  id: 'identity.changePageSizes',
  method: 'POST',
  path,
  summary: 'Set the page size of each user interface',
  description: '1 to 1,000; omitted fields do not change.',
  body: body(PaginationParams, { platformUI: 25 }),
  ok: json(200, Pagination, example),
  failures: [PageSizeInvalid],
})
