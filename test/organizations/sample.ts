import { createHash } from 'node:crypto'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { pictureExample } from '../../plugins/kit/route.ts'
import { peopleIds, sample as identity } from '../identity/sample.ts'
import { defineSample, must, refusedFor, type Tenant, type TenantBeingMade } from '../support/part-sample.ts'

type TeamIds = Readonly<Record<'Owners' | 'Editors' | 'Viewers', number>>

/** Sends a request of the owner, which must succeed, and returns the id of what it made. */
const makeAs = async (tenant: TenantBeingMade, path: string, body: object): Promise<number> => {
  const { owner } = await tenant.of(identity)
  const { json } = await must(path, tenant.service.send('POST', `/api/v1/${path}`, { token: owner.token, body }))
  return json.id as number
}

/** An invitation to the owner's address, which nobody could send: the owner is a member. */
const plantInvitation = async (database: SqlDatabase, orgId: number, inviterId: number, email: string) => {
  const token = `invited${orgId}`.padEnd(32, 'x')
  const columns = {
    org_id: orgId,
    email,
    lower_email: email,
    role: 'member',
    inviter_id: inviterId,
    created_at: 1,
    expires_at: Date.now() + 3_600_000,
  }
  const token_hash = createHash('sha256').update(token).digest()
  await database.query((k) => k('org_invitations').insert({ ...columns, token_hash }))
  const [row] = await database.query<{ id: number }>((k) => k('org_invitations').where('org_id', orgId).select('id'))
  return { invitationId: Number(row?.id), invitationToken: token }
}

const makeTeams = async (tenant: TenantBeingMade): Promise<{ teamIds: TeamIds; teamId: number }> => {
  const { service, org, text, people } = tenant
  const { owner } = await tenant.of(identity)
  const asOwner = { token: owner.token }
  const { json } = await must('teams', service.send('GET', `/api/v1/orgs/${org}/teams`, asOwner))
  const teamIds = Object.fromEntries(
    (json as { name: string; id: number }[]).map(({ name, id }) => [name, id]),
  ) as unknown as TeamIds
  const teamId = await makeAs(tenant, `orgs/${org}/teams`, { name: 'watch', description: text, permission: 'custom' })
  const members = [
    [teamIds.Editors, people.editor],
    [teamIds.Viewers, people.viewer],
    [teamId, people.viewer],
  ]
  for (const [team, login] of members)
    await must('member', service.send('PUT', `/api/v1/teams/${team}/members/${login}`, asOwner))
  return { teamIds, teamId }
}

/** Nobody but a site admin could have made a private person a member. */
const hidePeople = async ({ service, people }: TenantBeingMade): Promise<void> => {
  for (const login of Object.values(people)) {
    const options = { token: service.adminToken, body: { visibility: 'private' } }
    await must('visibility', service.send('PATCH', `/api/v1/admin/users/${login}`, options))
  }
}

