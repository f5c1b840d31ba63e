import * as t from 'io-ts'
import type { DomainId, ProviderId } from '../../core/identity-providers/types.ts'
import {
  answer,
  described,
  freeText,
  givenText,
  Instant,
  listOf,
  oneOf,
  optional,
  OrgPathName,
  pathId,
  plainValue,
  request,
  SafeInteger,
} from '../kit/codecs.ts'
import { path } from '../kit/access.ts'
import { PasskeyAssertion } from '../identity/passkeys/codecs.ts'
import { Directory, DirectoryOption } from './directory-codecs.ts'

export const OrgPath = request({ orgname: OrgPathName }, 'ProvidersPath')
export const organizationInPath = { type: 'organization', name: path('orgname') } as const

const ProviderPathId = described(pathId<ProviderId>('identity provider'), 'The id of the identity provider, from 1.')
export const OrgProviderPath = request({ orgname: OrgPathName, id: ProviderPathId }, 'OrgProviderPath')
/** Anyone may begin a sign-in with any provider, so the id says nothing about its owner. */
export const SignInPath = request(
  { id: described(pathId<ProviderId>('site provider'), 'The id of the identity provider, from 1.') },
  'SignInPath',
)
export const OrgDomainPath = request(
  {
    orgname: OrgPathName,
    id: described(pathId<DomainId>('organization domain'), 'The id of the domain, from 1.'),
  },
  'OrgDomainPath',
)

const GroupTeam = request(
  {
    group: described(freeText(255), 'The value in the claim, compared by its characters.'),
    team_id: described(SafeInteger, 'The id of the team that people of the group belong to.'),
  },
  'GroupTeam',
)

/** A rule for the members of a group, as it is shown. */
export const ShownGroupTeam = answer(
  {
    group: described(t.string, 'The value in the claim.'),
    team_id: described(SafeInteger, 'The id of the team that people of the group belong to.'),
  },
  'ShownGroupTeam',
)

/** What the forms of all providers have in common. */
export const providerFields = {
  display_name: described(optional(freeText(100)), 'What the button of the sign-in page says; `name` by default.'),
  scopes: described(
    optional(listOf(freeText(100), 20)),
    'The scopes that are asked for beside `openid`; `email`, `profile` and `offline_access` by default. Without ' +
      '`offline_access`, many providers do not let the service notice that a person has left.',
  ),
  allows_creation: described(
    optional(t.boolean),
    'Whether the first sign-in of a person creates an account; false by default. An organization creates accounts ' +
      'with addresses of its verified domains only.',
  ),
  groups_claim: described(
    optional(freeText(255)),
    'The claim with the groups of a person, or keys separated by dots, as `realm_access.roles`; empty for none. Of a ' +
      'directory: the attribute of a person with the DNs of groups, as `memberOf`.',
  ),
  group_teams: described(
    optional(listOf(GroupTeam, 500)),
    'Which teams the people of a group belong to; judged at each sign-in and each check. A group of a directory is its ' +
      'DN.',
  ),
  default_team_id: described(
    optional(SafeInteger),
    'The team of every person who signs in; 0 for none, which is the default.',
  ),
  directory: described(optional(DirectoryOption), 'What a directory has beside; ignored for OpenID Connect.'),
}

export const IdentityProviderOption = request(
  {
    type: described(
      optional(oneOf('oidc', 'ldap')),
      'The protocol: OpenID Connect, `oidc`, which is the default, or LDAP, `ldap`. It cannot be changed.',
    ),
    name: described(
      optional(freeText(40)),
      'The name, unique in the organization: lower-case letters, digits and hyphens. Required for a new provider.',
    ),
    issuer: described(
      optional(freeText(512)),
      'The issuer of the provider: its address, below which `/.well-known/openid-configuration` is. Of a directory: its ' +
        'address, as `ldaps://ldap.example:636`. Required for a new provider.',
    ),
    client_id: described(
      optional(freeText(255)),
      'The client as which this service is registered at the provider. Required, unless it is a directory: then the DN ' +
        'to search with, empty for anonymous searches.',
    ),
    client_secret: described(
      optional(givenText(2000)),
      'The secret of the client, or the password of the DN; it is never returned. Empty or absent: unchanged.',
    ),
    is_active: described(optional(t.boolean), 'Whether people may sign in with it; true by default.'),
    links_verified_domains: described(
      optional(t.boolean),
      'Whether a member of the organization is linked at the first sign-in, by an address of a verified domain that ' +
        'the provider and this service have both verified; false by default.',
    ),
    ...providerFields,
  },
  'IdentityProviderOption',
)

