import type { AssembledRoute } from '../../composition/assemble.ts'
import { pathNames } from '../../composition/http/openapi/parameters.ts'
import { propsOf } from '../../composition/http/request/decode.ts'
import { pictureExample } from '../../plugins/kit/route.ts'
import { plantedUsage } from '../support/plant-usage.ts'
import type { Tenant } from './two-tenants.ts'

/** One request in which some ids and names are the other tenant's. */
export interface Swap {
  readonly routeId: string
  readonly method: string
  readonly path: string
  readonly body: unknown
  /** Which slots are the other tenant's: `path owner`, `query org`, `body teamIDs`. Empty: all is the caller's own. */
  readonly foreign: readonly string[]
  readonly wantsPassword: boolean
}

type Values = (tenant: Tenant) => string

const busTokenIn = (fullPath: string): Values | undefined => {
  if (!fullPath.includes('/bus-tokens/')) return undefined
  return fullPath.includes('/orgs/') ? ({ busTokenId }) => String(busTokenId) : ({ owner }) => String(owner.busTokenId)
}

const organizationsIdIn = (fullPath: string): Values | undefined => {
  if (fullPath.includes('/invitations/')) return ({ invitationId }) => String(invitationId)
  return fullPath.includes('/robots/') ? ({ robotTokenId }) => String(robotTokenId) : undefined
}

const taskIn = (fullPath: string): Values | undefined =>
  fullPath.includes('/tasks/') ? ({ taskRef }) => taskRef : undefined

const adminIdIn = (fullPath: string): Values | undefined => {
  if (fullPath.includes('/orphaned/')) return ({ orgId }) => String(orgId)
  return fullPath.includes('/deleted_accounts/') ? ({ viewer }) => String(viewer.id) : undefined
}

const roleOrTokenIn = (fullPath: string): Values | undefined => {
  if (fullPath.includes('/authz/roles/')) return ({ roleId }) => String(roleId)
  return fullPath.includes('tokens/{id}') ? ({ owner }) => String(owner.tokenId) : undefined
}

const contractIn = (fullPath: string): Values | undefined =>
  fullPath.includes('/contracts/{id}') ? ({ contractId }) => String(contractId) : undefined

const idIn = (fullPath: string): Values | undefined =>
  busTokenIn(fullPath) ??
  contractIn(fullPath) ??
  taskIn(fullPath) ??
  adminIdIn(fullPath) ??
  organizationsIdIn(fullPath) ??
  roleOrTokenIn(fullPath)

/** What a path parameter stands for in each tenant; undefined where it names nothing of a tenant. */
const pathValues: Readonly<Record<string, (route: AssembledRoute) => Values | undefined>> = {
  org:
    () =>
    ({ org }) =>
      org,
  orgname:
    () =>
    ({ org }) =>
      org,
  owner:
    () =>
    ({ org }) =>
      org,
  cluster:
    () =>
    ({ cluster }) =>
      cluster,
  clusterID:
    () =>
    ({ kubernetes }) =>
      kubernetes.uid,
  teamid:
    () =>
    ({ teamId }) =>
      String(teamId),
  username: ({ fullPath }) =>
    fullPath.includes('/users/{username}') && !fullPath.includes('/admin/')
      ? ({ owner }) => owner.login
      : ({ viewer }) => viewer.login,
  target:
    () =>
    ({ owner }) =>
      owner.login,
  objID:
    () =>
    ({ clusterId }) =>
      String(clusterId),
  sid:
    () =>
    ({ owner }) =>
      String(owner.sessionId),
  id: (route) => idIn(route.fullPath) ?? unknown('{id}', route),
  digest: () => undefined,
  userid:
    () =>
    ({ viewer }) =>
      String(viewer.id),
  robot:
    () =>
    ({ robot }) =>
      robot,
  repository:
    () =>
    ({ repository }) =>
      repository,
  chart: () => undefined,
  token:
    () =>
    ({ invitationToken }) =>
      invitationToken,
  credName:
    () =>
    ({ credential }) =>
      credential,
  serial:
    () =>
    ({ serial }) =>
      serial,
  ccID:
    () =>
    ({ boundClusterId }) =>
      String(boundClusterId),
  // Alike in both tenants: the account decides what they name.
  year: () => undefined,
  month: () => undefined,
  clusterUID: () => undefined,
  objectID: () => undefined,
  namespaceName: () => undefined,
  cloud: () => undefined,
  objectType: () => undefined,
  // A release in a cluster.
  name: () => undefined,
  action: () => undefined,
  // On the hub, whose rights decide.
  clusterset: () => undefined,
  managedCluster: () => undefined,
  feature: () => undefined,
  path: () => undefined,
}

