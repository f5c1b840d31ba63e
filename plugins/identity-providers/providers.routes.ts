import {
  DomainNotProven,
  DomainRefused,
  LocalSignInNeeded,
  NothingWithheld,
  OrganizationDomainMissing,
  ProviderChanged,
  ProviderRefused,
  ProvidersNotAllowed,
} from '../../core/identity-providers/failures.ts'
import { ProviderMissing, ProviderNameTaken, ProviderUnavailable } from '../../core/identity-providers/ports.ts'
import { requires } from '../kit/access.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  checkExample,
  ConfirmEndsOption,
  domainExample,
  DomainOption,
  IdentityProvider,
  IdentityProviderOption,
  LocalSignIn,
  LocalSignInOption,
  OrganizationDomain,
  organizationInPath,
  OrgDomainPath,
  OrgPath,
  OrgProviderPath,
  ProviderCheck,
  providerExample,
} from './codecs.ts'

const common = {
  tag: 'Identity - Organizations & Teams',
  scopeCategory: 'organization',
  access: requires('owner', organizationInPath),
} as const
const route = routesOf({ ...common, params: OrgPath })
const providerRoute = routesOf({ ...common, params: OrgProviderPath, failures: [ProviderMissing] })
const domainRoute = routesOf({ ...common, params: OrgDomainPath, failures: [OrganizationDomainMissing] })

const providersPath = '/orgs/{orgname}/identity-providers'
const sent = {
  name: 'corporate',
  display_name: 'Analytical Engines',
  issuer: 'https://login.analytical.example/realms/staff',
  client_id: 'moorage',
  client_secret: 'the secret of the client',
  groups_claim: 'groups',
  group_teams: [{ group: '/platform/admins', team_id: 40 }],
}

export const listOrgProviders = route({
  id: 'identityProviders.list',
  method: 'GET',
  path: providersPath,
  summary: 'List the identity providers of an organization, by name',
  description: 'For owners. Client secrets are never returned.',
  ok: list(IdentityProvider, providerExample),
})

export const createOrgProvider = route({
  id: 'identityProviders.create',
  method: 'POST',
  path: providersPath,
  summary: 'Add an identity provider to an organization',
  description:
    'An OpenID Connect provider, or a directory. Register the returned `redirect_uri` at an OpenID Connect provider. ' +
    'Then check it. Returns 403 where the operator lets the site alone have providers.',
  refusesSudo: true,
  body: body(IdentityProviderOption, sent),
  ok: json(201, IdentityProvider, providerExample, 'Created'),
  failures: [ProviderRefused, ProviderNameTaken, ProvidersNotAllowed],
})

export const getOrgProvider = providerRoute({
  id: 'identityProviders.get',
  method: 'GET',
  path: `${providersPath}/{id}`,
  summary: 'Get an identity provider of an organization',
  description: 'For owners. The client secret is never returned.',
  ok: json(200, IdentityProvider, providerExample),
})

export const changeOrgProvider = providerRoute({
  id: 'identityProviders.change',
  method: 'PATCH',
  path: `${providersPath}/{id}`,
  summary: 'Change an identity provider; omitted fields do not change',
  description:
    'The client secret must be sent again if the issuer or its encryption changes: it would be sent to the new address. ' +
    'The host of a directory names its people: those of another host are others.',
  refusesSudo: true,
  body: body(IdentityProviderOption, { is_active: false }),
  ok: json(200, IdentityProvider, providerExample),
  failures: [ProviderRefused, ProviderNameTaken, ProvidersNotAllowed, ProviderChanged],
})

export const removeOrgProvider = providerRoute({
  id: 'identityProviders.remove',
  method: 'DELETE',
  path: `${providersPath}/{id}`,
  summary: 'Remove an identity provider, with the links of its people',
  description: 'Accounts, memberships and sessions stay. A person without a password sets one by mail.',
  refusesSudo: true,
  ok: empty(204),
})

export const checkOrgProvider = providerRoute({
  id: 'identityProviders.check',
  method: 'POST',
  path: `${providersPath}/{id}/check`,
  summary: 'Ask an identity provider for its description',
  description:
    'Searches a directory for a person. Returns 502 with a sentence that says what is wrong if the provider cannot be used.',
  ok: json(200, ProviderCheck, checkExample),
  failures: [ProviderUnavailable],
})

export const confirmOrgEnds = providerRoute({
  id: 'identityProviders.confirmEnds',
  method: 'POST',
  path: `${providersPath}/{id}/confirm-ends`,
  summary: 'Confirm that people who left a directory lose access',
  description:
    'A comparison with a directory that lacks too many people ends nothing, and says so in `withheld_ends`. This lets ' +
    'the next comparison, which begins at once, end as many. Returns 409 if the number is another one by now.',
  refusesSudo: true,
  body: body(ConfirmEndsOption, { ends: 12 }),
  ok: empty(204),
  failures: [NothingWithheld],
})

export const getOrgLocalSignIn = route({
  id: 'identityProviders.getLocalSignIn',
  method: 'GET',
  path: '/orgs/{orgname}/local-sign-in',
  summary: 'Get whether members sign in with passwords of this service',
  description: 'Whether the members of the organization sign in with passwords of this service.',
  ok: json(200, LocalSignIn, { is_off: false }),
})

export const setOrgLocalSignIn = route({
  id: 'identityProviders.setLocalSignIn',
  method: 'PUT',
  path: '/orgs/{orgname}/local-sign-in',
  summary: 'Switch sign-in with passwords off or on for an organization',
  description:
    'When it is off, members who are linked to a provider of the organization sign in there only, site ' +
    'administrators excepted. Returns 409 unless the session of the caller came from such a provider: it is then ' +
    'proven to work.',
  refusesSudo: true,
  body: body(LocalSignInOption, { is_off: true }),
  ok: empty(204),
  failures: [LocalSignInNeeded],
})

export const listOrgDomains = route({
  id: 'identityProviders.listDomains',
  method: 'GET',
  path: '/orgs/{orgname}/domains',
  summary: 'List the domains of an organization, by name',
  description: 'For owners, by name, each with the proof that it needs.',
  ok: list(OrganizationDomain, domainExample),
})

export const addOrgDomain = route({
  id: 'identityProviders.addDomain',
  method: 'POST',
  path: '/orgs/{orgname}/domains',
  summary: 'Add a domain to an organization',
  description:
    'Publish the returned proof, as a TXT record or as a file, then verify the domain. People with addresses of a ' +
    'verified domain are led to the provider of the organization.',
  refusesSudo: true,
  body: body(DomainOption, { domain: 'analytical.example' }),
  ok: json(201, OrganizationDomain, domainExample, 'Added'),
  failures: [DomainRefused],
})

export const verifyOrgDomain = domainRoute({
  id: 'identityProviders.verifyDomain',
  method: 'POST',
  path: '/orgs/{orgname}/domains/{id}/verify',
  summary: 'Look for the proof of a domain now',
  description: 'The proof must stay: it is checked again each day. A domain belongs to one organization at a time.',
  refusesSudo: true,
  ok: json(200, OrganizationDomain, { ...domainExample, is_verified: true }),
  failures: [DomainNotProven],
})

export const removeOrgDomain = domainRoute({
  id: 'identityProviders.removeDomain',
  method: 'DELETE',
  path: '/orgs/{orgname}/domains/{id}',
  summary: 'Remove a domain from an organization',
  description: 'Its addresses no longer lead to the providers of the organization, and link no member.',
  refusesSudo: true,
  ok: empty(204),
})
