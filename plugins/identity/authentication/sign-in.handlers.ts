import { makeAskPasswordReset, makeResetPassword } from '../../../core/identity/authentication/passwords.ts'
import { AllowancesPort, AttemptThrottlePort, OnLockedPort } from '../../../core/identity/attempt-ports.ts'
import type { SignedIn } from '../../../core/identity/authentication/sign-in.ts'
import { makeSignIn, makeSignInWithCode } from '../../../core/identity/authentication/sign-in.ts'
import { makeConfirmEmail } from '../../../core/identity/emails/link-codes.ts'
import {
  BackgroundPort,
  CommonPasswordsPort,
  CredentialStorePort,
  CsrfTokensPort,
  DomainNamesPort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
  PasswordHasherPort,
  TokenDigestPort,
} from '../../../core/identity/ports.ts'
import { UseOneTimeCodePort } from '../../../core/identity/second-factor/ports.ts'
import { BusPassesPort } from '../../../core/identity/sessions/ports.ts'
import { makeSignOut } from '../../../core/identity/sessions/sessions.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, secret } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { passwordPolicyOf } from '../passwords.ts'
import { clearedCookies, cookiesOfSession } from '../sessions/session-wire.ts'
import { confirmEmail, forgotPassword, resetPassword, signIn, signInWithCode, signOut } from './sign-in.routes.ts'

export const signInGroup = defineGroup({
  needs: {
    busPasses: BusPassesPort,
    clock: ClockPort,
    credentials: CredentialStorePort,
    csrf: CsrfTokensPort,
    digest: TokenDigestPort,
    entropy: EntropyPort,
    domains: DomainNamesPort,
    hasher: PasswordHasherPort,
    onLocked: OnLockedPort,
    settings: IdentitySettingsPort,
    throttle: AttemptThrottlePort,
    unitOfWork: IdentityUnitOfWorkPort,
    useOneTimeCode: UseOneTimeCodePort,
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
        input: ({ body, cookie }) => ({
          login: body.username,
          password: secret(body.password),
          code: body.passCode,
          passkey: body.passkey && { response: body.passkey, browser: cookie },
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
    allowances: AllowancesPort,
    background: BackgroundPort,
    clock: ClockPort,
    commonPasswords: CommonPasswordsPort,
    credentials: CredentialStorePort,
    digest: TokenDigestPort,
    domains: DomainNamesPort,
    entropy: EntropyPort,
    hasher: PasswordHasherPort,
    onLocked: OnLockedPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    throttle: AttemptThrottlePort,
    unitOfWork: IdentityUnitOfWorkPort,
  },
  routes: (given) => [
    handle(confirmEmail, makeConfirmEmail(given), { input: ({ body }) => body.code }),
    handle(forgotPassword, makeAskPasswordReset(given), { input: ({ body }) => body.email }),
    handle(resetPassword, makeResetPassword({ ...given, passwords: passwordPolicyOf(given) }), {
      input: ({ body }) => ({ code: body.code, password: secret(body.password) }),
    }),
  ],
})
