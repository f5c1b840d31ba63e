import { right } from 'fp-ts/lib/Either.js'
import { CallerProofsPort, SessionOpeningPort } from '../../core/identity/access-ports.ts'
import { AllowancesPort, AttemptThrottlePort } from '../../core/identity/attempt-ports.ts'
import { CsrfTokensPort, IdentitySettingsPort, TokenDigestPort, UserFounderPort } from '../../core/identity/ports.ts'
import type { CsrfTokens, IdentitySettings } from '../../core/identity/ports.ts'
import {
  DirectorySearchPort,
  ExternalAccountStorePort,
  ExternalSessionStorePort,
  OpenIdConnectPort,
  ProviderSettingsPort,
  ProviderStorePort,
  ProviderCountersPort,
  ProviderUnitOfWorkPort,
  SignInAttemptStorePort,
} from '../../core/identity-providers/ports.ts'
import { makeFinishWithPassword } from '../../core/identity-providers/directories/password-sign-in.ts'
import type { BegunSignIn } from '../../core/identity-providers/sign-in/attempts.ts'
import { makeBeginSignIn } from '../../core/identity-providers/sign-in/attempts.ts'
import { makeFindProvider, makeListButtons } from '../../core/identity-providers/sign-in/discovery.ts'
import { makeBeginLink, makeListLinks, makeUnlink } from '../../core/identity-providers/sign-in/links.ts'
import { makeBackChannelLogout, makeEndSessionUrl } from '../../core/identity-providers/sign-in/logout.ts'
import type { FinishedSignIn } from '../../core/identity-providers/sign-in/sign-in.ts'
import { makeFinishSignIn, makeFinishWithCode } from '../../core/identity-providers/sign-in/sign-in.ts'
import type { LinkedAccount, Provider, ProviderId } from '../../core/identity-providers/types.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { pageWithin } from '../../core/kernel/page.ts'
import { EntropyPort, secret, SecretBoxPort } from '../../core/kernel/secret.ts'
import { AddressReaderPort } from '../../core/organizations/invitations/ports.ts'
import { ProvidedMembershipsPort } from '../../core/organizations/ports.ts'
import { proofOf } from '../identity/proof-wire.ts'
import { cookiesOfSession, signInCookieOf } from '../identity/sessions/session-wire.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { sourceTypes } from './provider-wire.ts'
import {
  backChannelLogout,
  beginLink,
  beginSignIn,
  findSignInProvider,
  finishSignIn,
  finishWithCode,
  finishWithPassword,
  getEndSession,
  listLinks,
  listSignInProviders,
  removeLink,
} from './sign-in.routes.ts'

const begun = ({ url, browserKey }: BegunSignIn) => ({ value: { url }, cookies: [signInCookieOf(browserKey)] })

const finished =
  (settings: IdentitySettings, csrf: CsrfTokens) =>
  ({ user, isLink, sessionKey, busPass }: FinishedSignIn) => ({
    value: { login: user.login, is_link: isLink },
    cookies: [
      signInCookieOf(undefined),
      ...(sessionKey === undefined
        ? []
        : cookiesOfSession(settings, csrf, { sessionKey, remembered: 'none', busPass })),
    ],
  })

const ofAttempts = {
  attempts: SignInAttemptStorePort,
  clock: ClockPort,
  digest: TokenDigestPort,
  entropy: EntropyPort,
  identity: IdentitySettingsPort,
  openIdConnect: OpenIdConnectPort,
  providers: ProviderStorePort,
  secretBox: SecretBoxPort,
  tally: ProviderCountersPort,
} as const

const buttonWire = ({ id, displayName }: Provider) => ({ id, display_name: displayName })

