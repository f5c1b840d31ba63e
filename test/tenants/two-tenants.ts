import { createHash } from 'node:crypto'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { expectStatus, importCluster } from '../clusters/cluster-world.ts'
import { migratedSqlitePath } from '../support/databases.ts'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import { plantBusToken } from '../support/plant-bus-token.ts'
import { plantContract, type PlantedContract } from '../support/plant-contract.ts'
import { plantLicenseAuthority } from '../support/plant-license-authority.ts'
import { plantTask } from '../support/plant-task.ts'
import { plantUsage } from '../support/plant-usage.ts'
import { serveRelease } from '../support/serve-release.ts'
import { startService, type TestService } from '../support/service.ts'

export const memberPassword = 'quiet-lantern-over-water-17'

/** A person of a tenant. */
export interface Member {
  readonly login: string
  readonly id: number
  /** A personal access token, all scopes. */
  readonly token: string
  /** Another token, which nobody uses. */
  readonly tokenId: number
  readonly sessionId: number
  /** A confirmed address that is not the primary one. */
  readonly emailId: number
  readonly busTokenId: number
}

/** One organization with everything that belongs to it; the other one has the same shape. */
export interface Tenant extends PlantedContract {
  readonly org: string
  readonly orgId: number
  /** Stands in every text of this tenant that nobody outside has seen, and nowhere else. */
  readonly canary: string
  readonly owner: Member
  readonly viewer: Member
  /** A team with members and a role, named alike in both tenants. */
  readonly teamId: number
  readonly roleId: number
  readonly cluster: string
  /** A cloud credential of the owner. */
  readonly credential: string
  /** A named chart repository of the organization, at an address where nothing may be asked. */
  readonly repository: string
  readonly repositoryUrl: string
  readonly clusterId: number
  readonly kubernetes: FakeKubernetes
  readonly busTokenId: number
  /** A task of the owner, about the organization; it has ended. */
  readonly taskRef: string
  /** A robot account of the organization, and its token. */
  readonly robot: string
  readonly robotId: number
  readonly robotTokenId: number
  /** An invitation to the owner's address, which nobody could send: the owner is a member. */
  readonly invitationId: number
  readonly invitationToken: string
}

export interface TwoTenants {
  readonly service: TestService
  readonly database: SqlDatabase
  readonly north: Tenant
  readonly south: Tenant
  stop(): Promise<void>
}

const makeMember = async (
  service: TestService,
  database: SqlDatabase,
  login: string,
  canary: string,
): Promise<Member> => {
  const body = {
    username: login,
    email: `${login}@${canary}.example`,
    full_name: `${login} ${canary}`,
    password: memberPassword,
    must_change_password: false,
  }
  const made = await expectStatus(service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body }), 201)
  const token = await service.tokenFor(login)
  const id = made.json.id as number
  await expectStatus(
    service.send('PATCH', '/api/v1/user/settings', {
      token,
      body: { location: canary, description: canary, hide_email: false },
    }),
    200,
  )
  await expectStatus(
    service.send('POST', '/api/v1/user/signin', { body: { username: login, password: memberPassword } }),
    200,
  )
  await service.tokenFor(login)
  const [row] = await database.query<{ token_id: number; session_id: number }>((k) =>
    k('access_tokens')
      .join('sessions', 'sessions.user_id', 'access_tokens.user_id')
      .where('access_tokens.user_id', id)
      .max({ token_id: 'access_tokens.id' })
      .max({ session_id: 'sessions.id' }),
  )
  await database.query((k) =>
    k('access_tokens')
      .where('id', Number(row?.token_id))
      .update({ name: `token ${canary}` }),
  )
  const second = `${login}-second@${canary}.example`
  await database.query((k) =>
    k('emails').insert({ user_id: id, email: second, lower_email: second, verified: true, created_at: 0 }),
  )
  const [email] = await database.query<{ id: number }>((k) => k('emails').where('email', second).select('id'))
  return {
    login,
    id,
    token,
    emailId: Number(email?.id),
    tokenId: Number(row?.token_id),
    sessionId: Number(row?.session_id),
    busTokenId: await plantBusToken(service, id),
  }
}

const plantInvitation = async (database: SqlDatabase, orgId: number, inviter: Member, email: string) => {
  const invitationToken = `invited${orgId}`.padEnd(32, 'x')
  const token_hash = createHash('sha256').update(invitationToken).digest()
  const columns = {
    org_id: orgId,
    email,
    lower_email: email,
    role: 'member',
    inviter_id: inviter.id,
    created_at: 1,
    expires_at: Date.now() + 3_600_000,
  }
  await database.query((k) => k('org_invitations').insert({ ...columns, token_hash }))
  const [row] = await database.query<{ id: number }>((k) => k('org_invitations').where('org_id', orgId).select('id'))
  return { invitationId: Number(row?.id), invitationToken }
}

