import { OldPasswordWrong } from '../../core/identity/change-own-password.ts'
import { PasswordTooWeak } from '../../core/identity/password-policy.ts'
import { TooManyAttempts } from '../../core/identity/ports.ts'
import { ProfileInvalid } from '../../core/identity/profile-rules.ts'
import { defineFailure } from '../../core/kernel/failure.ts'
import { read, signedIn, write } from '../kit/access.ts'
import { empty, json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { Profile, ProfileParams, UpdatePasswordParams, UserSettings, UserSettingsOptions } from './codecs.ts'

const tag = 'Identity - Users & Settings'

export const PasswordsDiffer = defineFailure('PasswordsDiffer', 'Unprocessable')

const settingsExample = {
  full_name: 'Ada Lovelace',
  website: '',
  description: '',
  location: 'London',
  language: 'en-US',
  theme: '',
  diff_view_style: '',
  hide_email: true,
  hide_activity: false,
}
const profileExample = {
  name: 'ada',
  full_name: 'Ada Lovelace',
  email: 'ada@example.org',
  keep_email_private: true,
  website: '',
  location: 'London',
  language: 'en-US',
  description: '',
}

export const getUserSettings = defineRoute({
  id: 'identity.getUserSettings',
  method: 'GET',
  path: '/user/settings',
  summary: "Show the caller's settings",
  description: 'theme, diff_view_style and hide_activity are constant: nothing here uses them.',
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
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(UserSettingsOptions, { full_name: 'Ada Lovelace', location: '' }),
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
  body: body(UpdatePasswordParams, { old_password: 'a long passphrase', password: 'another long phrase', retype: 'another long phrase' }),
  ok: empty(200),
  failures: [OldPasswordWrong, PasswordTooWeak, PasswordsDiffer, TooManyAttempts],
})