const queryValues: Readonly<Record<string, Values | undefined>> = {
  url: ({ repositoryUrl }) => repositoryUrl,
  // Authorities are public, and no license of a tenant shows in the answer.
  license: () => '1',
  org: ({ org }) => org,
  uid: ({ viewer }) => String(viewer.id),
  uname: ({ viewer }) => viewer.login,
  user_name: ({ viewer }) => viewer.login,
  email: ({ viewer, canary }) => `${viewer.login}@${canary}.example`,
  q: ({ org }) => org,
  actor: ({ owner }) => owner.login,
  login_name: ({ viewer }) => viewer.login,
  check_client_org: ({ org }) => org,
  id: ({ owner }) => String(owner.emailId),
  account: ({ org }) => org,
  cluster: ({ cluster }) => cluster,
  contract: ({ contractId }) => String(contractId),
  account_id: ({ orgId }) => String(orgId),
  cluster_id: ({ kubernetes }) => kubernetes.uid,
}
/** Query parameters that name nothing of a tenant. */
const plainQuery: Readonly<Record<string, string | undefined>> = {
  is_active: undefined,
  is_admin: undefined,
  is_restricted: undefined,
  is_prohibit_login: undefined,
  is_2fa_enabled: undefined,
  visibility: undefined,
  source_id: undefined,
  sort: undefined,
  purge: undefined,
  after: undefined,
  state: undefined,
  kind: undefined,
  operation: 'check',
  _method: 'PRIMARY',
  action: undefined,
  since: undefined,
  page: undefined,
  limit: undefined,
  include_desc: undefined,
  all: 'true',
  provider: undefined,
  format: undefined,
  credential_type: undefined,
  fleet_endpoint: undefined,
  type: undefined,
  autoConnectClusters: undefined,
  'response-id': undefined,
  notify: undefined,
  view_type: undefined,
  revision: undefined,
  group: undefined,
  clusterUID: undefined,
  namespaceUID: undefined,
  contractID: undefined,
  onlyOffline: undefined,
  namespace: undefined,
  version: undefined,
  max: undefined,
  full: undefined,
  token: undefined,
  expirationSeconds: undefined,
  profile: undefined,
  skipCRDs: undefined,
  installer: undefined,
  installCRDs: undefined,
  wait: undefined,
  timeout: undefined,
  start: undefined,
  tags: undefined,
  from: undefined,
  to: undefined,
  status: undefined,
  // Which certificate of a public list is the first.
  license: undefined,
}
const constants: Readonly<Record<string, string>> = {
  clusterset: 'global',
  managedCluster: 'spoke',
  feature: 'backup',
  objectType: 'cluster',
  digest: 'd'.repeat(43),
  path: 'version',
  name: 'web',
  chart: 'web',
  year: plantedUsage.year,
  month: plantedUsage.month,
  clusterUID: plantedUsage.clusterUid,
  objectID: plantedUsage.objectUid,
  namespaceName: plantedUsage.namespace,
}

const permissions = [{ namespace: 'cluster_mgmt', action: 'view clusters' }]
const importing = (mine: Tenant, basicInfo: object = {}): object => ({
  basicInfo: { name: 'second', ...basicInfo },
  provider: { accessConfig: mine.kubernetes.kubeconfig() },
})
const inner = (key: string, value: unknown) => (mine: Tenant) => importing(mine, { [key]: value })

/** A chart of a named repository of a tenant. */
const chartOf = ({ repository }: Tenant): object => ({
  name: 'ferry',
  sourceKind: 'ChartRepository',
  sourceName: repository,
})
const bundleOf = ({ repository }: Tenant): object => {
  const sourceRef = { kind: 'ChartRepository', name: repository }
  return {
    name: 'fleet',
    version: '1.0.0',
    sourceRef,
    packages: [{ chart: { name: 'ferry', sourceRef, versions: [{ version: '1.0.0' }], required: true } }],
  }
}

