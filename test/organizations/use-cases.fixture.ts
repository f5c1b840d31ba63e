import type { ExecutionContext } from 'ava'
import { makeSqlProvenStores } from '../../adapters/sql/identity/identity-stores.ts'
import { makeSqlAccessTokenStore } from '../../adapters/sql/identity/token-store.ts'
import { makeSqlAvatarStore } from '../../adapters/sql/identity/profile-store.ts'
import { makeSqlUserStore } from '../../adapters/sql/identity/user-store.ts'
import { makeSqlInvitationStore } from '../../adapters/sql/organizations/invitation-store.ts'
import {
  makeSqlMembershipStore,
  makeSqlOrganizationTokenStore,
} from '../../adapters/sql/organizations/membership-store.ts'
import { makeSqlRightsStore } from '../../adapters/sql/authz/access-context.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { makeSqlPolicyStore } from '../../adapters/sql/organizations/policy-store.ts'
import { makeSqlRobotStore } from '../../adapters/sql/organizations/robot-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import type { SqlDatabase, SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import type { AuditEntry, UnitOfWork } from '../../core/kernel/unit-of-work.ts'
import { isCredentialInForce } from '../../core/identity/credentials.ts'
import type { UserStore } from '../../core/identity/ports.ts'
import type { OrgId, RoleId, TeamId, UserId } from '../../core/kernel/ids.ts'
import type { Clock } from '../../core/kernel/clock.ts'
import type { Mail } from '../../core/mail/ports.ts'
import { permissionKey } from '../../core/kernel/access.ts'
import type { Principal, SignedInCall } from '../../core/kernel/principal.ts'
import { fullScope } from '../../core/kernel/principal.ts'
import { makeCreateOrganization } from '../../core/organizations/organizations/organizations.ts'
import type { PermissionLevels } from '../../core/kernel/rights.ts'
import type { OrganizationStores } from '../../core/organizations/ports.ts'
import type { Team, TeamPermission } from '../../core/organizations/types.ts'
import { authzPlugin } from '../../plugins/authz/plugin.ts'
import { clustersPlugin } from '../../plugins/clusters/plugin.ts'
import { organizationsPlugin } from '../../plugins/organizations/plugin.ts'
import { casesOf } from '../support/cases-of.ts'
import { eachDatabase } from '../support/databases.ts'
import { unwrap } from '../support/outcome.ts'
import { heldObjects } from '../support/object-rows.ts'

export const firstPage = { page: 1, limit: 50 }
export const at = new Date('2026-05-01T08:00:00.123Z')

const levels = new Map(
  [organizationsPlugin, authzPlugin, clustersPlugin]
    .flatMap(({ permissions = [] }) => permissions)
    .map((p) => [permissionKey(p), p.level]),
)
export const catalogue: PermissionLevels = { levelOf: (permission) => levels.get(permissionKey(permission)) }

type Stores = Omit<OrganizationStores, 'audit' | 'mail'>

/** Stores, a unit of work and people, over a database of one's own. */
export interface OrganizationsFixture extends Stores {
  readonly users: UserStore
  readonly database: SqlDatabase
  readonly unitOfWork: UnitOfWork<OrganizationStores>
  readonly catalogue: PermissionLevels
  readonly clock: Clock
  /** What was recorded, refused transactions included. */
  readonly entries: AuditEntry[]
  /** What was posted, refused transactions included. */
  readonly posted: Mail[]
  user(name: string): Promise<UserId>
  /** An organization that `owner` created. */
  organization(name: string, owner: UserId): Promise<OrgId>
  team(orgId: OrgId, name: string): Promise<Team>
  /** A further team with these members. */
  newTeam(orgId: OrgId, name: string, permission: TeamPermission, members?: readonly UserId[]): Promise<Team>
  /** A role with these permissions (`namespace/action`), attached to the teams. */
  role(orgId: OrgId, name: string, permissions: readonly string[], teams?: readonly TeamId[]): Promise<RoleId>
  close(): Promise<void>
}

export const callBy = (userId: UserId, changes: Partial<Principal> = {}): SignedInCall => ({
  principal: { userId, login: `user-${userId}`, isSiteAdmin: false, method: 'token', scopes: fullScope, ...changes },
  requestId: 'request-1',
  sourceIp: '192.0.2.1',
  operation: 'test.operation',
  signal: new AbortController().signal,
})

