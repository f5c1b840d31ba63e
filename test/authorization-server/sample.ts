import { SecretBoxPort, secret } from '../../core/kernel/secret.ts'
import { sample as identity, peopleIds } from '../identity/sample.ts'
import { sample as organizations } from '../organizations/sample.ts'
import { defineSample, must, refusedFor } from '../support/part-sample.ts'

const redirectUri = 'https://app.example.com/callback'
const form = { name: 'sample', redirectUri }
const federated = {
  issuer: 'https://token.actions.githubusercontent.com',
  audience: 'https://platform.example',
  conditions: [{ claim: 'repository_id', value: '702441' }],
  scopes: ['write:cluster'],
}

/** An application of the owner and one of the organization, a consent of the owner, and a record of the protocol. */
export const sample = defineSample({
  part: 'authorization-server',
  prepare: async (service) => {
    const path = '/api/v1/accounts/admin/applications/oauth2'
    await must('site application', service.send('POST', path, { token: service.adminToken, body: form }))
  },
  make: async (tenant) => {
    const { service, database, org, text } = tenant
    const { owner } = await tenant.of(identity)
    const { orgId } = await tenant.of(organizations)
    const asOwner = { token: owner.token, body: { ...form, name: text } }
    const own = await must('application', service.send('POST', '/api/v1/user/settings/applications/oauth2', asOwner))
    const ofOrg = await must(
      'application of an organization',
      service.send('POST', `/api/v1/orgs/${org}/applications/oauth2`, asOwner),
    )
    const { id: ownId, clientSecret: ownSecret } = own.json as { readonly id: number; readonly clientSecret: string }
    const orgApplicationId = (ofOrg.json as { readonly id: number }).id
    const consent = {
      user_id: owner.id,
      application_id: ownId,
      scopes: 'openid',
      counter: 1,
      created_at: 1,
      updated_at: 1,
    }
    await database.query((k) => k('oauth_consents').insert(consent))
    const idHash = Buffer.alloc(32, orgId)
    const place = { table: 'oauth_records', column: 'sealed', tenantId: 0, rowRef: idHash.toString('hex') }
    const sealed = await service.running.container.resolve(SecretBoxPort).seal(secret('{}'), place)
    await database.query((k) =>
      k('oauth_records').insert({
        id_hash: idHash,
        kind: 'AuthorizationCode',
        user_id: owner.id,
        application_id: ownId,
        sealed,
        expires_at: Date.now() + 3_600_000,
      }),
    )
    // Its report is not due, so the row stays.
    const later = Date.now() + 3_600_000
    await database.query((k) =>
      k('oauth_sign_ins').insert({ user_id: owner.id, application_id: ownId, sid: `sid-${orgId}`, due_at: later }),
    )
    const { robot, robotId } = await tenant.of(organizations)
    const credential = await must(
      'federated credential',
      service.send('POST', `/api/v1/orgs/${org}/robots/${robot}/federated-credentials`, {
        token: owner.token,
        body: { ...federated, name: text },
      }),
    )
    const { id: federatedId } = credential.json as { readonly id: number }
    const use = { id_hash: Buffer.alloc(32, orgId), robot_id: robotId, token_id: 1, expires_at: Date.now() + 3_600_000 }
    await database.query((k) => k('workload_uses').insert(use))
    return { federatedId, robotId, orgId, ownId, orgApplicationId, ownSecret }
  },
  names: ({ federatedId, ownId, orgApplicationId }) => ({
    'federated credential of a robot_ac': { id: federatedId },
    application: { id: ownId },
    'application of an organization': { id: orgApplicationId },
    'application of the site': { id: 1 },
    'any application': { id: ownId },
  }),
  bodies: {
    'authorizationServer.createFederatedCredential': () => ({ own: { ...federated, name: 'another' } }),
    'authorizationServer.replaceFederatedCredential': () => ({ own: { ...federated, name: 'replaced' } }),
    'authorizationServer.createOrgApplication': (mine, theirs) => ({
      own: { ...form, robotId: mine.id('robot_ac') },
      robotId: { ...form, robotId: theirs.id('robot_ac') },
    }),
    'authorizationServer.changeOrgApplication': (mine, theirs) => ({
      own: { robotId: mine.id('robot_ac') },
      robotId: { robotId: theirs.id('robot_ac') },
    }),
  },
  sendsExample: (id) => id.startsWith('authorizationServer.'),
  secrets: ({ ownSecret }) => [ownSecret],
  tables: (made, tenant) => ({
    oauth_applications: { user_id: peopleIds(tenant), org_id: [made.orgId] },
    oauth_consents: { user_id: peopleIds(tenant) },
    oauth_records: { user_id: peopleIds(tenant) },
    oauth_sign_ins: { user_id: peopleIds(tenant) },
    federated_credentials: { org_id: [made.orgId] },
    workload_uses: { robot_id: [made.robotId] },
  }),
  sharedTables: { oauth_keys: 'the signing keys of the service' },
  harmless: {
    'authorizationServer.withdrawConsent [path id]': {
      why: 'nothing was allowed, and the answer is the same for an application that does not exist',
      says: /^$/,
    },
  },
  refusedToOwner: {
    ...refusedFor('for site admins', [
      'authorizationServer.listSiteApplications',
      'authorizationServer.createSiteApplication',
      'authorizationServer.getSiteApplication',
      'authorizationServer.changeSiteApplication',
      'authorizationServer.removeSiteApplication',
      'authorizationServer.rotateSiteSecret',
      'authorizationServer.trustApplication',
    ]),
    'authorizationServer.showAuthorization []': 'no application asks',
    'authorizationServer.decideAuthorization []': 'no application asks',
    'authorizationServer.showDevice []': 'no device asks',
    'authorizationServer.answerDevice []': 'no device asks',
  },
})
