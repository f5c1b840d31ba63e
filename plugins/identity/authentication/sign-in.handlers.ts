import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeAskPasswordReset, makeResetPassword } from '../../../core/identity/authentication/password-changes.ts'
import type { SignedIn } from '../../../core/identity/authentication/sign-in.ts'
import { makeSignIn, makeSignInWithCode } from '../../../core/identity/authentication/sign-in.ts'
import { makeConfirmEmail } from '../../../core/identity/emails/confirmation.ts'
import { makeSignOut } from '../../../core/identity/sessions/sessions.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle } from '../../kit/route.ts'
import type { IdentityGiven } from '../needs.ts'
import { passwordPolicyOf } from '../needs.ts'
import { clearedCookies, cookiesOfSession } from '../sessions/session-cookies.ts'
import { confirmEmail, forgotPassword, resetPassword, signIn, signInWithCode, signOut } from './sign-in.routes.ts'

export const signInRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const { settings, csrf } = given
  const open = makeSignIn(given)
  const openWithCode = makeSignInWithCode(given)
  const end = makeSignOut(given)
  const opened = ({ sessionKey, remembered, busPass }: SignedIn) =>
    cookiesOfSession(settings, csrf, { sessionKey, remembered: remembered ?? 'none', busPass })
  return [
    handle(signIn, async ({ body, call }) => {
      const signedIn = await open(call, { login: body.username, password: secret(body.password), remember: body.remember ?? false })
      return isLeft(signedIn) ? signedIn : right(opened(signedIn.right))
    }),
    handle(signInWithCode, async ({ body, call }) => {
      const { username: login, passCode: code, remember = false } = body
      const signedIn = await openWithCode(call, { login, password: secret(body.password), code, remember })
      return isLeft(signedIn) ? signedIn : right(opened(signedIn.right))
    }),
    handle(signOut, async ({ call }) => {
      const ended = await end(call)
      return isLeft(ended) ? ended : right(clearedCookies(settings))
    }),
  ]
}

export const linkCodeRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const confirm = makeConfirmEmail(given)
  const ask = makeAskPasswordReset(given)
  const reset = makeResetPassword({ ...given, passwords: passwordPolicyOf(given) })
  return [
    handle(confirmEmail, ({ call, body }) => confirm(call, body.code)),
    handle(forgotPassword, ({ call, body }) => {
      ask(call, body.email)
      return Promise.resolve(right(undefined))
    }),
    handle(resetPassword, ({ call, body }) => reset(call, { code: body.code, password: secret(body.password) })),
  ]
}
