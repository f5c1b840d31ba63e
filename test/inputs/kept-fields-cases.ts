import { DirectoryOption } from '../../plugins/identity-providers/directory-codecs.ts'
import { propsOf } from '../../composition/runtime/http/request/decode.ts'
import { pictureExample } from '../../plugins/kit/route.ts'
import type { PopulatedService } from '../support/populated-service.ts'

type Body = Readonly<Record<string, unknown>>
type OfFields<A> = Readonly<Record<string, A>>

/** What the rules of a route require beyond its declaration. Fields of an object in a body are `object/field`. */
export interface FieldCases {
  /** Fields of every request: names that are free, and what a rule requires beside another field. */
  readonly beside?: (requests: number) => Body
  /** Values of fields for which a general one is refused. */
  readonly values?: OfFields<unknown>
  /** Fields that no answer shows, or that cannot change, and why. */
  readonly skipped?: OfFields<string>
  /** The names under which answers show fields. */
  readonly shownAs?: OfFields<string>
  /** What an answer shows for a value that was sent. */
  readonly toShown?: OfFields<(sent: unknown) => unknown>
}

/** Routes that are not tried, and why. */
export const notTried: OfFields<string> = {
  'identity.uploadAvatar': 'takes the bytes of a picture; its address is shown',
  'clusters.checkCluster': 'saves nothing',
  'clusters.importCluster': 'needs a cluster for each request: test/clusters imports them',
  'clusters.connectCluster': 'takes a credential of the cluster, which is not shown',
  'packages.installRelease': 'installs a release: test/packages does it on a cluster',
  'packages.upgradeRelease': 'upgrades a release: test/packages does it on a cluster',
  'organizations.createRobotToken': 'the policies of the organization decide on each field: test/organizations',
  'usage.recordOutage': 'records one outage for each cluster and time: test/usage',
  'identityProviders.setLocalSignIn': 'needs a session of a provider: test/identity-providers',
  'identityProviders.setSiteLocalSignIn': 'needs a session of a provider: test/identity-providers',
  'identityProviders.createApp': 'knows two providers by name: test/identity-providers',
  'identityProviders.changeApp': 'shows no secret, and its name is in the path: test/identity-providers',
  'authorizationServer.createApplication': 'shows lines as lists: test/authorization-server',
  'authorizationServer.changeApplication': 'shows lines as lists: test/authorization-server',
  'authorizationServer.createOrgApplication': 'shows lines as lists: test/authorization-server',
  'authorizationServer.changeOrgApplication': 'shows lines as lists: test/authorization-server',
  'authorizationServer.createSiteApplication': 'shows lines as lists: test/authorization-server',
  'authorizationServer.changeSiteApplication': 'shows lines as lists: test/authorization-server',
  'rating.addPriceVersion': 'adds to a list, which test/rating reads back',
  'rating.priceContract': 'adds to a list, which test/rating reads back',
  'rating.draftInvoices': 'saves nothing of its body: test/rating',
  'rating.payInvoice': 'is possible once for each invoice: test/rating',
  'rating.creditInvoice': 'is possible once for each line: test/rating',
  'identity.createToken': 'makes a credential, whose fields test/identity reads back by its uses',
  'identity.createSettingsToken': 'makes a credential, whose fields test/identity reads back by its uses',
}

const secret = 'a credential is never shown'
const ofUser = 'is shown by what the user may do'
const picture = `data:image/png;base64,${pictureExample}`
const spelling = 'is another spelling of driver: test/packages/releases/storage-drivers.http.test.ts'
const fixed = 'must be what it is'
const ordinary = { skipped: { orgType: fixed } }
const withName = (requests: number): Body => ({ name: `made${requests}` })
const providerNamed = (requests: number): Body => ({
  name: `made${requests}`,
  issuer: 'https://login.example',
  client_id: 'moorage',
})
const federated = {
  values: { name: 'kept', conditions: [{ claim: 'sub', value: 'kept' }], scopes: ['read:user'], life_seconds: 120 },
  skipped: { cluster_uid: 'excludes the issuer: test/authorization-server' },
}
const sourceNamed = (requests: number): Body => ({
  name: `made${requests}`,
  openIDConnectAutoDiscoveryURL: 'https://login.example',
  oauth2Key: 'moorage',
})
const ofDirectories = (fields: readonly string[]): OfFields<string> =>
  Object.fromEntries(fields.map((field) => [field, 'is of directories: test/identity-providers reads it back']))