/** An organization with its members, a team named alike in both tenants, a robot account and an invitation. */
export const sample = defineSample({
  part: 'organizations',
  make: async (tenant) => {
    const { service, database, org, text, prefix, hiddenOrg } = tenant
    const { owner, viewer } = await tenant.of(identity)
    const told = { full_name: text, description: text, location: text }
    const orgId = await makeAs(tenant, 'orgs', { username: org, visibility: 'private', ...told })
    if (hiddenOrg !== undefined) {
      const options = { token: service.adminToken, body: { username: hiddenOrg, visibility: 'private' } }
      await must('hidden', service.send('POST', '/api/v1/orgs', options))
    }
    const { teamIds, teamId } = await makeTeams(tenant)
    if (tenant.arePrivate) await hidePeople(tenant)
    const robot = `${prefix}porter`
    const robotId = await makeAs(tenant, `orgs/${org}/robots`, { name: robot, description: text, team_ids: [teamId] })
    const robotTokenId = await makeAs(tenant, `orgs/${org}/robots/${robot}/tokens`, { name: text })
    const invitation = await plantInvitation(database, orgId, owner.id, `${owner.login}@${tenant.mailDomain}`)
    return { viewerId: viewer.id, org, orgId, teamIds, teamId, robot, robotId, robotTokenId, ...invitation }
  },
  names: (made, { people }) => ({
    organization: { id: made.orgId, name: made.org },
    account: { id: made.orgId, name: made.org },
    member: { id: made.viewerId, name: people.viewer },
    'membership action': { name: ['leave', 'public', 'private', 'remove'] },
    team: { id: made.teamId },
    'team action': { name: ['leave', 'join', 'remove', 'add'] },
    robot_ac: { id: made.robotId, name: made.robot },
    'token of a robot_ac': { id: made.robotTokenId },
    invitation: { id: made.invitationId, token: made.invitationToken },
  }),
  bodies: {
    'organizations.adminCreateOrganization': (_, theirs) => ({
      own: { username: 'founded' },
      username: { username: theirs.org },
    }),
    'organizations.createOrganization': undefined,
    'organizations.editOrganization': () => ({ own: { description: 'Changed' } }),
    'organizations.renameOrganization': (mine, theirs) => ({
      own: { new_name: mine.org.toUpperCase() },
      new_name: { new_name: theirs.org },
    }),
    'organizations.createTeam': (_, theirs) => ({
      own: { name: 'another' },
      assignedRoleIDs: { name: 'another', assignedRoleIDs: [theirs.id('role')] },
    }),
    'organizations.editTeam': (mine, theirs) => ({
      own: { description: 'Changed', assignedRoleIDs: [mine.id('role')] },
      assignedRoleIDs: { assignedRoleIDs: [theirs.id('role')] },
      both: { assignedRoleIDs: [mine.id('role'), theirs.id('role')] },
    }),
    'organizations.inviteMember': (mine, theirs) => ({
      own: { email: 'newcomer@example.com', role: 'member', team_ids: [mine.id('team')] },
      team_ids: { email: 'newcomer@example.com', role: 'member', team_ids: [theirs.id('team')] },
    }),
    'organizations.setAvatar': () => ({ own: { image: pictureExample } }),
    'organizations.editPolicies': () => ({ own: { two_factor_grace_days: 3 } }),
    'organizations.createRobot': (mine, theirs) => ({
      own: { name: 'helper', team_ids: [mine.id('team')] },
      team_ids: { name: 'thief', team_ids: [theirs.id('team')] },
    }),
    'organizations.editRobot': (mine, theirs) => ({
      own: { team_ids: [mine.id('team')] },
      team_ids: { team_ids: [theirs.id('team')] },
      both: { team_ids: [mine.id('team'), theirs.id('team')] },
    }),
    'organizations.createRobotToken': () => ({ own: { name: 'more' } }),
    'organizations.setMembership': () => ({ own: { role: 'member' } }),
  },
  tables: (made, tenant) => {
    const [orgIds, people, accounts] = [[made.orgId], peopleIds(tenant), accountIds(tenant)]
    return {
      accounts: { id: accounts },
      account_redirects: { account_id: accounts },
      avatars: { account_id: accounts },
      organizations: { id: orgIds },
      org_members: { org_id: orgIds, user_id: people },
      teams: { org_id: orgIds },
      team_members: { org_id: orgIds, user_id: people },
      robot_accounts: { org_id: orgIds },
      access_tokens: { only_org_id: orgIds },
      org_invitations: { org_id: orgIds },
      org_invitation_teams: { invitation_id: [made.invitationId] },
    }
  },
  secrets: ({ org }) => [org],
  harmless: {
    'organizations.searchTeams [query q]': {
      why: 'a filter over what the caller may see: nothing is found',
      says: /"data":\[\]\}$/,
    },
    'organizations.actOnTeam [action add, query uid]': {
      why: 'uname takes precedence over uid and is of the own tenant',
      says: /^$/,
    },
    'organizations.actOnTeam [action remove, query uname]': {
      why: 'the name counts for add only; uid is of the own tenant',
      says: /^$/,
    },
  },
  refusedToOwner: {
    ...refusedFor('for site admins', [
      'organizations.adminListOrganizations',
      'organizations.adminListOrganizationsOfUser',
      'organizations.adminCreateOrganization',
      'organizations.consoleListOrganizations',
      'organizations.consoleListOrphaned',
      'organizations.consoleDeleteOrphaned',
    ]),
    'organizations.checkPublicMember []': 'the membership is not shown',
    'organizations.actOnTeam [action join]': 'only oneself can join and leave',
    'organizations.actOnTeam [action leave]': 'only oneself can join and leave',
    'organizations.actOnTeam [action add]': 'the member is in the team already',
    'organizations.actOnMember [action leave]': 'only oneself can join and leave',
    'organizations.actOnMember [action remove]': 'a request before this one did the same',
    'organizations.removeTeamMember []': 'a request before this one did the same',
    'organizations.removeMember []': 'a request before this one did the same',
    'organizations.concealMember []': 'a request before this one did the same',
    'organizations.revokeToken []': 'the token is not confined to the organization',
    'organizations.deleteOrganization []': 'the organization has a contract',
    'organizations.acceptInvitation []': 'the owner is a member already',
  },
})

/** The ids of the organization and of the people of a tenant: what can own something. */
export const accountIds = (tenant: Tenant): readonly number[] => [tenant.of(sample).orgId, ...peopleIds(tenant)]
