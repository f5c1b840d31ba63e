import { left, right } from 'fp-ts/lib/Either.js'
import { makeConfirmEnds } from '../../core/identity-providers/directories/comparisons.ts'
import { makeShowLocalSignIn, makeSwitchLocalSignIn } from '../../core/identity-providers/local-sign-in.ts'
import { ProviderRefused } from '../../core/identity-providers/failures.ts'
import {
  DirectorySearchPort,
  ExternalAccountStorePort,
  ExternalSessionStorePort,
  LocalSignInStorePort,
  OpenIdConnectPort,
  ProviderSettingsPort,
  ProviderStorePort,
  ProviderUnitOfWorkPort,
} from '../../core/identity-providers/ports.ts'
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
import { providerWire, sourceTypes } from './provider-wire.ts'
import { checkWire } from './providers.handlers.ts'
import type { SentForm } from './site-wire.ts'
import { authForm, sourceWire } from './site-wire.ts'
import {
  changeApp,
  changeAuth,
  checkAuth,
  confirmEnds,
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

const isRefused = (form: SentForm): form is Failure<'ProviderRefused'> => 'tag' in form

const site = { owner: undefined }

const sourceNames = [
  { name: 'LDAP (via BindDN)', type: sourceTypes.ldap },
  { name: 'OAuth2', type: sourceTypes.oidc },
]

/** The providers of the site. */
export const siteProviderGroup = defineGroup({
  needs: {
    clock: ClockPort,
    directories: DirectorySearchPort,
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
    const createWith = async (call: SignedInCall<Provider>, form: SentForm): ReturnType<typeof create> =>
      isRefused(form) ? left(form) : create(call, { ...site, form })
    const replaceWith = async (
      call: SignedInCall<Provider>,
      { ref, form }: { readonly ref: Ref; readonly form: SentForm },
    ): ReturnType<typeof replace> => (isRefused(form) ? left(form) : replace(call, { ...site, ref, form }))
    return [
      handle(listAuths, makeListProviders(given), { input: ({ page }) => ({ ...site, page }), reply }),
      handle(listAuthTypes, async (_call, { page }) => right(pageWithin(sourceNames, page))),
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
      handle(confirmEnds, makeConfirmEnds(given), {
        input: ({ params, body }) => ({ ...site, id: params.authid, ends: body.ends }),
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

const newApp = ({ provider = '', clientID, clientSecret }: SentApp): SentForm => {
  const issuer = wellKnown.get(provider)
  return issuer === undefined
    ? ProviderRefused(
        `provider: must be ${[...wellKnown.keys()].join(' or ')}. Others are added with their issuer at ` +
          '/accounts/admin/auths/new.',
      )
    : { name: provider, issuer, clientId: clientID, clientSecret: optionalSecret(clientSecret) }
}

const changedApp = (named: string, { provider, clientID, clientSecret }: SentApp): SentForm =>
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