/** A model of an editor: it names objects of the cluster in the path, and nothing of a tenant. */
const editorModel = {
  metadata: { resource: { group: '', version: 'v1', name: 'configmaps' }, release: { name: 'web', namespace: 'shop' } },
  resources: {},
}

/** A body that is all the caller's own, and those that carry something of the other tenant, by what it is. */
type Bodies = (mine: Tenant, theirs: Tenant) => Readonly<Record<string, unknown>> & { readonly own: unknown }

const imports: Bodies = (mine, theirs) => ({
  own: importing(mine),
  'basicInfo.ownerID': inner('ownerID', theirs.orgId)(mine),
  'basicInfo.managerID': inner('managerID', theirs.owner.id)(mine),
  'basicInfo.userID': inner('userID', theirs.owner.id)(mine),
  'basicInfo.clusterUID': inner('clusterUID', theirs.kubernetes.uid)(mine),
  'basicInfo.hubClusterID': inner('hubClusterID', theirs.kubernetes.uid)(mine),
})

const digitalOcean = (name: string): object => ({ name, type: 'DigitalOcean', digitalocean: { token: 'a token' } })
const secretOf = ({ kubernetes }: Tenant): object => ({
  cluster_uid: kubernetes.uid,
  secret_namespace: 'vault',
  secret_name: 'keys',
})

const contractFor = (orgOrUser: string): object => ({
  orgOrUser,
  name: 'second',
  products: ['database'],
  features: ['db-basic'],
  start: 1,
  end: 2,
})
const heartbeatOf = ({ kubernetes }: Tenant): object => ({
  clusterUID: kubernetes.uid,
  events: [{ id: '1', type: 'cluster.heartbeat', time: new Date().toISOString() }],
})

const outageOf = ({ org, kubernetes }: Tenant): object => ({
  accountName: org,
  clusterID: kubernetes.uid,
  start: '2026-11-01T00:00:00Z',
  end: '2026-11-01T01:00:00Z',
})

