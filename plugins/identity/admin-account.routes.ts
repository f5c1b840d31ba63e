import { UserNameRefused } from '../../core/identity/create-user.ts'
import { EmailInvalid } from '../../core/identity/email-address.ts'
import { LastAdmin } from '../../core/identity/edit-user.ts'
import { UserMissing } from '../../core/identity/find-user.ts'
import { PasswordTooWeak } from '../../core/identity/password-policy.ts'
import { EmailTaken, TooManyAttempts, UserNameTaken } from '../../core/identity/ports.ts'
import { ProfileInvalid } from '../../core/identity/profile-rules.ts'
import { read, siteAdmin, write } from '../kit/access.ts'
import { freeText, optional, request } from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { Email, Profile, ProfileParams, User, UserPath } from './codecs.ts'
import { emailExample, fullUserExample, profileExample } from './examples.ts'

const tag = 'Administration'
const RenameUserOption = request({ new_username: freeText(255) }, 'RenameUserOption')

export const adminListEmails = defineRoute({
  id: 'identity.adminListEmails',
  method: 'GET',
  path: '/admin/emails',
  summary: 'List the e-mail addresses of all users',
  tag,
  access: siteAdmin,
  scope: read('admin'),
  ok: list(Email, emailExample),
  failures: [],
})

export const adminSearchEmails = defineRoute({
  id: 'identity.adminSearchEmails',
  method: 'GET',
  path: '/admin/emails/search',
  summary: 'Find e-mail addresses by a part of them',
  description: 'Without regard to case; addresses that start with `q` come first.',
  tag,
  access: siteAdmin,
  scope: read('admin'),
  query: request({ q: optional(freeText(320)) }, 'AdminEmailsQuery'),
  ok: list(Email, emailExample),
  failures: [],
})

export const adminGetUser = defineRoute({
  id: 'identity.adminGetUser',
  method: 'GET',
  path: '/admin/users/{username}',
  summary: 'Show a user, whoever may see it',
  description: 'By id or by name. Digits are an id first, and a name when nobody has that id.',
  tag,
  access: siteAdmin,
  scope: read('admin'),
  params: UserPath,
  ok: json(200, User, fullUserExample),
  failures: [UserMissing],
})

export const adminUpdateProfile = defineRoute({
  id: 'identity.adminUpdateProfile',
  method: 'POST',
  path: '/admin/users/{username}/update',
  summary: "Change a user's profile; what is absent stays as it is, an empty text clears",
  description: 'The name cannot be changed here, only repeated. A new address becomes the primary one and counts as verified.',
  tag,
  access: siteAdmin,
  scope: write('admin'),
  params: UserPath,
  body: body(ProfileParams, { full_name: 'Ada King', location: 'London' }),
  ok: json(200, Profile, { ...profileExample, full_name: 'Ada King' }),
  failures: [UserMissing, LastAdmin, ProfileInvalid, EmailInvalid, EmailTaken, PasswordTooWeak, TooManyAttempts],
})

export const adminRenameUser = defineRoute({
  id: 'identity.adminRenameUser',
  method: 'POST',
  path: '/admin/users/{username}/rename',
  summary: 'Give a user another name',
  description: 'The old name leads to the user until somebody takes it. Access tokens and sessions keep working.',
  tag,
  access: siteAdmin,
  scope: write('admin'),
  params: UserPath,
  body: body(RenameUserOption, { new_username: 'ada-king' }),
  ok: empty(204),
  failures: [UserMissing, UserNameRefused, UserNameTaken],
})
