import * as t from 'io-ts'
import {
  LocalSignInNeeded,
  NothingWithheld,
  ProviderChanged,
  ProviderRefused,
  ProvidersNotAllowed,
} from '../../core/identity-providers/failures.ts'
import { ProviderMissing, ProviderNameTaken, ProviderUnavailable } from '../../core/identity-providers/ports.ts'
import type { ProviderId } from '../../core/identity-providers/types.ts'
import { siteAdmin } from '../kit/access.ts'
import {
  answer,
  described,
  freeText,
  givenText,
  int32,
  optional,
  pathId,
  pathName,
  plainValue,
  request,
  SafeInteger,
} from '../kit/codecs.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  checkExample,
  ConfirmEndsOption,
  LocalSignIn,
  LocalSignInOption,
  ProviderCheck,
  providerFields,
  shownDirectory,
  ShownGroupTeam,
} from './codecs.ts'

const orgQuery = request(
  { org: plainValue(described(optional(freeText(255)), 'Without effect: these are the providers of the site.')) },
  'SiteProvidersQuery',
)
const route = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' })
const siteRoute = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin', query: orgQuery })
const authPath = request(
  { authid: described(pathId<ProviderId>('site provider'), 'The id of an identity provider of the site, from 1.') },
  'AuthPath',
)
const authRoute = routesOf({
  tag: 'Administration',
  access: siteAdmin,
  scopeCategory: 'admin',
  query: orgQuery,
  params: authPath,
  failures: [ProviderMissing],
})

/** The fields of LDAP in the wider interface. */
const ldapPayload = {
  host: described(optional(freeText(253)), 'LDAP: the host of the directory. Required for a new source of LDAP.'),
  port: described(optional(int32(1, 65_535)), 'LDAP: the port; 636 with LDAPS and 389 otherwise by default.'),
  securityProtocol: described(
    optional(int32(0, 2)),
    'LDAP: 0, without encryption; 1, LDAPS; 2, StartTLS, which is the default of a new source.',
  ),
  skipVerify: described(optional(t.boolean), 'LDAP: must not be true. Certificates are always checked.'),
  bindDN: described(optional(freeText(255)), 'LDAP: the DN to search with; empty for anonymous searches.'),
  bindPassword: described(
    optional(givenText(2000)),
    'LDAP: the password of the DN; it is never returned. Empty or absent: unchanged.',
  ),
  userBase: described(
    optional(freeText(500)),
    'LDAP: the DN below which people are. Required for a new source of LDAP.',
  ),
  filter: described(optional(freeText(1000)), 'LDAP: which entries are people, as `user_filter` of `directory`.'),
  adminFilter: described(optional(freeText(1000)), 'LDAP: must be empty. A directory makes no site admins.'),
  attributeUsername: described(optional(freeText(64)), 'LDAP: as `login_attribute` of `directory`.'),
  attributeName: described(optional(freeText(64)), 'LDAP: as `name_attribute` of `directory`.'),
  attributeSurname: described(optional(freeText(64)), 'LDAP: as `surname_attribute` of `directory`.'),
  attributeMail: described(optional(freeText(64)), 'LDAP: as `mail_attribute` of `directory`.'),
  searchPageSize: described(optional(SafeInteger), 'LDAP: as `page_size` of `directory`; 0 for its default.'),
}
const shownLdap = {
  host: described(optional(t.string), 'LDAP: the host of the directory.'),
  port: described(optional(SafeInteger), 'LDAP: the port.'),
  securityProtocol: described(optional(SafeInteger), 'LDAP: 0, without encryption; 1, LDAPS; 2, StartTLS.'),
  bindDN: described(optional(t.string), 'LDAP: the DN to search with.'),
  userBase: described(optional(t.string), 'LDAP: the DN below which people are.'),
  filter: described(optional(t.string), 'LDAP: which entries are people.'),
  attributeUsername: described(optional(t.string), 'LDAP: the attribute with the name of a new account.'),
  attributeName: described(optional(t.string), 'LDAP: the attribute with the name of the person.'),
  attributeSurname: described(optional(t.string), 'LDAP: the attribute with the surname.'),
  attributeMail: described(optional(t.string), 'LDAP: the attribute with the e-mail address.'),
  searchPageSize: described(optional(SafeInteger), 'LDAP: the number of entries that one search asks for.'),
}

