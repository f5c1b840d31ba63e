import { right } from 'fp-ts/lib/Either.js'
import { AllowancesPort, AttemptThrottlePort, OnLockedPort } from '../../../core/identity/attempt-ports.ts'
import { makeOfferPasskeySignIn, makeSignInWithPasskey } from '../../../core/identity/authentication/passkey-sign-in.ts'
import {
  makeRegisterPasskey,
  makeRemovePasskey,
  makeRenamePasskey,
  makeRequestPasskey,
  makeRequestPasskeyProof,
} from '../../../core/identity/passkeys/passkeys.ts'
import { UsePasskeyPort, WebAuthnPort } from '../../../core/identity/passkey-ports.ts'
import {
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
import { ClockPort } from '../../../core/kernel/clock.ts'
import { pageWithin } from '../../../core/kernel/page.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { proofOf } from '../proof-wire.ts'
import { cookiesOfSession, signInCookieOf } from '../sessions/session-wire.ts'
import { passkeyWire, registeredWire } from './codecs.ts'
import {
  listPasskeys,
  registerPasskey,
  removePasskey,
  renamePasskey,
  requestPasskey,
  requestPasskeyProof,
  requestPasskeySignIn,
  signInWithPasskey,
} from './passkeys.routes.ts'

export const passkeyGroup = defineGroup({
  needs: {
    clock: ClockPort,
    credentials: CredentialStorePort,
    digest: TokenDigestPort,
    domains: DomainNamesPort,
    entropy: EntropyPort,
    hasher: PasswordHasherPort,
    onLocked: OnLockedPort,
    stores: IdentityStoresPort,
    throttle: AttemptThrottlePort,
    unitOfWork: IdentityUnitOfWorkPort,
    useOneTimeCode: UseOneTimeCodePort,
    webAuthn: WebAuthnPort,
  },
  routes: (given) => [
    handle(
      listPasskeys,
      async ({ principal }, { page }) => right(pageWithin(await given.stores.passkeys.list(principal.userId), page)),
      { reply: passkeyWire },
    ),
    handle(requestPasskey, makeRequestPasskey(given), {
      input: ({ body }) => ({ name: body.name, proof: proofOf(body) }),
      reply: (publicKey) => ({ publicKey }),
    }),
    handle(registerPasskey, makeRegisterPasskey(given), {
      input: ({ body }) => body,
      reply: ({ passkey, recoveryCodes }) => registeredWire(passkey, recoveryCodes),
    }),
    handle(renamePasskey, makeRenamePasskey(given), {
      input: ({ params, body }) => ({ id: params.id, name: body.name }),
      reply: passkeyWire,
    }),
    handle(removePasskey, makeRemovePasskey(given), {
      input: ({ params, body }) => ({ id: params.id, proof: proofOf(body) }),
    }),
    handle(requestPasskeyProof, makeRequestPasskeyProof(given), { reply: (publicKey) => ({ publicKey }) }),
  ],
})

export const passkeySignInGroup = defineGroup({
  needs: {
    allowances: AllowancesPort,
    busPasses: BusPassesPort,
    clock: ClockPort,
    credentials: CredentialStorePort,
    csrf: CsrfTokensPort,
    digest: TokenDigestPort,
    entropy: EntropyPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    unitOfWork: IdentityUnitOfWorkPort,
    usePasskey: UsePasskeyPort,
    webAuthn: WebAuthnPort,
  },
  routes: (given) => [
    handle(requestPasskeySignIn, makeOfferPasskeySignIn(given), {
      input: ({ cookie }) => cookie,
      reply: ({ options, browser }) => ({
        value: { publicKey: options },
        cookies: [signInCookieOf(browser)],
      }),
    }),
    handle(signInWithPasskey, makeSignInWithPasskey(given), {
      input: ({ body, cookie }) => ({ response: body.passkey, browser: cookie, remember: body.remember ?? false }),
      reply: ({ sessionKey, remembered, busPass }) => [
        ...cookiesOfSession(given.settings, given.csrf, { sessionKey, remembered: remembered ?? 'none', busPass }),
        signInCookieOf(undefined),
      ],
    }),
  ],
})