/** Routes with a body whose names or ids belong to a tenant. */
const bodies: Readonly<Record<string, Bodies>> = {
  'identity.deleteSettingsTokens': (mine, theirs) => ({
    own: { tokenIDs: [mine.viewer.tokenId] },
    tokenIDs: { tokenIDs: [theirs.owner.tokenId] },
  }),
  'identity.adminCreateUser': () => ({
    own: { username: 'newcomer', email: 'newcomer@example.com', password: 'quiet-lantern-over-water-17' },
  }),
  'identity.adminEditUser': () => ({ own: { full_name: 'Changed' } }),
  'identity.adminChangePassword': () => ({ own: { password: 'another-lantern-over-water-18' } }),
  'identity.adminUpdateProfile': () => ({ own: { full_name: 'Changed' } }),
  'identity.adminRenameUser': (_, theirs) => ({
    own: { new_username: 'renamed' },
    new_username: { new_username: theirs.viewer.login },
  }),
  'identity.consoleCreateUser': () => ({
    own: { userName: 'newcomer', email: 'newcomer@example.com', password: 'quiet-lantern-over-water-17' },
  }),
  'identity.consoleEditUser': () => ({ own: { fullName: 'Changed' } }),
  'identity.setRegistration': () => ({ own: { disableRegistration: true } }),
  'identity.allowDomain': () => ({ own: { name: 'example.net' } }),
  'identity.disallowDomain': () => ({ own: { name: 'example.net' } }),
  'identity.signUp': (_, theirs) => ({
    own: { username: 'newcomer', email: 'newcomer@example.com', password: 'quiet-lantern-over-water-17' },
    username: { username: theirs.viewer.login, email: 'newcomer@example.com', password: 'quiet-lantern-over-water-17' },
  }),
  'platform.changeBranding': () => ({ own: { appName: 'Changed' } }),
  'organizations.adminCreateOrganization': (_, theirs) => ({
    own: { username: 'founded' },
    username: { username: theirs.org },
  }),
  'identity.createToken': (mine, theirs) => ({
    own: { name: 'more', org: mine.org },
    org: { name: 'thief', org: theirs.org },
  }),
  'identity.createSettingsToken': (mine, theirs) => ({
    own: { name: 'still more', org: mine.org },
    org: { name: 'thief', org: theirs.org },
  }),
  'organizations.editOrganization': () => ({ own: { description: 'Changed' } }),
  'organizations.renameOrganization': (mine, theirs) => ({
    own: { new_name: mine.org.toUpperCase() },
    new_name: { new_name: theirs.org },
  }),
  'organizations.createTeam': (_, theirs) => ({
    own: { name: 'another' },
    assignedRoleIDs: { name: 'another', assignedRoleIDs: [theirs.roleId] },
  }),
  'organizations.editTeam': (mine, theirs) => ({
    own: { description: 'Changed', assignedRoleIDs: [mine.roleId] },
    assignedRoleIDs: { assignedRoleIDs: [theirs.roleId] },
    both: { assignedRoleIDs: [mine.roleId, theirs.roleId] },
  }),
  'organizations.inviteMember': (mine, theirs) => ({
    own: { email: 'newcomer@example.com', role: 'member', team_ids: [mine.teamId] },
    team_ids: { email: 'newcomer@example.com', role: 'member', team_ids: [theirs.teamId] },
  }),
  'organizations.setAvatar': () => ({ own: { image: pictureExample } }),
  'organizations.editPolicies': () => ({ own: { two_factor_grace_days: 3 } }),
  'organizations.createRobot': (mine, theirs) => ({
    own: { name: 'helper', team_ids: [mine.teamId] },
    team_ids: { name: 'thief', team_ids: [theirs.teamId] },
  }),
  'organizations.editRobot': (mine, theirs) => ({
    own: { team_ids: [mine.teamId] },
    team_ids: { team_ids: [theirs.teamId] },
    both: { team_ids: [mine.teamId, theirs.teamId] },
  }),
  'organizations.createRobotToken': () => ({ own: { name: 'more' } }),
  'organizations.setMembership': () => ({ own: { role: 'member' } }),
  'authz.listAllowedPermissions': (mine, theirs) => ({
    own: [{ objectType: 'cluster', objectID: mine.clusterId }],
    'cluster id': [{ objectType: 'cluster', objectID: theirs.clusterId }],
    'team id': [{ objectType: 'team', objectID: theirs.teamId }],
    'organization id': [{ objectType: 'organization', objectID: theirs.orgId }],
    'user id': [{ objectType: 'user', objectID: theirs.owner.id }],
    'token id': [{ objectType: 'token', objectID: theirs.owner.tokenId }],
    'robot id': [{ objectType: 'robot_ac', objectID: theirs.robotId }],
    mixed: [
      { objectType: 'cluster', objectID: mine.clusterId },
      { objectType: 'cluster', objectID: theirs.clusterId },
    ],
  }),
  'authz.createRole': (mine, theirs) => ({
    own: { name: 'second', permissions },
    teamIDs: { name: 'second', permissions, teamIDs: [theirs.teamId] },
    both: { name: 'second', permissions, teamIDs: [mine.teamId, theirs.teamId] },
  }),
  'authz.updateRole': (mine, theirs) => ({
    own: { description: 'Changed' },
    teamIDs: { teamIDs: [theirs.teamId] },
    both: { teamIDs: [mine.teamId, theirs.teamId] },
  }),
  'clusters.checkCluster': imports,
  'clusters.validateImport': imports,
  'clusters.importCluster': imports,
  'clusters.updateCluster': (mine, theirs) => ({
    own: { displayName: 'Changed', provider: 'Generic', accessConfig: mine.kubernetes.kubeconfig() },
    name: { name: theirs.cluster, provider: 'Generic', accessConfig: mine.kubernetes.kubeconfig() },
  }),
  'clusters.connectCluster': () => ({ own: {} }),
  'clusters.reconfigureCluster': (_, theirs) => ({
    own: { basicInfo: { displayName: 'Changed' } },
    'basicInfo.ownerID': { basicInfo: { displayName: 'Changed', ownerID: theirs.orgId } },
    'basicInfo.userID': { basicInfo: { displayName: 'Changed', userID: theirs.owner.id } },
    'basicInfo.clusterUID': { basicInfo: { displayName: 'Changed', clusterUID: theirs.kubernetes.uid } },
    'basicInfo.name': { basicInfo: { name: theirs.cluster } },
  }),
  'chart-repositories.createNamed': ({ repositoryUrl }) => ({ own: { name: 'second', url: repositoryUrl } }),
  'chart-repositories.editNamed': () => ({ own: { description: 'Changed' } }),
  'clouds.createCredential': (mine, theirs) => ({
    own: digitalOcean('second'),
    'ownerID of an organization': { ...digitalOcean('third'), ownerID: theirs.orgId },
    'ownerID of a person': { ...digitalOcean('third'), ownerID: theirs.owner.id },
    'ownerID of the own organization': { ...digitalOcean('third'), ownerID: mine.orgId },
  }),
  'clouds.replaceCredential': (mine, theirs) => ({
    own: digitalOcean(mine.credential),
    name: digitalOcean(theirs.credential),
    ownerID: { ...digitalOcean(mine.credential), ownerID: theirs.owner.id },
  }),
  'clouds.listBuckets': (mine, theirs) => ({
    own: secretOf(mine),
    cluster_uid: secretOf(theirs),
    credential: { credential: theirs.credential },
    'credential and cluster_uid': { credential: mine.credential, ...secretOf(theirs) },
  }),
  'spokes.getJoinCommand': (mine, theirs) => ({
    own: { clusterName: 'shop', hubClusterName: mine.cluster },
    hubClusterUID: { clusterName: 'shop', hubClusterUID: theirs.kubernetes.uid },
    hubClusterOwnerID: { clusterName: 'shop', hubClusterOwnerID: theirs.orgId },
  }),
  'packages.listReleases': () => ({ own: {} }),
  'packages.installRelease': (mine, theirs) => ({
    own: { ...chartOf(mine), releaseName: 'web', namespace: 'shop' },
    sourceName: { ...chartOf(theirs), releaseName: 'web', namespace: 'shop' },
  }),
  'packages.upgradeRelease': (mine, theirs) => ({
    own: { ...chartOf(mine), namespace: 'shop' },
    sourceName: { ...chartOf(theirs), namespace: 'shop' },
  }),
  'packages.uninstallRelease': () => ({ own: { namespace: 'shop' } }),
  'packages.rollbackRelease': () => ({ own: { namespace: 'shop' } }),
  'packages.setDriver': () => ({ own: { driver: { pkg3: { driverName: 'Secret' } } } }),
  'packages.getBundleView': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
  'packages.orderBundle': (mine, theirs) => ({ own: bundleOf(mine), 'sourceRef.name': bundleOf(theirs) }),
  'packages.getPackageView': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
  'packages.listPackageFiles': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
  'packages.getPackageFile': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
  'packages.orderPackage': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
  'packages.getPackageValues': (mine, theirs) => ({ own: chartOf(mine), sourceName: chartOf(theirs) }),
  'packages.makeOptionsModel': () => ({ own: editorModel }),
  'packages.renderOptionsManifest': () => ({ own: editorModel }),
  'packages.renderOptionsResources': () => ({ own: editorModel }),
  'packages.applyEditor': () => ({ own: editorModel }),
  'packages.deleteEditor': () => ({ own: editorModel }),
  'packages.loadEditorModel': () => ({ own: editorModel }),
  'packages.loadEditorManifest': () => ({ own: editorModel }),
  'packages.loadEditorResources': () => ({ own: editorModel }),
  'spokes.importSpoke': (mine, theirs) => ({
    own: importing(mine),
    'basicInfo.ownerID': importing(mine, { ownerID: theirs.orgId }),
    'basicInfo.clusterUID': importing(mine, { clusterUID: theirs.kubernetes.uid }),
    'basicInfo.hubClusterID': importing(mine, { hubClusterID: theirs.kubernetes.uid }),
  }),
  'spokes.convertToSpoke': (mine, theirs) => ({
    own: { basicInfo: { name: mine.cluster } },
    'basicInfo.name': { basicInfo: { name: theirs.cluster } },
    'basicInfo.clusterUID': { basicInfo: { clusterUID: theirs.kubernetes.uid } },
  }),
  'contracts.assignCluster': (mine, theirs) => ({
    own: { clusterId: mine.kubernetes.uid, contractIds: [mine.contractId] },
    clusterId: { clusterId: theirs.kubernetes.uid, contractIds: [mine.contractId] },
    contractIds: { clusterId: mine.kubernetes.uid, contractIds: [theirs.contractId] },
    both: { clusterId: mine.kubernetes.uid, contractIds: [mine.contractId, theirs.contractId] },
  }),
  'contracts.bindClusters': (_, theirs) => ({
    own: [{ cluster: '1f0c9a52-4f5e-4b51-9f0e-7a3f3c2f8e11' }],
    cluster: [{ cluster: theirs.kubernetes.uid }],
  }),
  'contracts.bindAnyClusters': (_, theirs) => ({
    own: [{ cluster: '2f0c9a52-4f5e-4b51-9f0e-7a3f3c2f8e11' }],
    cluster: [{ cluster: theirs.kubernetes.uid }],
  }),
  'contracts.listClusterStatuses': (mine, theirs) => ({
    own: { clusters: [mine.kubernetes.uid] },
    clusters: { clusters: [theirs.kubernetes.uid] },
  }),
  'contracts.listAnyClusterStatuses': (mine, theirs) => ({
    own: { clusters: [mine.kubernetes.uid] },
    clusters: { clusters: [theirs.kubernetes.uid] },
  }),
  'contracts.issueForMachine': (mine, theirs) => ({
    own: { cluster: mine.kubernetes.uid, features: ['db-basic'] },
    cluster: { cluster: theirs.kubernetes.uid, features: ['db-basic'] },
  }),
  'contracts.makeProxyValues': (mine, theirs) => ({
    own: { clusterID: mine.kubernetes.uid, contractIDs: [mine.contractId] },
    clusterID: { clusterID: theirs.kubernetes.uid, contractIDs: [mine.contractId] },
    contractIDs: { clusterID: mine.kubernetes.uid, contractIDs: [theirs.contractId] },
    both: { clusterID: mine.kubernetes.uid, contractIDs: [mine.contractId, theirs.contractId] },
  }),
  'contracts.createContracts': (mine, theirs) => ({ own: contractFor(mine.org), orgOrUser: contractFor(theirs.org) }),
  'usage.reportEvents': (mine, theirs) => ({ own: heartbeatOf(mine), clusterUID: heartbeatOf(theirs) }),
  'usage.recordOutage': (mine, theirs) => ({
    own: outageOf(mine),
    accountName: { ...outageOf(mine), accountName: theirs.org },
    clusterID: { ...outageOf(mine), clusterID: theirs.kubernetes.uid },
  }),
  'clusters.removeCluster': (mine, theirs) => ({ own: { name: mine.cluster }, name: { name: theirs.cluster } }),
}
/** Routes on the object in the path whose bodies name nothing of a tenant: the declared example is sent. */
const plainBodies: readonly string[] = [
  'contracts.updatePreferences',
  'contracts.renameCluster',
  'contracts.retagCluster',
  'contracts.renameAnyCluster',
  'contracts.retagAnyCluster',
  'contracts.updateContract',
  'contracts.extendContract',
  'contracts.uploadDocument',
]
/** Parts whose bodies name objects of the hub in the path, and nothing of a tenant: the declared example is sent. */
const hubParts: readonly string[] = ['clustersets', 'spokes', 'featuresets']
/** Whether a route is about objects of a hub. The clusters of both tenants are none. */
export const isOfHub = (routeId: string): boolean =>
  !['spokes.listHubs', 'spokes.listAllHubs'].includes(routeId) &&
  hubParts.some((part) => routeId.startsWith(`${part}.`))

