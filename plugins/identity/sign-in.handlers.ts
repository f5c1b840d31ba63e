import { isLeft, right } from 'fp-ts/lib/Either.js'
import { secret } from '../../core/kernel/secret.ts'
import { makeSignOut } from '../../core/identity/end-sessions.ts'
import { makeSignIn } from '../../core/identity/sign-in.ts'
import type { SignedIn } from '../../core/identity/sign-in.ts'
import { makeSignInWithCode } from '../../core/identity/sign-in-with-code.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { clearedCookies, cookiesOfSession } from './session-cookies.ts'
import { signIn, signInWithCode, signOut } from './sign-in.routes.ts'

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