/** The wider interface's names. Fields of kinds of sources that this service does not have are ignored. */
const AuthenticationPayload = request(
  {
    name: described(freeText(40), 'The name, unique in the site: lower-case letters, digits and hyphens.'),
    type: described(
      optional(SafeInteger),
      'The kind of the source: 6, OAuth2, which is the default, or 2, LDAP. It cannot be changed.',
    ),
    isActive: described(optional(t.boolean), 'Whether people may sign in with it; true by default.'),
    oauth2Provider: described(optional(freeText(64)), 'The protocol: `openidConnect`, which is the default.'),
    oauth2Key: described(optional(freeText(255)), 'The client id. Required for a new source.'),
    oauth2Secret: described(
      optional(givenText(2000)),
      'The client secret; it is never returned. Empty or absent: unchanged.',
    ),
    openIDConnectAutoDiscoveryURL: described(
      optional(freeText(600)),
      'The issuer, or the address of its description below it. Required for a new source.',
    ),
    ...ldapPayload,
    ...providerFields,
  },
  'AuthenticationPayload',
)

const AuthSource = answer(
  {
    id: described(SafeInteger, 'The id of the identity provider, from 1.'),
    name: described(t.string, 'The name, unique in the site.'),
    display_name: described(t.string, 'What the button of the sign-in page says.'),
    type: described(SafeInteger, 'The kind of the source: 6, OAuth2, or 2, LDAP.'),
    isActive: described(t.boolean, 'Whether people may sign in with it.'),
    isSyncEnabled: described(t.boolean, 'Always true: the service checks that the provider still lets people in.'),
    oauth2Provider: described(optional(t.string), 'The protocol: `openidConnect`; absent for LDAP.'),
    oauth2Key: described(optional(t.string), 'The client id; absent for LDAP.'),
    openIDConnectAutoDiscoveryURL: described(optional(t.string), 'The issuer; absent for LDAP.'),
    ...shownLdap,
    has_client_secret: described(t.boolean, 'Whether a client secret is stored.'),
    scopes: described(t.readonlyArray(t.string), 'The scopes that are asked for beside `openid`.'),
    allows_creation: described(t.boolean, 'Whether the first sign-in of a person creates an account.'),
    groups_claim: described(t.string, 'The claim with the groups of a person; empty for none.'),
    group_teams: described(t.readonlyArray(ShownGroupTeam), 'Which teams the people of a group belong to.'),
    default_team_id: described(SafeInteger, 'The team of every person who signs in; 0 for none.'),
    ...shownDirectory,
    redirect_uri: described(t.string, 'The redirect URI to register at the provider.'),
    initiate_login_uri: described(t.string, 'Where the provider may begin a sign-in.'),
    backchannel_logout_uri: described(t.string, 'Where the provider reports that a session is over.'),
    post_logout_redirect_uri: described(t.string, 'Where the provider sends a browser after a sign-out.'),
    last_problem: described(t.string, 'Why the last request to the provider failed; empty if it did not.'),
  },
  'AuthSource',
)
export type AuthPayload = t.TypeOf<typeof AuthenticationPayload>
export type AuthSourceBody = t.TypeOf<typeof AuthSource>

const sourceExample = {
  id: 2,
  name: 'staff',
  display_name: 'Staff',
  type: 6,
  isActive: true,
  isSyncEnabled: true,
  oauth2Provider: 'openidConnect',
  oauth2Key: 'moorage',
  openIDConnectAutoDiscoveryURL: 'https://login.example/realms/staff',
  has_client_secret: true,
  scopes: ['email', 'profile', 'offline_access'],
  allows_creation: true,
  groups_claim: '',
  group_teams: [],
  default_team_id: 0,
  withheld_ends: 0,
  redirect_uri: 'https://platform.example/user/oauth2/2/callback',
  initiate_login_uri: 'https://platform.example/user/oauth2/2',
  backchannel_logout_uri: 'https://platform.example/api/v1/user/oauth2/2/logout',
  post_logout_redirect_uri: 'https://platform.example/sign-in',
  last_problem: '',
}
const sent = {
  name: 'staff',
  type: 6,
  oauth2Provider: 'openidConnect',
  oauth2Key: 'moorage',
  oauth2Secret: 'the secret of the client',
  openIDConnectAutoDiscoveryURL: 'https://login.example/realms/staff',
}
const changeFailures = [ProviderRefused, ProviderNameTaken, ProvidersNotAllowed]

