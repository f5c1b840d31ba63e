import { UserNameRefused } from '../../core/identity/create-user.ts'
import { EmailInvalid } from '../../core/identity/email-address.ts'
import { PasswordTooWeak } from '../../core/identity/password-policy.ts'
import { EmailTaken, TooManyAttempts, UserNameTaken } from '../../core/identity/ports.ts'
import { siteAdmin, write } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { CreateUserOption, User, userExample } from './codecs.ts'

const tag = 'Administration'

export const adminCreateUser = defineRoute({
  id: 'identity.adminCreateUser',
  method: 'POST',
  path: '/admin/users',
  summary: 'Make a user',
  description: 'The address counts as verified. A password that the policy refuses is 400.',
  tag,
  access: siteAdmin,
  scope: write('admin'),
  body: body(CreateUserOption, { username: 'ada', email: 'ada@example.org', password: 'a long passphrase', full_name: 'Ada Lovelace' }),
  ok: json(201, User, { ...userExample, email: 'ada@example.org', active: true }),
  failures: [UserNameRefused, UserNameTaken, EmailInvalid, EmailTaken, PasswordTooWeak, TooManyAttempts],
  statusOf: { PasswordTooWeak: 400 },
})