const bindStores = (database: SqlDatabase): ((runner: SqlRunner) => Stores) => {
  const organizations = makeSqlOrganizationStore(database, heldObjects(database))
  const teams = makeSqlTeamStore(database)
  const memberships = makeSqlMembershipStore(database)
  const rights = makeSqlRightsStore(database)
  const tokens = makeSqlOrganizationTokenStore(database)
  const invitations = makeSqlInvitationStore(database)
  const policies = makeSqlPolicyStore(database)
  const robots = makeSqlRobotStore(database)
  const accessTokens = makeSqlAccessTokenStore(database)
  const proven = makeSqlProvenStores(database)
  const avatars = makeSqlAvatarStore(database)
  return (runner) => ({
    organizations: organizations(runner),
    teams: teams(runner),
    memberships: memberships(runner),
    rights: rights(runner),
    tokens: tokens(runner),
    invitations: invitations(runner),
    policies: policies(runner),
    robots: robots(runner),
    accessTokens: accessTokens(runner),
    callers: { isStillProven: (principal) => isCredentialInForce(proven(runner), { now: () => at }, principal) },
    avatars: avatars(runner),
  })
}

const insertRole = async (
  database: SqlDatabase,
  orgId: OrgId,
  name: string,
  permissions: readonly string[],
): Promise<RoleId> => {
  await database.query((k) =>
    k('roles').insert({ org_id: orgId, name, lower_name: name.toLowerCase(), created_at: 1, updated_at: 1 }),
  )
  const [row] = await database.query<{ id: number }>((k) => k('roles').where({ org_id: orgId, name }).select('id'))
  const id = Number(row?.id) as RoleId
  for (const permission of permissions) {
    const [namespace = '', action = ''] = permission.split('/')
    await database.query((k) => k('role_permissions').insert({ role_id: id, namespace, action }))
  }
  return id
}

export const makeOrganizationsFixture = (database: SqlDatabase): OrganizationsFixture => {
  const bind = bindStores(database)
  const stores = bind(database)
  const users = makeSqlUserStore(database)(database)
  const entries: AuditEntry[] = []
  const posted: Mail[] = []
  const clock = { now: () => at }
  const unitOfWork = makeSqlUnitOfWork<OrganizationStores>(
    database,
    (tx, audit) => ({ ...bind(tx), audit, mail: { post: (mail) => Promise.resolve(void posted.push(mail)) } }),
    () => ({ record: (entry) => Promise.resolve(void entries.push(entry)) }),
  )
  const addTeam = async (
    orgId: OrgId,
    name: string,
    permission: TeamPermission,
    members: readonly UserId[] = [],
  ): Promise<Team> => {
    const id = unwrap(
      await stores.teams.insert({ orgId, name, description: '', permission, type: 'kubernetes', createdAt: at }),
    )
    for (const userId of members) {
      if ((await stores.memberships.find(orgId, userId)) === undefined) await stores.memberships.add(orgId, userId, at)
      await stores.teams.addMember({ id, orgId }, userId, at)
    }
    return (await stores.teams.findById(id)) as Team
  }
  return {
    ...stores,
    users,
    database,
    unitOfWork,
    catalogue,
    clock,
    entries,
    posted,
    user: async (login) =>
      unwrap(
        await users.insert({
          login,
          fullName: '',
          passwordPhc: 'x',
          mustChangePassword: false,
          isAdmin: false,
          isActive: true,
          restricted: false,
          visibility: 'public',
          createdAt: at,
        }),
      ),
    organization: async (name, owner) =>
      unwrap(await makeCreateOrganization({ unitOfWork, clock })(callBy(owner), { name })).id,
    team: async (orgId, name) => {
      const found = (await stores.teams.list(orgId, firstPage)).items.find(({ team }) => team.name === name)
      if (found === undefined) throw new Error(`there is no team ${name}`)
      return found.team
    },
    newTeam: addTeam,
    role: async (orgId, name, permissions, teams = []) => {
      const id = await insertRole(database, orgId, name, permissions)
      for (const teamId of teams)
        await database.query((k) => k('team_roles').insert({ team_id: teamId, role_id: id, org_id: orgId }))
      return id
    },
    close: () => database.close(),
  }
}

/** Declares a case on each database. */
export const onEachDatabase = (
  title: string,
  run: (t: ExecutionContext, fixture: OrganizationsFixture) => Promise<void>,
): void => {
  for (const { name, open } of eachDatabase())
    casesOf(name, async () => makeOrganizationsFixture(await open()))(title, run)
}