export const listAuths = siteRoute({
  id: 'identityProviders.listAuths',
  method: 'GET',
  path: '/accounts/admin/auths',
  summary: 'List the identity providers of the site, by name',
  description: 'By name. Client secrets are never returned.',
  ok: list(AuthSource, sourceExample),
})

const AuthType = answer(
  {
    name: described(t.string, 'The name of the kind.'),
    type: described(SafeInteger, 'Its number.'),
  },
  'AuthType',
)

export const listAuthTypes = siteRoute({
  id: 'identityProviders.listAuthTypes',
  method: 'GET',
  path: '/accounts/admin/auths/auth-types',
  summary: 'List the kinds of sources that the site can have',
  description: 'LDAP, and OAuth2, which is OpenID Connect here.',
  ok: list(AuthType, { name: 'OAuth2', type: 6 }),
})

export const createAuth = siteRoute({
  id: 'identityProviders.createAuth',
  method: 'POST',
  path: '/accounts/admin/auths/new',
  summary: 'Add an identity provider to the site',
  description: 'An OpenID Connect provider, or a directory. The sign-in page shows it as a button.',
  refusesSudo: true,
  body: body(AuthenticationPayload, sent, { malformedAs: 422 }),
  ok: json(201, AuthSource, sourceExample, 'Created'),
  failures: changeFailures,
})

export const getAuth = authRoute({
  id: 'identityProviders.getAuth',
  method: 'GET',
  path: '/accounts/admin/auths/{authid}',
  summary: 'Get an identity provider of the site',
  description: 'The client secret is never returned.',
  ok: json(200, AuthSource, sourceExample),
})

export const changeAuth = authRoute({
  id: 'identityProviders.changeAuth',
  method: 'POST',
  path: '/accounts/admin/auths/{authid}',
  summary: 'Change an identity provider of the site; omitted fields do not change',
  description: 'What the body leaves out stays. The client secret must be sent again if the issuer changes.',
  refusesSudo: true,
  body: body(AuthenticationPayload, { name: 'staff', isActive: false }, { malformedAs: 422 }),
  ok: json(200, AuthSource, sourceExample),
  failures: [...changeFailures, ProviderChanged],
})

export const removeAuth = authRoute({
  id: 'identityProviders.removeAuth',
  method: 'POST',
  path: '/accounts/admin/auths/{authid}/delete',
  summary: 'Remove an identity provider of the site, with the links of its people',
  description: 'Accounts, memberships and sessions stay. A person without a password sets one by mail.',
  refusesSudo: true,
  ok: empty(200),
})

export const checkAuth = authRoute({
  id: 'identityProviders.checkAuth',
  method: 'POST',
  path: '/accounts/admin/auths/{authid}/check',
  summary: 'Ask an identity provider of the site for its description',
  description: 'Reads the description of the provider. Returns 502 with a sentence that says what is wrong.',
  ok: json(200, ProviderCheck, checkExample),
  failures: [ProviderUnavailable],
})

export const confirmEnds = authRoute({
  id: 'identityProviders.confirmSiteEnds',
  method: 'POST',
  path: '/accounts/admin/auths/{authid}/confirm-ends',
  summary: 'Confirm that people who left a directory of the site lose access',
  description:
    'A comparison with a directory that lacks too many people ends nothing, and says so in `withheld_ends`. This lets ' +
    'the next comparison, which begins at once, end as many. Returns 409 if the number is another one by now.',
  refusesSudo: true,
  body: body(ConfirmEndsOption, { ends: 12 }),
  ok: empty(204),
  failures: [NothingWithheld],
})