const directoryFields = ofDirectories(Object.keys(propsOf(DirectoryOption)).map((field) => `directory/${field}`))
const ldapFields = ofDirectories([
  'host',
  'port',
  'securityProtocol',
  'skipVerify',
  'bindDN',
  'bindPassword',
  'userBase',
  'filter',
  'adminFilter',
  'attributeUsername',
  'attributeName',
  'attributeSurname',
  'attributeMail',
  'searchPageSize',
])
const withUsername = (requests: number): Body => ({ username: `made${requests}` })
const credentials = { password: secret, token: secret, ca: secret, certificate: secret, key: secret }

export const casesOf = ({ fixture }: PopulatedService): Readonly<Record<string, FieldCases>> => {
  const roleId = fixture.id('role')
  const teamIds = [fixture.id('team')]
  const permissions = [{ namespace: 'cluster_mgmt', action: 'view clusters' }]
  const team: FieldCases = {
    values: { permission: 'write', is_custom: true, assignedRoleIDs: [roleId], type: 'kubernetes' },
    beside: () => ({ permission: 'custom' }),
    shownAs: { assignedRoleIDs: 'role_ids' },
  }
  const upload = {
    document: 'answers say whether there is one: test/contracts/documents.test.ts',
    fileName: 'the name of the download: test/contracts/documents.test.ts',
  }
  const dating = {
    effectiveFrom: 'dates a change: test/contracts reads the versions of the terms',
    reopen: 'allows a change of the past: test/contracts reads the versions of the terms',
  }
  const contract: FieldCases = {
    beside: () => ({ quota: { limit: 5 } }),
    values: {
      'emails/usageAlertClient': ['changed@example.com'],
      'quota/alertThresholds': [70],
      start: 1,
      restrictions: '{"offlineTtlDays":30}',
    },
    skipped: upload,
  }
  const ofGroups = {
    group_teams: [{ group: '/kept', team_id: fixture.id('team') }],
    default_team_id: fixture.id('team'),
  }
  const provider: FieldCases = {
    values: { ...ofGroups, name: 'kept', issuer: 'https://kept.example/realms/one' },
    skipped: { client_secret: secret, type: fixed, ...directoryFields },
  }
  const source: FieldCases = {
    values: { ...ofGroups, name: 'kept', openIDConnectAutoDiscoveryURL: 'https://kept.example/realms/one' },
    skipped: {
      oauth2Secret: secret,
      type: fixed,
      oauth2Provider: 'is openidConnect',
      ...directoryFields,
      ...ldapFields,
    },
  }
  const repository: FieldCases = { skipped: credentials, values: { plain_http: false } }
  const webhook: FieldCases = { values: { events: ['role.created'] } }
  return {
    'webhooks.createOrgWebhook': webhook,
    'webhooks.changeOrgWebhook': webhook,
    'webhooks.createSiteWebhook': webhook,
    'webhooks.changeSiteWebhook': webhook,
    'rating.putIssuer': { values: { country: 'FR' } },
    'rating.putSink': {
      values: { address: 'https://other.example', from: '2026-06' },
      skipped: { kind: 'never changes: test/rating', key: secret },
    },
    'rating.createPriceBook': {
      beside: (requests) => ({ name: `made${requests}`, issuer: fixture.key('invoice issuer') }),
      values: { currency: 'USD' },
      skipped: { issuer: 'must exist: test/rating' },
    },
    'rating.putCustomer': {
      values: { country: 'FR', taxPercent: '7', 'spendLimit/currency': 'USD' },
      skipped: { taxCategory: 'determines the other fields of the tax: test/rating' },
    },
    'platform.changeBranding': {
      values: { logo: picture, favicon: picture },
      skipped: {
        favicon: 'the pictures that are made of it are shown',
        favicons: 'the pictures that are made of favicon are shown',
      },
    },
    'identity.editProfile': {
      skipped: { name: fixed, email: 'must be another verified address: test/identity' },
    },
    'identity.adminUpdateProfile': { skipped: { name: fixed }, values: { email: 'updated@example.com' } },
    'identity.adminCreateUser': {
      beside: (requests) => ({ ...withUsername(requests), email: `made${requests}@example.com` }),
      values: { created_at: '2024-05-01T08:00:00.000Z' },
      skipped: { password: secret, must_change_password: ofUser, send_notify: 'sends a mail' },
      shownAs: { created_at: 'created' },
    },
    'identity.adminEditUser': {
      values: { email: 'edited@example.com' },
      skipped: { password: secret, must_change_password: ofUser, allow_create_organization: ofUser },
      shownAs: { admin: 'is_admin' },
    },
    'organizations.createOrganization': { ...ordinary, beside: withUsername },
    'organizations.adminCreateOrganization': { ...ordinary, beside: withUsername },
    'organizations.editOrganization': ordinary,
    'organizations.editPolicies': {
      skipped: {
        require_two_factor: 'needs a second factor of the caller: test/organizations',
        require_passkey: 'needs a session of a passkey: test/identity-providers/joins',
      },
    },
    'organizations.createTeam': { ...team, beside: (requests) => ({ ...withName(requests), permission: 'custom' }) },
    'organizations.editTeam': { ...team, skipped: { permission: 'goes with is_custom: test/organizations' } },
    'organizations.inviteMember': { values: { team_ids: teamIds } },
    'organizations.createRobot': { beside: withName, values: { team_ids: teamIds } },
    'organizations.editRobot': { values: { team_ids: teamIds } },
    'authz.createRole': {
      beside: withName,
      values: { permissions, team_ids: teamIds, teamIDs: teamIds },
      shownAs: { teamIDs: 'team_ids' },
    },
    'authz.updateRole': {
      values: { permissions, team_ids: teamIds, teamIDs: teamIds },
      shownAs: { teamIDs: 'team_ids' },
    },
    'authorizationServer.createFederatedCredential': {
      ...federated,
      beside: (requests) => ({ name: `made${requests}` }),
    },
    'authorizationServer.replaceFederatedCredential': {
      ...federated,
      values: { ...federated.values, name: 'renamed' },
      beside: () => ({ name: 'beside' }),
    },
    'identityProviders.create': { ...provider, beside: providerNamed },
    'identityProviders.change': { ...provider, values: { ...provider.values, name: 'renamed' } },
    'identityProviders.addDomain': { values: { domain: 'kept.example' } },
    'identityProviders.createAuth': { ...source, beside: sourceNamed },
    'identityProviders.changeAuth': { ...source, values: { ...source.values, name: 'renamed' } },
    'clusters.updateCluster': {
      values: { name: fixture.key('cluster'), provider: 'EKS' },
      skipped: { accessConfig: secret },
    },
    'packages.setDriver': {
      values: { 'driver/pkg3': { driverName: 'ConfigMap' } },
      shownAs: { 'driver/pkg3': 'data/driver/pkg3' },
      skipped: {
        'driver.pkg3.driverName': spelling,
        'data/driver': spelling,
        'data/driver.pkg3.driverName': spelling,
      },
    },
    'chart-repositories.createNamed': { ...repository, beside: withName },
    'chart-repositories.editNamed': repository,
    'contracts.createContracts': {
      ...contract,
      values: { ...contract.values, orgOrUser: fixture.people.owner, end: 5 },
      shownAs: { products: 'product' },
      toShown: { products: (sent) => (sent as readonly unknown[])[0] },
    },
    'contracts.updateContract': { ...contract, skipped: { ...upload, ...dating } },
    'contracts.extendContract': { values: { end: 5_000_000_000 }, skipped: dating },
    'contracts.updatePreferences': {
      values: { usageAlertClient: ['other@example.com'] },
      shownAs: { usageAlertClient: 'emails/usageAlertClient' },
    },
  }
}