/** Bodies that speak of the caller alone: they name nothing that somebody else could own. */
const ownAffairs = [
  'identity.signIn',
  'identity.signInWithCode',
  'identity.editUserSettings',
  'identity.editProfile',
  'identity.changePassword',
  'identity.deleteAccount',
  'identity.changePageSizes',
  'identity.addEmails',
  'identity.changeAccountEmail',
  'identity.confirmEmail',
  'identity.forgotPassword',
  'identity.resetPassword',
  'identity.setAvatar',
  'identity.uploadAvatar',
  'identity.removeEmails',
  'identity.enrollSecondFactor',
  'identity.replaceRecoveryCodes',
  'identity.disableSecondFactor',
  'organizations.createOrganization',
]

interface Slot {
  readonly label: string
  fill(tenant: Tenant, into: { path: string; readonly query: URLSearchParams }): void
}

const unknown = (what: string, route: AssembledRoute): never => {
  throw new Error(
    `test/tenants/swaps.ts does not know the value of ${what} of ${route.bound.route.id} in a tenant: add it there`,
  )
}

const slotsOf = (route: AssembledRoute): readonly Slot[] => [
  ...pathNames(route.fullPath).flatMap((name): readonly Slot[] => {
    const value = (pathValues[name] ?? unknown(`{${name}}`, route))(route)
    return value === undefined
      ? []
      : [
          {
            label: `path ${name}`,
            fill: (tenant, into) => void (into.path = into.path.replace(`{${name}}`, value(tenant))),
          },
        ]
  }),
  ...Object.keys(propsOf(route.bound.kind === 'json' ? route.bound.route.query : undefined)).flatMap(
    (name): readonly Slot[] => {
      if (name in plainQuery) return []
      const value = queryValues[name] ?? unknown(`the query parameter ${name}`, route)
      return [{ label: `query ${name}`, fill: (tenant, into) => into.query.set(name, value(tenant)) }]
    },
  ),
]

