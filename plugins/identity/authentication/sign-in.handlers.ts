import { makeAskPasswordReset, makeResetPassword } from '../../../core/identity/authentication/passwords.ts'
import { AllowancesToken, AttemptThrottleToken, OnLockedToken } from '../../../core/identity/attempt-ports.ts'
import type { SignedIn } from '../../../core/identity/authentication/sign-in.ts'
import { makeSignIn, makeSignInWithCode } from '../../../core/identity/authentication/sign-in.ts'
import { makeConfirmEmail } from '../../../core/identity/emails/link-codes.ts'
import {
  BackgroundToken,
  CommonPasswordsToken,
  CredentialStoreToken,
  CsrfTokensToken,
  DomainNamesToken,
  IdentitySettingsToken,
  IdentityStoresToken,
  IdentityUnitOfWorkToken,
  PasswordHasherToken,
  TokenDigestToken,
} from '../../../core/identity/ports.ts'
import { UseOneTimeCodeToken } from '../../../core/identity/second-factor/ports.ts'
import { BusPassesToken } from '../../../core/identity/sessions/ports.ts'
import { makeSignOut } from '../../../core/identity/sessions/sessions.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { EntropyToken, secret } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { passwordPolicyOf } from '../passwords.ts'
import { clearedCookies, cookiesOfSession } from '../sessions/session-cookies.ts'
import { confirmEmail, forgotPassword, resetPassword, signIn, signInWithCode, signOut } from './sign-in.routes.ts'

export const signInGroup = defineGroup({
  needs: {
    busPasses: BusPassesToken,
    clock: ClockToken,
    credentials: CredentialStoreToken,
    csrf: CsrfTokensToken,
    digest: TokenDigestToken,
    entropy: EntropyToken,
    domains: DomainNamesToken,
    hasher: PasswordHasherToken,
    onLocked: OnLockedToken,
    settings: IdentitySettingsToken,
    throttle: AttemptThrottleToken,
    unitOfWork: IdentityUnitOfWorkToken,
    useOneTimeCode: UseOneTimeCodeToken,
  },
  routes: (given) => {
    const { settings, csrf } = given
    const opened = ({ sessionKey, remembered, busPass }: SignedIn) =>
      cookiesOfSession(settings, csrf, { sessionKey, remembered: remembered ?? 'none', busPass })
    return [
      handle(signIn, makeSignIn(given), {
        input: ({ body }) => ({
          login: body.username,
          password: secret(body.password),
          remember: body.remember ?? false,
        }),
        reply: opened,
      }),
      handle(signInWithCode, makeSignInWithCode(given), {
        input: ({ body }) => ({
          login: body.username,
          password: secret(body.password),
          code: body.passCode,
          remember: body.remember ?? false,
        }),
        reply: opened,
      }),
      handle(signOut, makeSignOut(given), { reply: () => clearedCookies(settings) }),
    ]
  },
})

export const linkCodeGroup = defineGroup({
  needs: {
    allowances: AllowancesToken,
    background: BackgroundToken,
    clock: ClockToken,
    commonPasswords: CommonPasswordsToken,
    credentials: CredentialStoreToken,
    digest: TokenDigestToken,
    domains: DomainNamesToken,
    entropy: EntropyToken,
    hasher: PasswordHasherToken,
    onLocked: OnLockedToken,
    settings: IdentitySettingsToken,
    stores: IdentityStoresToken,
    throttle: AttemptThrottleToken,
    unitOfWork: IdentityUnitOfWorkToken,
  },
  routes: (given) => [
    handle(confirmEmail, makeConfirmEmail(given), { input: ({ body }) => body.code }),
    handle(forgotPassword, makeAskPasswordReset(given), { input: ({ body }) => body.email }),
    handle(resetPassword, makeResetPassword({ ...given, passwords: passwordPolicyOf(given) }), {
      input: ({ body }) => ({ code: body.code, password: secret(body.password) }),
    }),
  ],
})
