import {
  AccountNotEligible,
  AlreadyTeamMember,
  BeyondOwnRights,
  LastOwner,
  MemberMissing,
  MembershipActionUnknown,
  OrganizationMissing,
  OwnersTeamFixed,
  TeamChanged,
  TeamLevelRefused,
  TeamMissing,
  TeamNameRefused,
  TeamRolesRefused,
  TeamTypeUnknown,
} from '../../../core/organizations/failures.ts'
import { TeamNameTaken } from '../../../core/organizations/ports.ts'
import { User, userExample } from '../../identity/codecs.ts'
import { memberOf, path, read, requires, signedIn, write } from '../../kit/access.ts'
import { freeText, optional, PathName, QueryBoolean, QueryId, request } from '../../kit/codecs.ts'
import { empty, json, list, listWithin, versioned } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import {
  CreateTeamOption,
  EditTeamOption,
  organizationInPath,
  OrgPath,
  OrgTeamActionPath,
  Team,
  teamExample,
  teamInPath,
  TeamMemberPath,
  TeamPath,
  TeamSearchResult,
} from '../codecs.ts'

const tag = 'Identity - Organizations & Teams'

export const listTeams = defineRoute({
  id: 'organizations.listTeams',
  method: 'GET',
  path: '/orgs/{orgname}/teams',
  summary: 'List the teams of an organization, Owners first, then by name',
  tag,
  access: requires('can_list_teams', organizationInPath),
  scope: read('organization'),
  params: OrgPath,
  ok: list(Team, teamExample),
  failures: [OrganizationMissing],
})

export const createTeam = defineRoute({
  id: 'organizations.createTeam',
  method: 'POST',
  path: '/orgs/{orgname}/teams',
  summary: 'Create a team',
  description: 'A team gives its level and the permissions of its roles. The caller must have every right that the team gives.',
  tag,
  access: requires('can_create_team', organizationInPath),
  scope: write('organization'),
  params: OrgPath,
  body: body(CreateTeamOption, { name: 'Operators', description: 'They keep the engines running', permission: 'write', type: 'kubernetes' }),
  ok: json(201, Team, teamExample, 'Created'),
  failures: [
    TeamNameRefused,
    TeamNameTaken,
    TeamTypeUnknown,
    TeamLevelRefused,
    TeamRolesRefused,
    BeyondOwnRights,
    OrganizationMissing,
  ],
})

export const searchTeams = defineRoute({
  id: 'organizations.searchTeams',
  method: 'GET',
  path: '/orgs/{orgname}/teams/search',
  summary: "Search the caller's teams by name",
  description: 'For owners and site admins, searches all teams.',
  tag,
  access: requires('member', organizationInPath),
  scope: read('organization'),
  params: OrgPath,
  query: request({ q: optional(freeText(255)), include_desc: optional(QueryBoolean) }, 'TeamSearchQuery'),
  ok: listWithin(Team, teamExample, { codec: TeamSearchResult, key: 'data', constants: { ok: true } }),
  failures: [OrganizationMissing],
})

export const actOnTeam = defineRoute({
  id: 'organizations.actOnTeam',
  method: 'POST',
  path: '/orgs/{orgname}/teams/{teamid}/action/{action}',
  summary: 'Join, leave, or add or remove a member of a team',
  description: '`join` and `leave` act on the caller, and `uid` must be the caller\'s id; `add` acts on `uname` or `uid`, `remove` on `uid`.',
  tag,
  access: memberOf(path('orgname')),
  scope: write('organization'),
  params: OrgTeamActionPath,
  query: request({ uid: QueryId, uname: optional(PathName) }, 'TeamActionQuery'),
  ok: empty(200),
  failures: [
    MembershipActionUnknown,
    MemberMissing,
    AccountNotEligible,
    BeyondOwnRights,
    TeamMissing,
    AlreadyTeamMember,
    LastOwner,
  ],
  statusOf: { AccountNotEligible: 400 },
})