/** The wider interface's names. */
const ExternalOAuth2AppPayload = request(
  {
    provider: described(
      optional(freeText(40)),
      'The name of the provider: `google`, `gitlab`, or that of a provider of the site. Required for a new one.',
    ),
    clientID: described(optional(freeText(255)), 'The client id. Required for a new one.'),
    clientSecret: described(optional(givenText(2000)), 'The client secret; empty or absent: unchanged.'),
    callbackURL: described(optional(freeText(600)), 'Without effect: each provider has a redirect URI of its own.'),
  },
  'ExternalOAuth2AppPayload',
)
const ExternalOAuth2App = answer(
  {
    provider: described(t.string, 'The name of the provider.'),
    clientID: described(t.string, 'The client id.'),
    clientSecret: described(t.string, 'Always empty: the secret is never returned.'),
    callbackURL: described(t.string, 'The redirect URI to register at the provider.'),
  },
  'ExternalOAuth2App',
)
const appExample = {
  provider: 'google',
  clientID: '1234.apps.googleusercontent.com',
  clientSecret: '',
  callbackURL: 'https://platform.example/user/oauth2/4/callback',
}
const appPath = request(
  { provider: described(pathName('site provider'), 'The name of the provider.') },
  'ExternalOAuth2AppPath',
)
const appRoute = routesOf({
  tag: 'Administration',
  access: siteAdmin,
  scopeCategory: 'admin',
  query: orgQuery,
  params: appPath,
  failures: [ProviderMissing],
})

export const listApps = siteRoute({
  id: 'identityProviders.listApps',
  method: 'GET',
  path: '/accounts/admin/external_oauth',
  summary: 'List the clients as which the site is registered at identity providers',
  description:
    'The same providers as at `/accounts/admin/auths`, in the form of older clients. `clientSecret` is always empty.',
  ok: list(ExternalOAuth2App, appExample),
})

export const createApp = siteRoute({
  id: 'identityProviders.createApp',
  method: 'POST',
  path: '/accounts/admin/external_oauth/new',
  summary: 'Add a well-known identity provider to the site, by its client',
  description:
    'Knows `google` and `gitlab` (gitlab.com). Any other provider is added with its issuer: `POST ' +
    '/accounts/admin/auths/new`.',
  refusesSudo: true,
  body: body(
    ExternalOAuth2AppPayload,
    { provider: 'google', clientID: '1234.apps.googleusercontent.com', clientSecret: 'the secret of the client' },
    { malformedAs: 422 },
  ),
  ok: json(201, ExternalOAuth2App, appExample, 'Created'),
  failures: changeFailures,
})

export const changeApp = appRoute({
  id: 'identityProviders.changeApp',
  method: 'POST',
  path: '/accounts/admin/external_oauth/{provider}',
  summary: 'Change the client as which the site is registered at an identity provider',
  description: 'What the body leaves out stays.',
  refusesSudo: true,
  body: body(ExternalOAuth2AppPayload, { clientSecret: 'the new secret' }, { malformedAs: 422 }),
  ok: json(200, ExternalOAuth2App, appExample),
  failures: [...changeFailures, ProviderChanged],
})

export const removeApp = appRoute({
  id: 'identityProviders.removeApp',
  method: 'POST',
  path: '/accounts/admin/external_oauth/{provider}/delete',
  summary: 'Remove an identity provider of the site, by its name',
  description: 'Accounts, memberships and sessions stay.',
  refusesSudo: true,
  ok: empty(200),
})

export const getSiteLocalSignIn = route({
  id: 'identityProviders.getSiteLocalSignIn',
  method: 'GET',
  path: '/accounts/admin/local-sign-in',
  summary: 'Get whether users sign in with passwords of this service',
  description: 'Whether the people of the site sign in with passwords of this service.',
  ok: json(200, LocalSignIn, { is_off: false }),
})

export const setSiteLocalSignIn = route({
  id: 'identityProviders.setSiteLocalSignIn',
  method: 'PUT',
  path: '/accounts/admin/local-sign-in',
  summary: 'Switch sign-in with passwords off or on for the site',
  description:
    'When it is off, users sign in with identity providers only. A site admin without a link to a provider of the ' +
    'site keeps the password, and so does the last one. Returns 409 unless the session of the caller came from a ' +
    'provider of the site. `moorage admin local-sign-in` switches it on again.',
  refusesSudo: true,
  body: body(LocalSignInOption, { is_off: true }),
  ok: empty(204),
  failures: [LocalSignInNeeded],
})
