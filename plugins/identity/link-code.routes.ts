import { LinkCodeInvalid } from '../../core/identity/link-codes.ts'
import { PasswordTooWeak } from '../../core/identity/password-policy.ts'
import { TooManyAttempts } from '../../core/identity/ports.ts'
import { anyone } from '../kit/access.ts'
import { empty } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { ActivateParams, ForgotPasswordParams, ResetPasswordParams } from './codecs.ts'

const tag = 'Identity - Users & Settings'
const code = 'Zk3vWq81LmT0xYb7RcU5nHs9EdJ2oPfA'

export const confirmEmail = defineRoute({
  id: 'identity.confirmEmail',
  method: 'POST',
  path: '/user/activate',
  summary: 'Confirm an e-mail address by the code that was sent to it',
  description: 'The code is good for three hours, once. Nobody is signed in by it. An account that waits for its address becomes active.',
  tag,
  access: anyone,
  body: body(ActivateParams, { code }),
  ok: empty(200),
  failures: [LinkCodeInvalid, TooManyAttempts],
})

export const forgotPassword = defineRoute({
  id: 'identity.forgotPassword',
  method: 'POST',
  path: '/user/forgot-password',
  summary: 'Ask for a mail with which a new password can be set',
  description:
    'The answer is the same whether there is such an account or not. A mail goes out when the address is a confirmed one of an account that may sign in, at most five an hour to one address. The address that a signed-up account waits for gets its confirmation once more.',
  tag,
  access: anyone,
  body: body(ForgotPasswordParams, { email: 'ada@example.org' }),
  ok: empty(202, 'If there is such an account, a mail is on its way'),
  failures: [],
})

export const resetPassword = defineRoute({
  id: 'identity.resetPassword',
  method: 'POST',
  path: '/user/reset-password',
  summary: 'Set a new password by the code of a mail',
  description:
    'The code is good for 30 minutes, once; a password that is refused does not use it up. Ends all sessions of the account. Access tokens and the second factor stay, and nobody is signed in.',
  tag,
  access: anyone,
  body: body(ResetPasswordParams, { code, password: 'another long phrase' }),
  ok: empty(200),
  failures: [LinkCodeInvalid, PasswordTooWeak, TooManyAttempts],
})
