import { SecretBoxPort, secret } from '../../core/kernel/secret.ts'
import { must, defineSample, refusedFor } from '../support/part-sample.ts'
import { peopleIds, sample as identity } from '../identity/sample.ts'
import { sample as organizations } from '../organizations/sample.ts'

/** No request is sent to it: nothing listens there. */
const issuer = 'https://127.0.0.1:9/realms/none'
const path = '/api/v1/orgs'

/** A provider of the organization, its link to the owner, a session and a sign-in of it, and a domain. */
export const sample = defineSample({
  part: 'identity-providers',
  prepare: async (service) => {
    const body = { name: 'staff', openIDConnectAutoDiscoveryURL: issuer, oauth2Key: 'moorage' }
    const options = { token: service.adminToken, body }
    await must('site provider', service.send('POST', '/api/v1/accounts/admin/auths/new', options))
  },
  make: async (tenant) => {
    const { service, database, org, text } = tenant
    const { owner } = await tenant.of(identity)
    const { orgId } = await tenant.of(organizations)
    const asOwner = (body: object) => ({ token: owner.token, body })
    const form = { name: `login${orgId}`, display_name: text, issuer, client_id: 'moorage' }
    const provider = await must('provider', service.send('POST', `${path}/${org}/identity-providers`, asOwner(form)))
    const domain = await must(
      'domain',
      service.send('POST', `${path}/${org}/domains`, asOwner({ domain: `d${orgId}.example` })),
    )
    const providerId = (provider.json as { readonly id: number }).id
    const link = { provider_id: providerId, user_id: owner.id, issuer, subject: text, is_created: 0, email: '' }
    const place = { table: 'sign_in_attempts', column: 'sealed', tenantId: providerId, rowRef: 'r' }
    const sealed = await service.running.container.resolve(SecretBoxPort).seal(secret('nothing'), place)
    const hash = Buffer.alloc(32, orgId)
    await database.query((k) =>
      k('external_accounts').insert({ ...link, subject_hash: hash, created_at: 1, signed_in_at: 1, ref: 'r' }),
    )
    await database.query((k) =>
      k('sign_in_attempts').insert({
        state_hash: hash,
        browser_hash: hash,
        provider_id: providerId,
        stage: 'begun',
        user_id: owner.id,
        is_link: 1,
        ref: 'r',
        sealed,
        created_at: 1,
        expires_at: 1,
      }),
    )
    return { orgId, providerId, domainId: (domain.json as { readonly id: number }).id }
  },
  names: ({ providerId, domainId }) => ({
    'identity provider': { id: providerId },
    'organization domain': { id: domainId },
    'site provider': { id: 1, name: 'staff' },
  }),
  bodies: {
    'identityProviders.create': (mine, theirs) => ({
      own: { name: 'another', issuer, client_id: 'moorage', default_team_id: mine.id('team') },
      default_team_id: { name: 'another', issuer, client_id: 'moorage', default_team_id: theirs.id('team') },
      group_teams: {
        name: 'another',
        issuer,
        client_id: 'moorage',
        group_teams: [{ group: 'g', team_id: theirs.id('team') }],
      },
    }),
    'identityProviders.change': (mine, theirs) => ({
      own: { default_team_id: mine.id('team') },
      default_team_id: { default_team_id: theirs.id('team') },
      group_teams: { group_teams: [{ group: 'g', team_id: theirs.id('team') }] },
    }),
    'identityProviders.setLocalSignIn': () => ({ own: { is_off: false } }),
    'identityProviders.setSiteLocalSignIn': () => ({ own: { is_off: false } }),
    'identityProviders.addDomain': () => ({ own: { domain: 'another.example' } }),
  },
  sendsExample: (id) => id.startsWith('identityProviders.'),
  tables: (made, tenant) => ({
    identity_providers: { org_id: [made.orgId] },
    external_accounts: { user_id: peopleIds(tenant), provider_id: [made.providerId] },
    sign_in_attempts: { provider_id: [made.providerId], user_id: peopleIds(tenant) },
    organization_domains: { org_id: [made.orgId] },
    local_sign_in_offs: { org_id: [made.orgId] },
  }),
  sharedTables: {
    external_sessions: 'which session came from which provider: a row goes with the session',
    used_logout_tokens: 'digests of logout tokens of providers',
  },
  refusedToOwner: {
    ...refusedFor('for site admins', [
      'identityProviders.listAuths',
      'identityProviders.listAuthTypes',
      'identityProviders.createAuth',
      'identityProviders.getAuth',
      'identityProviders.changeAuth',
      'identityProviders.removeAuth',
      'identityProviders.checkAuth',
      'identityProviders.confirmSiteEnds',
      'identityProviders.listApps',
      'identityProviders.createApp',
      'identityProviders.changeApp',
      'identityProviders.removeApp',
      'identityProviders.getSiteLocalSignIn',
      'identityProviders.setSiteLocalSignIn',
    ]),
    'identityProviders.check []': 'nothing listens at the issuer',
    'identityProviders.verifyDomain []': 'the domain has no proof',
    'identityProviders.beginSignIn []': 'nothing listens at the issuer',
    'identityProviders.finishSignIn []': 'no sign-in is under way',
    'identityProviders.finishWithCode []': 'no sign-in is under way',
    'identityProviders.finishWithPassword []': 'no sign-in is under way',
    'identityProviders.confirmEnds []': 'nothing is withheld',
    'identityProviders.backChannelLogout []': 'nothing listens at the issuer',
    'identityProviders.beginLink []': 'the password is not proven',
    'identityProviders.removeLink []': 'there is no such link',
  },
})