/** What answers show of directories. */
export const shownDirectory = {
  directory: described(optional(Directory), 'What a directory has beside; absent for OpenID Connect.'),
  compared_at: described(optional(Instant), 'When the people of a directory were last compared with it.'),
  withheld_ends: described(
    SafeInteger,
    'How many people would have lost access by the last comparison, which stopped since they were too many; 0 for none.',
  ),
}

export const ConfirmEndsOption = request(
  { ends: described(SafeInteger, 'The number of `withheld_ends`, as it was seen.') },
  'ConfirmEndsOption',
)

export const IdentityProvider = answer(
  {
    id: described(SafeInteger, 'The id of the provider, from 1.'),
    name: described(t.string, 'The name, unique in the organization.'),
    display_name: described(t.string, 'What the button of the sign-in page says.'),
    type: described(t.string, 'The protocol: `oidc` or `ldap`.'),
    issuer: described(t.string, 'The issuer of the provider, or the address of the directory.'),
    client_id: described(t.string, 'The client as which this service is registered, or the DN to search with.'),
    has_client_secret: described(t.boolean, 'Whether a client secret is stored.'),
    is_active: described(t.boolean, 'Whether people may sign in with it.'),
    links_verified_domains: described(t.boolean, 'Whether members are linked by addresses of verified domains.'),
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
    created_at: described(Instant, 'The creation of the provider, RFC 3339 in UTC.'),
  },
  'IdentityProvider',
)

export const providerExample = {
  id: 3,
  name: 'corporate',
  display_name: 'Analytical Engines',
  type: 'oidc',
  issuer: 'https://login.analytical.example/realms/staff',
  client_id: 'moorage',
  has_client_secret: true,
  is_active: true,
  links_verified_domains: false,
  scopes: ['email', 'profile', 'offline_access'],
  allows_creation: true,
  groups_claim: 'groups',
  group_teams: [{ group: '/platform/admins', team_id: 40 }],
  default_team_id: 0,
  withheld_ends: 0,
  redirect_uri: 'https://platform.example/user/oauth2/3/callback',
  initiate_login_uri: 'https://platform.example/user/oauth2/3',
  backchannel_logout_uri: 'https://platform.example/api/v1/user/oauth2/3/logout',
  post_logout_redirect_uri: 'https://platform.example/sign-in',
  last_problem: '',
  created_at: '2026-11-21T08:00:00.000Z',
}

export const ProviderCheck = answer(
  {
    issuer: described(t.string, 'The issuer, as the provider says it.'),
    has_end_session: described(t.boolean, 'Whether people can sign out at the provider.'),
    has_backchannel_logout: described(t.boolean, 'Whether the provider reports sessions that are over.'),
    scopes: described(t.readonlyArray(t.string), 'The scopes that the provider offers; empty if it does not say.'),
  },
  'IdentityProviderCheck',
)
export const checkExample = {
  issuer: 'https://login.analytical.example/realms/staff',
  has_end_session: true,
  has_backchannel_logout: true,
  scopes: ['openid', 'email', 'profile', 'offline_access'],
}

export const OrganizationDomain = answer(
  {
    id: described(SafeInteger, 'The id of the domain, from 1.'),
    domain: described(t.string, 'The domain in ASCII, lower case.'),
    is_verified: described(t.boolean, 'Whether the domain is proven to be that of the organization.'),
    record_name: described(t.string, 'The name of the TXT record that proves the domain.'),
    file_url: described(t.string, 'The address of the file that proves the domain, instead of the record.'),
    proof: described(t.string, 'The content of the record, or of the file. It is no secret.'),
    is_failing: described(t.boolean, 'Whether the last check of a verified domain did not find the proof.'),
  },
  'OrganizationDomain',
)
export const domainExample = {
  id: 5,
  domain: 'analytical.example',
  is_verified: false,
  record_name: '_moorage.analytical.example',
  file_url: 'https://analytical.example/.well-known/moorage-domain',
  proof: 'moorage-domain=aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d',
  is_failing: false,
}
export const DomainOption = request(
  { domain: described(freeText(253), 'The domain, as in the addresses of the organization.') },
  'OrganizationDomainOption',
)

export const LocalSignInOption = request(
  { is_off: described(t.boolean, 'Whether passwords of this service are refused.') },
  'LocalSignInOption',
)
export const LocalSignIn = answer(
  { is_off: described(t.boolean, 'Whether passwords of this service are refused.') },
  'LocalSignIn',
)