const makeTenant = async (service: TestService, database: SqlDatabase, org: string): Promise<Tenant> => {
  const canary = `canary-${org}`
  const owner = await makeMember(service, database, `${org}-owner`, canary)
  const viewer = await makeMember(service, database, `${org}-viewer`, canary)
  const as = (body?: unknown) => ({ token: owner.token, ...(body === undefined ? {} : { body }) })
  const made = await expectStatus(
    service.send(
      'POST',
      '/api/v1/orgs',
      as({ username: org, visibility: 'private', full_name: canary, description: canary, location: canary }),
    ),
    201,
  )
  const permissions = [
    { namespace: 'cluster_mgmt', action: 'view clusters' },
    { namespace: 'org_mgmt', action: 'view teams' },
  ]
  const role = await expectStatus(
    service.send('POST', `/api/v1/authz/roles?org=${org}`, as({ name: 'lookout', description: canary, permissions })),
    201,
  )
  const team = await expectStatus(
    service.send(
      'POST',
      `/api/v1/orgs/${org}/teams`,
      as({ name: 'watch', description: canary, permission: 'custom', assignedRoleIDs: [role.json.id] }),
    ),
    201,
  )
  await expectStatus(service.send('PUT', `/api/v1/teams/${team.json.id}/members/${viewer.login}`, as()), 204)
  // Private only now: nobody but a site admin could have made a private person a member.
  for (const { login } of [owner, viewer])
    await expectStatus(
      service.send('PATCH', `/api/v1/admin/users/${login}`, {
        token: service.adminToken,
        body: { visibility: 'private' },
      }),
      200,
    )
  await expectStatus(service.send('GET', '/api/v1/user/settings/security/twofa/enroll', as()), 200)
  const kubernetes = await startFakeKubernetes()
  await serveRelease(kubernetes, canary)
  const cluster = `${org}-pier`
  const credential = `${org}-vault`
  await expectStatus(
    service.send(
      'POST',
      '/api/v1/user/credentials',
      as({ name: credential, type: 'Hetzner', hetzner: { sshKeyName: canary, token: canary } }),
    ),
    201,
  )
  const imported = await expectStatus(
    importCluster(service.send, owner.token, org, cluster, kubernetes.kubeconfig(), { displayName: canary }),
    200,
  )
  const [repository, repositoryUrl] = [`${org}-pantry`, `https://127.0.0.1:1/${canary}`]
  await expectStatus(
    service.send(
      'POST',
      `/api/v1/orgs/${org}/chartrepositories`,
      as({ name: repository, url: repositoryUrl, description: canary, username: canary, password: canary }),
    ),
    201,
  )
  const robot = `${org}-porter`
  const { id: robotId } = (
    await expectStatus(
      service.send(
        'POST',
        `/api/v1/orgs/${org}/robots`,
        as({ name: robot, description: canary, team_ids: [team.json.id] }),
      ),
      201,
    )
  ).json
  const { id: robotTokenId } = (
    await expectStatus(service.send('POST', `/api/v1/orgs/${org}/robots/${robot}/tokens`, as({ name: canary })), 201)
  ).json
  const invitation = await plantInvitation(database, made.json.id as number, owner, `${owner.login}@${canary}.example`)
  const contract = await plantContract(service, org, kubernetes.uid, canary)
  const { contractId, boundClusterId } = contract
  await plantUsage(service, { name: org, id: made.json.id as number, clusterUid: kubernetes.uid, text: canary })
  await expectStatus(
    service.send(
      'POST',
      `/api/v1/user/contracts/${contractId}/clusters/${boundClusterId}/issue-license?org=${org}`,
      as(),
    ),
    200,
  )
  return {
    ...contract,
    ...invitation,
    robot,
    robotId,
    robotTokenId,
    org,
    canary,
    owner,
    viewer,
    cluster,
    credential,
    repository,
    repositoryUrl,
    kubernetes,
    orgId: made.json.id,
    teamId: team.json.id,
    roleId: role.json.id,
    clusterId: imported.json.id,
    busTokenId: await plantBusToken(service, made.json.id as number),
    taskRef: await plantTask(service, { tenantId: made.json.id as number, actor: owner, text: canary }),
  }
}

/**
 * The real service of a vendor, which has every route but those of a marketplace, with two organizations of one shape,
 * which know nothing of one another.
 */
