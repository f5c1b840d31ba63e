import { left, right } from 'fp-ts/lib/Either.js'
import { makeShowLocalSignIn, makeSwitchLocalSignIn } from '../../core/identity-providers/local-sign-in.ts'
import { ProviderRefused } from '../../core/identity-providers/failures.ts'
import {
  ExternalAccountStorePort,
  ExternalSessionStorePort,
  LocalSignInStorePort,
  OpenIdConnectPort,
  ProviderSettingsPort,
  ProviderStorePort,
  ProviderUnitOfWorkPort,
} from '../../core/identity-providers/ports.ts'
import type { ProviderForm } from '../../core/identity-providers/providers/provider-form.ts'
import {
  makeCheckProvider,
  makeCreateProvider,
  makeListProviders,
  makeRemoveProvider,
  makeReplaceProvider,
  makeShowProvider,
} from '../../core/identity-providers/providers/providers.ts'
import type { Provider } from '../../core/identity-providers/types.ts'
import { IdentitySettingsPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { pageWithin } from '../../core/kernel/page.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { EntropyPort, optionalSecret, SecretBoxPort } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import type { CommonFields } from './provider-wire.ts'
import { commonForm, providerWire } from './provider-wire.ts'
import { checkWire } from './providers.handlers.ts'
import { oauth2Type } from './sign-in.handlers.ts'
import type { AuthSourceBody } from './site.routes.ts'
import {
  changeApp,
  changeAuth,
  checkAuth,
  createApp,
  createAuth,
  getAuth,
  getSiteLocalSignIn,
  listApps,
  listAuths,
  listAuthTypes,
  removeApp,
  removeAuth,
  setSiteLocalSignIn,
} from './site.routes.ts'

const protocol = 'openidConnect'
const descriptionEnd = /\/\.well-known\/openid-configuration$/

const sourceWire = (provider: Provider, baseUrl: string): AuthSourceBody => {
  const {
    name,
    issuer,
    client_id,
    is_active,
    type: _,
    links_verified_domains: __,
    created_at: ___,
    ...shown
  } = providerWire(provider, baseUrl)
  return {
    ...shown,
    name,
    type: oauth2Type,
    isActive: is_active,
    isSyncEnabled: true,
    oauth2Provider: protocol,
    oauth2Key: client_id,
    openIDConnectAutoDiscoveryURL: issuer,
  }
}

interface SentAuth extends CommonFields {
  readonly name: string
  readonly type: number | undefined
  readonly isActive: boolean | undefined
  readonly oauth2Provider: string | undefined
  readonly oauth2Key: string | undefined
  readonly oauth2Secret: string | undefined
  readonly openIDConnectAutoDiscoveryURL: string | undefined
}

/** Returns the form of a source, or why there is no source of its kind. */
const authForm = (sent: SentAuth): ProviderForm | Failure<'ProviderRefused'> => {
  if ((sent.type ?? oauth2Type) !== oauth2Type)
    return ProviderRefused('type: must be 6, OAuth2. Other kinds of sources do not exist here.')
  if ((sent.oauth2Provider ?? protocol).toLowerCase() !== protocol.toLowerCase())
    return ProviderRefused('oauth2Provider: must be openidConnect.')
  return {
    ...commonForm(sent),
    name: sent.name,
    issuer: sent.openIDConnectAutoDiscoveryURL?.replace(descriptionEnd, ''),
    clientId: sent.oauth2Key,
    clientSecret: optionalSecret(sent.oauth2Secret),
    isActive: sent.isActive,
  }
}

/** The issuers of providers that everyone knows. */
const wellKnown: ReadonlyMap<string, string> = new Map([
  ['google', 'https://accounts.google.com'],
  ['gitlab', 'https://gitlab.com'],
])

const appWire = (provider: Provider, baseUrl: string) => ({
  provider: provider.name,
  clientID: provider.clientId,
  clientSecret: '',
  callbackURL: providerWire(provider, baseUrl).redirect_uri,
})

interface SentApp {
  readonly provider: string | undefined
  readonly clientID: string | undefined
  readonly clientSecret: string | undefined
}

const isRefused = (form: ProviderForm | Failure<'ProviderRefused'>): form is Failure<'ProviderRefused'> => 'tag' in form

const site = { owner: undefined }

/** The providers of the site. */
export const siteProviderGroup = defineGroup({
  needs: {
    clock: ClockPort,
    entropy: EntropyPort,
    identity: IdentitySettingsPort,
    openIdConnect: OpenIdConnectPort,
    providers: ProviderStorePort,
    secretBox: SecretBoxPort,
    settings: ProviderSettingsPort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  routes: ({ identity, ...given }) => {
    const [create, replace] = [makeCreateProvider(given), makeReplaceProvider(given)]
    const reply = (provider: Provider) => sourceWire(provider, identity.baseUrl())
    const app = (provider: Provider) => appWire(provider, identity.baseUrl())
    type Ref = Parameters<typeof replace>[1]['ref']
    const createWith = async (
      call: SignedInCall<Provider>,
      form: ProviderForm | Failure<'ProviderRefused'>,
    ): ReturnType<typeof create> => (isRefused(form) ? left(form) : create(call, { ...site, form }))
    const replaceWith = async (
      call: SignedInCall<Provider>,
      { ref, form }: { readonly ref: Ref; readonly form: ProviderForm | Failure<'ProviderRefused'> },
    ): ReturnType<typeof replace> => (isRefused(form) ? left(form) : replace(call, { ...site, ref, form }))
    return [
      handle(listAuths, makeListProviders(given), { input: ({ page }) => ({ ...site, page }), reply }),
      handle(listAuthTypes, async (_call, { page }) => right(pageWithin([{ name: 'OAuth2', type: oauth2Type }], page))),
      handle(createAuth, createWith, { input: ({ body }) => authForm(body), reply }),
      handle(getAuth, makeShowProvider(given), {
        input: ({ params }) => ({ ...site, ref: { id: params.authid } }),
        reply,
      }),
      handle(changeAuth, replaceWith, {
        input: ({ params, body }) => ({ ref: { id: params.authid }, form: authForm(body) }),
        reply,
      }),
      handle(removeAuth, makeRemoveProvider(given), {
        input: ({ params }) => ({ ...site, ref: { id: params.authid } }),
      }),
      handle(checkAuth, makeCheckProvider(given), {
        input: ({ params }) => ({ ...site, ref: { id: params.authid } }),
        reply: checkWire,
      }),
      handle(listApps, makeListProviders(given), { input: ({ page }) => ({ ...site, page }), reply: app }),
      handle(createApp, createWith, { input: ({ body }) => newApp(body), reply: app }),
      handle(changeApp, replaceWith, {
        input: ({ params, body }) => ({ ref: { name: params.provider }, form: changedApp(params.provider, body) }),
        reply: app,
      }),
      handle(removeApp, makeRemoveProvider(given), {
        input: ({ params }) => ({ ...site, ref: { name: params.provider } }),
      }),
    ]
  },
})

const newApp = ({ provider = '', clientID, clientSecret }: SentApp): ProviderForm | Failure<'ProviderRefused'> => {
  const issuer = wellKnown.get(provider)
  return issuer === undefined
    ? ProviderRefused(
        `provider: must be ${[...wellKnown.keys()].join(' or ')}. Others are added with their issuer at ` +
          '/accounts/admin/auths/new.',
      )
    : { name: provider, issuer, clientId: clientID, clientSecret: optionalSecret(clientSecret) }
}

const changedApp = (
  named: string,
  { provider, clientID, clientSecret }: SentApp,
): ProviderForm | Failure<'ProviderRefused'> =>
  provider !== undefined && provider !== '' && provider !== named
    ? ProviderRefused('provider: must be the name in the path. A provider is renamed at /accounts/admin/auths.')
    : { clientId: clientID, clientSecret: optionalSecret(clientSecret) }

/** Whether the users of the site sign in with passwords. */
export const siteLocalSignInGroup = defineGroup({
  needs: {
    accounts: ExternalAccountStorePort,
    clock: ClockPort,
    localSignIn: LocalSignInStorePort,
    sessions: ExternalSessionStorePort,
    unitOfWork: ProviderUnitOfWorkPort,
  },
  routes: (given) => [
    handle(getSiteLocalSignIn, makeShowLocalSignIn(given), {
      input: () => undefined,
      reply: (isOff) => ({ is_off: isOff }),
    }),
    handle(setSiteLocalSignIn, makeSwitchLocalSignIn(given), {
      input: ({ body }) => ({ ...site, isOff: body.is_off }),
    }),
  ],
})