/** Sign-ins with identity providers. */
export const externalSignInGroup = defineGroup({
  needs: {
    ...ofAttempts,
    accounts: ExternalAccountStorePort,
    addresses: AddressReaderPort,
    allowances: AllowancesPort,
    csrf: CsrfTokensPort,
    directories: DirectorySearchPort,
    founder: UserFounderPort,
    memberships: ProvidedMembershipsPort,
    sessionOpening: SessionOpeningPort,
    settings: ProviderSettingsPort,
    throttle: AttemptThrottlePort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  routes: ({ identity, csrf, ...given }) => {
    const deps = { ...given, baseUrl: () => identity.baseUrl() }
    const reply = finished(identity, csrf)
    const list = makeListButtons(deps)
    return [
      handle(
        listSignInProviders,
        async (call, { page }) => {
          const buttons = await list(call)
          return buttons._tag === 'Left' ? buttons : right(pageWithin(buttons.right, page))
        },
        { reply: buttonWire },
      ),
      handle(findSignInProvider, makeFindProvider(deps), {
        input: ({ body }) => body.address,
        reply: (id) => ({ provider_id: id ?? 0 }),
      }),
      handle(beginSignIn, makeBeginSignIn(deps), {
        input: ({ params, body, cookie }) => ({ providerId: params.id, iss: body.iss, browserKey: cookie }),
        reply: begun,
      }),
      handle(finishSignIn, makeFinishSignIn(deps), {
        input: ({ params, body: { state, code, iss, error }, cookie }) => ({
          providerId: params.id,
          answer: { state, code, iss, error },
          browserKey: cookie,
        }),
        reply,
      }),
      handle(finishWithPassword, makeFinishWithPassword(deps), {
        input: ({ params, body: { state, username, password }, cookie }) => ({
          providerId: params.id,
          state,
          username,
          password: secret(password),
          browserKey: cookie,
        }),
        reply,
      }),
      handle(finishWithCode, makeFinishWithCode(deps), {
        input: ({ params, body, cookie }) => ({
          providerId: params.id,
          code: body.passCode,
          passkey: body.passkey,
          browserKey: cookie,
        }),
        reply,
      }),
    ]
  },
})

/** Sign-outs at identity providers, and by them. */
export const externalLogoutGroup = defineGroup({
  needs: {
    accounts: ExternalAccountStorePort,
    digest: TokenDigestPort,
    identity: IdentitySettingsPort,
    openIdConnect: OpenIdConnectPort,
    providers: ProviderStorePort,
    secretBox: SecretBoxPort,
    sessions: ExternalSessionStorePort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  routes: ({ identity, ...given }) => [
    handle(backChannelLogout, makeBackChannelLogout(given), {
      input: ({ params, body }) => ({ providerId: params.id, logoutToken: body.logout_token }),
    }),
    handle(getEndSession, makeEndSessionUrl({ ...given, baseUrl: () => identity.baseUrl() }), {
      reply: (url) => ({ url }),
    }),
  ],
})

const linkWire = ({ account, provider }: LinkedAccount) => ({
  loginSourceID: account.providerId,
  externalID: account.subject,
  type: sourceTypes[provider.kind],
  providerDisplayName: provider.displayName,
  isActived: provider.isActive,
  isSyncEnabled: account.nextCheckAt !== undefined || (provider.kind === 'ldap' && account.endedAt === undefined),
})

/** The links of the caller. */
export const linkGroup = defineGroup({
  needs: {
    ...ofAttempts,
    accounts: ExternalAccountStorePort,
    callerProofs: CallerProofsPort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  routes: ({ identity, ...given }) => {
    const deps = { ...given, baseUrl: () => identity.baseUrl() }
    const list = makeListLinks(deps)
    return [
      handle(
        listLinks,
        async (call, { page }) => {
          const links = await list(call)
          return links._tag === 'Left' ? links : right(pageWithin(links.right, page))
        },
        { reply: linkWire },
      ),
      handle(removeLink, makeUnlink(deps), {
        input: ({ body }) => ({
          providerId: body.loginSourceID as ProviderId,
          subject: body.externalID ?? '',
          proof: proofOf(body),
        }),
      }),
      handle(beginLink, makeBeginLink(deps), {
        input: ({ params, body, cookie }) => ({ providerId: params.id, proof: proofOf(body), browserKey: cookie }),
        reply: begun,
      }),
    ]
  },
})
