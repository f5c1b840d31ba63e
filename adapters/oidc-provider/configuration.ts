import type { Configuration, JWK, KoaContextWithOIDC } from 'oidc-provider'
import { errors } from 'oidc-provider'
import type { KeysInUse, ProtocolDirectory, ProtocolRecords } from '../../core/authorization-server/ports.ts'
import { signingAlgorithm } from './key-factory.ts'
import type { LibraryFetch } from './library-fetch.ts'
import type { ProtocolPages } from './pages.ts'
import { escapeHtml } from './pages.ts'
import { requestScope } from './request-scope.ts'
import { makeStores, trustedProperty } from './store.ts'

/** Asked for by this service itself, not by the client: the library drops `offline_access` without it. */
export const addedPrompt = 'moorage_added_prompt'

const hour = 3_600
const day = 24 * hour

export interface ConfigurationDeps {
  readonly issuer: string
  readonly directory: ProtocolDirectory
  readonly records: ProtocolRecords
  readonly pages: ProtocolPages
  readonly scopes: readonly string[]
  /** Returns the scopes that tokens for a resource can have; undefined if it is none of this service. */
  readonly scopesOfResource: (indicator: string) => readonly string[] | undefined
  /** Returns the address of the page on which a person answers, and binds it to the browser. */
  readonly questionUrl: (ctx: KoaContextWithOIDC, id: string) => string
  readonly fetch: LibraryFetch
}

const clientOf = (ctx: KoaContextWithOIDC): string => ctx.oidc.client?.clientId ?? ''

const features = ({ pages, scopesOfResource }: ConfigurationDeps): Configuration['features'] => ({
  devInteractions: { enabled: false },
  userinfo: { enabled: true },
  revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
  introspection: {
    enabled: true,
    // A resource server that may see the tokens of others is vouched for by a site admin.
    allowedPolicy: (_, client, token) =>
      client.clientAuthMethod !== 'none' && (token.clientId === client.clientId || client[trustedProperty] === true),
  },
  deviceFlow: {
    enabled: true,
    charset: 'base-20',
    mask: '****-****',
    deviceInfo: () => {
      const { sourceIp = '', userAgent = '' } = requestScope.getStore() ?? {}
      return { ip: sourceIp, ua: userAgent }
    },
  },
  clientCredentials: { enabled: true },
  backchannelLogout: { enabled: true },
  rpInitiatedLogout: {
    enabled: true,
    logoutSource: (ctx, form) => {
      const name = ctx.oidc.client?.clientName
      ctx.body = pages.page(
        'Sign out',
        `<p>${name === undefined ? 'An application' : escapeHtml(name)} asks you to sign out of this service.</p>${form}` +
          '<p><button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button></p>' +
          '<p><button type="submit" form="op.logoutForm" class="quiet">Stay signed in here</button></p>',
      )
    },
    postLogoutSuccessSource: (ctx) => {
      ctx.body = pages.page('Signed out', '<p>You are signed out of the application.</p>')
    },
  },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  resourceIndicators: {
    enabled: true,
    getResourceServerInfo(_, indicator) {
      const scopes = scopesOfResource(indicator)
      if (scopes === undefined) throw new errors.InvalidTarget('it is no resource of this service')
      return {
        audience: indicator,
        scope: scopes.join(' '),
        accessTokenTTL: hour,
        accessTokenFormat: 'opaque',
      }
    },
  },
  claimsParameter: { enabled: false },
})

/** Returns how the library is set up: what is not needed is off, and nothing has a default for trials. */
export const configurationOf = (deps: ConfigurationDeps, keys: KeysInUse): Configuration => ({
  adapter: makeStores(deps.records, deps.directory),
  jwks: { keys: keys.jwks as unknown as JWK[] },
  cookies: {
    keys: [...keys.cookieKeys],
    names: { session: 'moorage_oidc', interaction: 'moorage_oidc_question', resume: 'moorage_oidc_resume' },
    long: { httpOnly: true, sameSite: 'lax', signed: true, path: '/oidc' },
    short: { httpOnly: true, sameSite: 'lax', signed: true },
  },
  features: features(deps),
  scopes: [...deps.scopes],
  claims: {
    openid: ['sub'],
    profile: ['name', 'preferred_username'],
    email: ['email', 'email_verified'],
    groups: ['groups'],
  },
  // Programs such as kube-apiserver and Grafana read the claims of the ID token only.
  conformIdTokenClaims: false,
  responseTypes: ['code'],
  pkce: { required: () => true },
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
  enabledJWA: { idTokenSigningAlgValues: [signingAlgorithm] },
  extraParams: [addedPrompt],
  extraClientMetadata: { properties: [trustedProperty] },
  allowOmittingSingleRegisteredRedirectUri: false,
  clientBasedCORS: () => false,
  // Tokens end with the session here, by the records.
  expiresWithSession: () => false,
  issueRefreshToken: (_, client, source) =>
    client.grantTypeAllowed('refresh_token') && source.scopes.has('offline_access'),
  rotateRefreshToken: true,
  interactions: { url: (ctx, { uid }) => deps.questionUrl(ctx, uid) },
  async findAccount(ctx, subject) {
    if (!(await deps.directory.isActive(subject))) return undefined
    return {
      accountId: subject,
      async claims(_, scope) {
        const known = await deps.directory.claims(subject, clientOf(ctx), scope.split(' '))
        for (const organization of known?.organizations ?? []) requestScope.getStore()?.basis?.note(organization)
        return { ...known?.claims, sub: subject }
      },
    }
  },
  renderError(ctx, { error, error_description: description = '' }) {
    ctx.type = 'html'
    ctx.body = deps.pages.page(
      'This did not work',
      `<p>${escapeHtml(description === '' ? error : `${description} (${error})`)}</p>` +
        '<p>Go back to the application and try again. If it happens again, ask its operator.</p>',
    )
  },
  fetch: deps.fetch as NonNullable<Configuration['fetch']>,
  ttl: {
    AccessToken: hour,
    AuthorizationCode: 60,
    ClientCredentials: hour,
    DeviceCode: 600,
    Grant: 180 * day,
    IdToken: hour,
    Interaction: hour,
    RefreshToken: 30 * day,
    // A browser without a person is forgotten with its question.
    Session: (_, { accountId }) => (accountId === undefined ? hour : day),
  },
})