export const startTwoTenants = async (): Promise<TwoTenants> => {
  const url = `sqlite:${await migratedSqlitePath()}`
  const service = await startService({
    settings: {
      MOORAGE_DATABASE_URL: url,
      MOORAGE_TLS: 'false',
      MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      MOORAGE_BILLING_ENABLED: 'true',
      MOORAGE_USAGE_REPORTERS: 'anyone',
    },
  })
  await plantLicenseAuthority(service)
  const database = await openDatabase(url)
  const north = await makeTenant(service, database, 'north')
  const south = await makeTenant(service, database, 'south')
  return {
    service,
    database,
    north,
    south,
    stop: async () => {
      await service.stop()
      await database.close()
      await Promise.all([north, south].map(({ kubernetes }) => kubernetes.stop()))
    },
  }
}

/** Columns that tell of use, not of change. */
const usage = [
  'last_login_at',
  'last_used_at',
  'last_seen_at',
  'idle_expires_at',
  'checked_at',
  'hash',
  'previous_hash',
]

/** Every row of a tenant, as text; denied attempts in its log are no change. */
export const rowsOf = async (
  database: SqlDatabase,
  tenant: Tenant,
): Promise<Readonly<Record<string, readonly string[]>>> => {
  const users = [tenant.owner.id, tenant.viewer.id]
  const read = async (table: string, column: string, ids: readonly number[]): Promise<readonly string[]> => {
    const rows = await database.query<Record<string, unknown>>((k) =>
      k(table)
        .whereIn(column, [...ids])
        .select('*'),
    )
    return rows
      .filter((row) => row['result'] !== 'denied')
      .map((row) => JSON.stringify(Object.entries(row).filter(([name]) => !usage.includes(name))))
      .sort()
  }
  return {
    accounts: await read('accounts', 'id', [tenant.orgId, ...users]),
    users: await read('users', 'id', users),
    emails: await read('emails', 'user_id', users),
    tokens: await read('access_tokens', 'user_id', users),
    sessions: await read('sessions', 'user_id', users),
    follows: await read('follows', 'target_id', users),
    secondFactors: await read('two_factors', 'user_id', users),
    recoveryCodes: await read('recovery_codes', 'user_id', users),
    organizations: await read('organizations', 'id', [tenant.orgId]),
    members: await read('org_members', 'org_id', [tenant.orgId]),
    memberships: await read('org_members', 'user_id', users),
    teams: await read('teams', 'org_id', [tenant.orgId]),
    teamMembers: await read('team_members', 'org_id', [tenant.orgId]),
    teamMemberships: await read('team_members', 'user_id', users),
    roles: await read('roles', 'org_id', [tenant.orgId]),
    rolePermissions: await read('role_permissions', 'role_id', [tenant.roleId]),
    teamRoles: await read('team_roles', 'org_id', [tenant.orgId]),
    robots: await read('robot_accounts', 'org_id', [tenant.orgId]),
    robotTokens: await read('access_tokens', 'only_org_id', [tenant.orgId]),
    invitations: await read('org_invitations', 'org_id', [tenant.orgId]),
    grants: await read('object_grants', 'org_id', [tenant.orgId]),
    cloudCredentials: await read('cloud_credentials', 'user_id', users),
    chartRepositories: await read('chart_repositories', 'account_id', [tenant.orgId, ...users]),
    clusters: await read('clusters', 'owner_id', [tenant.orgId, ...users]),
    packageDrivers: await read('package_drivers', 'account_id', [tenant.orgId, ...users]),
    busIdentities: await read('bus_identities', 'owner_id', [tenant.orgId, ...users]),
    busTokens: await read('bus_users', 'owner_id', [tenant.orgId, ...users]),
    contracts: await read('contracts', 'owner_id', [tenant.orgId, ...users]),
    boundClusters: await read('contract_clusters', 'owner_id', [tenant.orgId, ...users]),
    boundClusterTags: await read('contract_cluster_tags', 'owner_id', [tenant.orgId, ...users]),
    boundClusterIntervals: await read('contract_cluster_intervals', 'contract_id', [tenant.contractId]),
    contractEvents: await read('contract_events', 'contract_id', [tenant.contractId]),
    licenses: await read('licenses', 'owner_id', [tenant.orgId, ...users]),
    usageClusters: await read('usage_clusters', 'owner_id', [tenant.orgId, ...users]),
    usageMonths: await read('usage_months', 'owner_id', [tenant.orgId, ...users]),
    audit: await read('audit_events', 'tenant_id', [tenant.orgId]),
  }
}