export const SignInProvider = answer(
  {
    id: described(SafeInteger, 'The id of the provider.'),
    display_name: described(t.string, 'What its button says.'),
  },
  'SignInProvider',
)
export const ProviderSearchOption = request(
  { address: described(freeText(320), 'An e-mail address. Only its domain is looked at.') },
  'ProviderSearchOption',
)
export const ProviderSearch = answer(
  { provider_id: described(SafeInteger, 'The provider of the domain; 0 if the password is asked for.') },
  'ProviderSearch',
)
export const BeginSignInOption = request(
  {
    iss: described(
      optional(freeText(512)),
      'The issuer, where the sign-in began at the provider (OpenID Connect Core §4). It must be that of the provider.',
    ),
  },
  'BeginSignInOption',
)
export const BegunSignIn = answer(
  { url: described(t.string, 'Where the browser goes next: the sign-in page of the provider.') },
  'BegunSignIn',
)
export const SignInAnswerOption = request(
  {
    state: described(freeText(512), 'The parameter `state` of the answer.'),
    code: described(optional(freeText(4096)), 'The parameter `code` of the answer.'),
    iss: described(optional(freeText(512)), 'The parameter `iss` of the answer (RFC 9207).'),
    error: described(optional(freeText(255)), 'The parameter `error` of the answer, if the provider refused.'),
  },
  'SignInAnswerOption',
)
export const DirectorySignInOption = request(
  {
    state: described(freeText(512), 'The parameter `state` of the address at which the sign-in began.'),
    username: described(freeText(255), 'The name of the person in the directory.'),
    password: described(givenText(1000), 'The password of the person in the directory.'),
  },
  'DirectorySignInOption',
)
export const CodeOption = request(
  {
    passCode: described(optional(freeText(255)), 'A one-time code or a recovery code.'),
    passkey: described(
      optional(PasskeyAssertion),
      'The response of a passkey instead, to the options of `POST /user/signin/passkey/request`.',
    ),
  },
  'SignInCodeOption',
)
export const SignedIn = answer(
  {
    login: described(t.string, 'The name of the user.'),
    is_link: described(t.boolean, 'Whether an account was linked, instead of a session opened.'),
  },
  'ExternalSignIn',
)
export const LogoutOption = request(
  { logout_token: described(freeText(16_384), 'The logout token (OpenID Connect Back-Channel Logout §2.4).') },
  'BackChannelLogoutOption',
)
export const EndSession = answer(
  {
    url: described(
      t.string,
      'Where the user signs out at the provider; empty for a session that no provider opened, or if it has no such ' +
        'address.',
    ),
  },
  'EndSession',
)

/** The wider interface's names. */
export const AccountLink = answer(
  {
    loginSourceID: described(SafeInteger, 'The id of the identity provider.'),
    externalID: described(t.string, 'The identifier of the person at the provider.'),
    type: described(SafeInteger, 'The kind of the provider: 2, LDAP, or 6, OAuth2.'),
    providerDisplayName: described(t.string, 'The name of the provider for people.'),
    isActived: described(t.boolean, 'Whether people may sign in with the provider.'),
    isSyncEnabled: described(t.boolean, 'Whether the service checks that the provider still lets the person in.'),
  },
  'AccountLink',
)
export const linkExample = {
  loginSourceID: 3,
  externalID: '2f1b9a3e-6a7e-4a36-9a2e-0f6c2f3f1c11',
  type: 6,
  providerDisplayName: 'Analytical Engines',
  isActived: true,
  isSyncEnabled: true,
}
const proof = {
  password: described(optional(givenText()), 'The password of the caller; not needed if the request has HTTP Basic.'),
  passCode: described(
    optional(freeText(255)),
    'A one-time code or a recovery code; not needed if the request has HTTP Basic with `X-OTP`.',
  ),
  passkey: described(
    optional(PasskeyAssertion),
    'The response of a passkey of the account, in place of the code or of both. Its options are those of ' +
      '`POST /user/settings/security/webauthn/request_proof`.',
  ),
}
export const AccountLinkParams = request(
  {
    loginSourceID: plainValue(described(SafeInteger, 'The id of the identity provider.')),
    externalID: described(
      optional(freeText(255)),
      'The identifier of the person at the provider; absent or empty: whichever is linked.',
    ),
    ...proof,
  },
  'AccountLinkParams',
)
export const LinkProof = request(proof, 'AccountLinkProof')