export const getTeam = defineRoute({
  id: 'organizations.getTeam',
  method: 'GET',
  path: '/teams/{teamid}',
  summary: 'Show a team',
  tag,
  access: requires('can_view', teamInPath),
  scope: read('organization'),
  params: TeamPath,
  ok: versioned(200, Team, teamExample),
  failures: [TeamMissing],
})

export const editTeam = defineRoute({
  id: 'organizations.editTeam',
  method: 'PATCH',
  path: '/teams/{teamid}',
  summary: 'Change a team',
  description: 'Omitted fields do not change. The name and level of the team Owners cannot be changed.',
  tag,
  access: requires('can_edit', teamInPath),
  scope: write('organization'),
  params: TeamPath,
  body: body(EditTeamOption, { name: 'Operators', permission: 'custom', assignedRoleIDs: [3] }),
  ok: versioned(200, Team, teamExample),
  failures: [
    TeamMissing,
    TeamNameRefused,
    TeamNameTaken,
    TeamTypeUnknown,
    TeamLevelRefused,
    TeamRolesRefused,
    OwnersTeamFixed,
    BeyondOwnRights,
    TeamChanged,
  ],
})

export const deleteTeam = defineRoute({
  id: 'organizations.deleteTeam',
  method: 'DELETE',
  path: '/teams/{teamid}',
  summary: 'Delete a team',
  description: 'Members without another team leave the organization.',
  tag,
  access: requires('can_delete', teamInPath),
  scope: write('organization'),
  params: TeamPath,
  ok: empty(204),
  failures: [TeamMissing, OwnersTeamFixed, BeyondOwnRights],
})

export const listTeamMembers = defineRoute({
  id: 'organizations.listTeamMembers',
  method: 'GET',
  path: '/teams/{teamid}/members',
  summary: 'List the members of a team, by login',
  tag,
  access: requires('can_view', teamInPath),
  scope: read('organization'),
  params: TeamPath,
  ok: list(User, userExample),
  failures: [],
})

export const getTeamMember = defineRoute({
  id: 'organizations.getTeamMember',
  method: 'GET',
  path: '/teams/{teamid}/members/{username}',
  summary: 'Get a member of a team',
  tag,
  access: requires('can_view', teamInPath),
  scope: read('organization'),
  params: TeamMemberPath,
  ok: json(200, User, userExample),
  failures: [MemberMissing],
})

export const addTeamMember = defineRoute({
  id: 'organizations.addTeamMember',
  method: 'PUT',
  path: '/teams/{teamid}/members/{username}',
  summary: 'Add a user to a team, and so to its organization',
  tag,
  access: requires('can_add_member', teamInPath),
  scope: write('organization'),
  params: TeamMemberPath,
  query: request({ autoConnectClusters: optional(QueryBoolean) }, 'AddTeamMemberQuery'),
  ok: empty(204),
  failures: [MemberMissing, AccountNotEligible, BeyondOwnRights, TeamMissing, AlreadyTeamMember],
})

export const removeTeamMember = defineRoute({
  id: 'organizations.removeTeamMember',
  method: 'DELETE',
  path: '/teams/{teamid}/members/{username}',
  summary: 'Remove a user from a team; removal from the last team ends the membership',
  tag,
  access: requires('member', teamInPath),
  scope: write('organization'),
  params: TeamMemberPath,
  ok: empty(204),
  failures: [MemberMissing, BeyondOwnRights, TeamMissing, LastOwner],
})

export const listOwnTeams = defineRoute({
  id: 'organizations.listOwnTeams',
  method: 'GET',
  path: '/user/teams',
  summary: "List the caller's teams in all organizations",
  tag: 'Identity - Users & Settings',
  access: signedIn,
  servesConfined: true,
  scope: read('organization'),
  ok: list(Team, teamExample),
  failures: [],
})
