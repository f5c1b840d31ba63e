import { PasswordTooWeak } from '../../../core/identity/authentication/password-policy.ts'
import { SecondFactorNeeded, SignInProhibited, SignInRefused } from '../../../core/identity/authentication/sign-in.ts'
import { LinkCodeInvalid } from '../../../core/identity/emails/link-codes.ts'
import { EmailTaken, OneTimeCodeRequired, TooManyAttempts } from '../../../core/identity/ports.ts'
import { anyone, read, signedIn } from '../../kit/access.ts'
import { cookies, empty } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import { ActivateParams, ForgotPasswordParams, ResetPasswordParams, SignInParams, SignInTwoFactorParams } from '../codecs.ts'

const tag = 'Identity - Users & Settings'

const whatIsSet =
  'Sets the session cookie and `_csrf`, whose value changes must repeat in the header `X-Csrf-Token`. A session ends after an hour without use and after a day in any case, unless the operator chose otherwise. With `remember`, a second cookie opens a new session when this one is over, at most for 30 days; its value changes each time. Where the message bus takes browsers, a cookie for its path is set as well.'

export const signIn = defineRoute({
  id: 'identity.signIn',
  method: 'POST',
  path: '/user/signin',
  summary: 'Sign in with name (or verified e-mail address) and password',
  description: `${whatIsSet} An account with a second factor is answered 405 with the code \`SecondFactorNeeded\` and signs in by \`POST /user/signin/twofa\`.`,
  tag,
  access: anyone,
  beforePasswordChange: true,
  body: body(SignInParams, { username: 'ada', password: 'a long passphrase', remember: false }, { malformedAs: 422 }),
  ok: cookies(200, 'Signed in, cookies set'),
  // 409 is the specification's status for an external source that would create a user whose address is in use.
  failures: [SignInRefused, SignInProhibited, SecondFactorNeeded, TooManyAttempts, EmailTaken],
  statusOf: { EmailTaken: 409 },
})

export const signInWithCode = defineRoute({
  id: 'identity.signInWithCode',
  method: 'POST',
  path: '/user/signin/twofa',
  summary: 'Sign in with password and a one-time code',
  description: `\`passCode\` is a code of the authenticator app or a recovery code; it counts once. It is not looked at before the password was right, nor where the account has no second factor. ${whatIsSet}`,
  tag,
  access: anyone,
  beforePasswordChange: true,
  body: body(SignInTwoFactorParams, { username: 'ada', password: 'a long passphrase', passCode: '492039', remember: false }, { malformedAs: 422 }),
  ok: cookies(200, 'Signed in, cookies set'),
  failures: [SignInRefused, SignInProhibited, OneTimeCodeRequired, TooManyAttempts],
})

export const signOut = defineRoute({
  id: 'identity.signOut',
  method: 'GET',
  path: '/user/signout',
  summary: 'End the session and its remembered login, and clear all cookies',
  tag,
  access: signedIn,
  scope: read('user'),
  refusesSudo: true,
  beforePasswordChange: true,
  ok: cookies(200, 'Signed out, cookies cleared'),
  failures: [],
})

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
