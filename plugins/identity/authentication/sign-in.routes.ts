import { PasswordTooWeak } from '../../../core/identity/authentication/password-policy.ts'
import { SecondFactorNeeded, SignInProhibited } from '../../../core/identity/access-ports.ts'
import { SignInRefused } from '../../../core/identity/authentication/sign-in.ts'
import { LinkCodeInvalid } from '../../../core/identity/emails/link-codes.ts'
import { EmailTaken, OneTimeCodeRequired, TooManyAttempts } from '../../../core/identity/ports.ts'
import { anyone, read, signedIn } from '../../kit/access.ts'
import { cookies, empty } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import {
  ActivateParams,
  ForgotPasswordParams,
  ResetPasswordParams,
  SignInParams,
  SignInTwoFactorParams,
} from '../codecs.ts'
import { signInCookie } from '../sessions/session-wire.ts'

const tag = 'Identity - Users & Settings'

const whatIsSet =
  'Sets the session cookie and the cookie `_csrf`. Changes must repeat its value in the header ' +
  '`X-Csrf-Token`. A session ends after an hour without use and after a day in any case, unless the ' +
  'operator configured otherwise. With `remember`, a second cookie opens a new session after the end of ' +
  'this one, for at most 30 days; its value changes each time. If the message bus accepts browsers, a ' +
  'cookie for its path is set as well.'

export const signIn = defineRoute({
  id: 'identity.signIn',
  method: 'POST',
  path: '/user/signin',
  summary: 'Sign in with name (or verified e-mail address) and password',
  description:
    `${whatIsSet} Returns 405 with the code \`SecondFactorNeeded\` for an account with a second factor, ` +
    `which signs in by \`POST /user/signin/twofa\`.`,
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
  summary: 'Sign in with password and a one-time code or a passkey',
  description:
    `\`passCode\` is a code of the authenticator app or a recovery code; it is valid once. \`passkey\` is the response ` +
    `of a passkey in its place. It is checked only after the password, and only if the account has a second factor. ` +
    whatIsSet,
  tag,
  access: anyone,
  beforePasswordChange: true,
  readsCookie: signInCookie,
  body: body(
    SignInTwoFactorParams,
    { username: 'ada', password: 'a long passphrase', passCode: '492039', remember: false },
    { malformedAs: 422 },
  ),
  ok: cookies(200, 'Signed in, cookies set'),
  failures: [SignInRefused, SignInProhibited, OneTimeCodeRequired, TooManyAttempts],
})

export const signOut = defineRoute({
  id: 'identity.signOut',
  method: 'GET',
  path: '/user/signout',
  summary: 'Sign out: end the session and its remembered login, and clear all cookies',
  description: 'Other sessions and access tokens of the caller stay.',
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
  description:
    'The code is valid for three hours, once. It does not sign in. An account that waits for the ' +
    'confirmation becomes active.',
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
  summary: 'Request a mail with a code for a new password',
  description:
    'The response is the same whether the account exists or not. A mail is sent if the address is a ' +
    'confirmed one of an account that may sign in, at most five per hour to one address. If a new account ' +
    'waits for the confirmation of the address, the confirmation is sent again.',
  tag,
  access: anyone,
  body: body(ForgotPasswordParams, { email: 'ada@example.org' }),
  ok: empty(202, 'If the account exists, a mail is sent'),
  failures: [],
})

export const resetPassword = defineRoute({
  id: 'identity.resetPassword',
  method: 'POST',
  path: '/user/reset-password',
  summary: 'Set a new password by the code of a mail',
  description:
    'The code is valid for 30 minutes, once; a password that is rejected does not use it up. Ends all ' +
    'sessions of the account. Access tokens and the second factor stay. The response does not sign in.',
  tag,
  access: anyone,
  body: body(ResetPasswordParams, { code, password: 'another long phrase' }),
  ok: empty(200),
  failures: [LinkCodeInvalid, PasswordTooWeak, TooManyAttempts],
})
