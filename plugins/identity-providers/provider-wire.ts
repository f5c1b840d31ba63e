import type * as t from 'io-ts'
import type { ProviderForm } from '../../core/identity-providers/providers/provider-form.ts'
import type { Provider } from '../../core/identity-providers/types.ts'
import { optionalSecret } from '../../core/kernel/secret.ts'
import type { IdentityProviderOption } from './codecs.ts'
import { directoryForm, directoryWire } from './directory-codecs.ts'

type Option = t.TypeOf<typeof IdentityProviderOption>

export type CommonFields = Pick<
  Option,
  'display_name' | 'scopes' | 'allows_creation' | 'groups_claim' | 'group_teams' | 'default_team_id' | 'directory'
>

/** Returns the fields that the forms of all providers have in common. */
export const commonForm = (sent: CommonFields): ProviderForm => ({
  displayName: sent.display_name,
  scopes: sent.scopes,
  allowsCreation: sent.allows_creation,
  groupsClaim: sent.groups_claim,
  groupRules: sent.group_teams?.map(({ group, team_id }) => ({ group, teamId: team_id })),
  defaultTeamId: sent.default_team_id === 0 ? null : sent.default_team_id,
  directory: directoryForm(sent.directory),
})

/** Kinds of sources in the wider interface. */
export const sourceTypes = { ldap: 2, oidc: 6 } as const

export const formOf = (sent: Option): ProviderForm => ({
  ...commonForm(sent),
  kind: sent.type,
  name: sent.name,
  issuer: sent.issuer,
  clientId: sent.client_id,
  clientSecret: optionalSecret(sent.client_secret),
  isActive: sent.is_active,
  linksVerifiedDomains: sent.links_verified_domains,
})

/** The addresses that are registered at a provider. */
const addressesOf = ({ id }: Provider, baseUrl: string) => ({
  redirect_uri: `${baseUrl}/user/oauth2/${id}/callback`,
  initiate_login_uri: `${baseUrl}/user/oauth2/${id}`,
  backchannel_logout_uri: `${baseUrl}/api/v1/user/oauth2/${id}/logout`,
  post_logout_redirect_uri: `${baseUrl}/sign-in`,
})

export const providerWire = (provider: Provider, baseUrl: string) => ({
  id: provider.id,
  name: provider.name,
  display_name: provider.displayName,
  type: provider.kind,
  issuer: provider.issuer,
  client_id: provider.clientId,
  has_client_secret: provider.sealedSecret !== undefined,
  is_active: provider.isActive,
  links_verified_domains: provider.options.linksVerifiedDomains,
  scopes: provider.options.scopes,
  allows_creation: provider.options.allowsCreation,
  groups_claim: provider.options.groupsClaim,
  group_teams: provider.options.groupRules.map(({ group, teamId }) => ({ group, team_id: teamId })),
  default_team_id: provider.options.defaultTeamId ?? 0,
  directory: provider.directory && directoryWire(provider.directory),
  compared_at: provider.comparedAt,
  withheld_ends: provider.withheldEnds,
  ...addressesOf(provider, baseUrl),
  last_problem: provider.lastProblem,
  created_at: provider.createdAt,
})