const bodiesOf = (route: AssembledRoute, mine: Tenant, theirs: Tenant): ReturnType<Bodies> => {
  if (route.bound.kind !== 'json' || route.bound.route.body === undefined) return { own: undefined }
  const { id } = route.bound.route
  if (ownAffairs.includes(id)) return { own: undefined }
  const { example } = route.bound.route.body
  return (
    bodies[id] ?? (isOfHub(id) || plainBodies.includes(id) ? () => ({ own: example }) : unknown('the body', route))
  )(mine, theirs)
}

const subsets = <A>(items: readonly A[]): readonly (readonly A[])[] =>
  items.reduce<readonly (readonly A[])[]>(
    (found, item) => [...found, ...found.map((subset) => [...subset, item])],
    [[]],
  )

const actionsOf = ({ fullPath }: AssembledRoute): readonly string[] =>
  !fullPath.includes('{action}')
    ? ['']
    : fullPath.includes('/teams/')
      ? ['join', 'leave', 'remove', 'add']
      : ['public', 'private', 'remove', 'leave']

/**
 * Every way of putting the other tenant's ids and names into a route's path, query and body; with none of them first.
 * Nothing for a route that takes no id or name.
 */
export const swapsOf = (route: AssembledRoute, mine: Tenant, theirs: Tenant): readonly Swap[] => {
  // A signed link is a credential of its own; test/contracts/documents.test.ts changes each part of one.
  if (route.bound.route.id === 'contracts.openDocument') return []
  const slots = slotsOf(route)
  const variants = bodiesOf(route, mine, theirs)
  if (slots.length === 0 && Object.keys(variants).length === 1) return []
  const { bound, methods } = route
  const wantsPassword = bound.kind === 'json' && bound.route.access.kind === 'password'
  return methods.flatMap((method) =>
    actionsOf(route).flatMap((action) =>
      subsets(slots).flatMap((foreign) => {
        const target = {
          path: route.fullPath.replace(/\*$/, '{path}').replace('{action}', action),
          query: new URLSearchParams(),
        }
        for (const slot of slots) slot.fill(foreign.includes(slot) ? theirs : mine, target)
        for (const [name, value] of Object.entries(constants)) target.path = target.path.replace(`{${name}}`, value)
        for (const name of Object.keys(propsOf(bound.kind === 'json' ? bound.route.query : undefined)))
          if (plainQuery[name] !== undefined) target.query.set(name, plainQuery[name])
        const path = target.query.size === 0 ? target.path : `${target.path}?${target.query.toString()}`
        const labels = [...(action === '' ? [] : [`action ${action}`]), ...foreign.map(({ label }) => label)]
        return Object.entries(variants).map(([what, body]): Swap => ({
          routeId: bound.route.id,
          method,
          path,
          body,
          wantsPassword,
          foreign: what === 'own' ? labels : [...labels, `body ${what}`],
        }))
      }),
    ),
  )
}

/** Whether anything in it is the other tenant's. */
export const isForeign = ({ foreign }: Swap): boolean => foreign.some((label) => !label.startsWith('action '))
