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
import { memberOf, path, requires, signedIn } from '../../kit/access.ts'
import {
  described,
  FreeObjectCodec,
  freeText,
  listOf,
  naming,
  optional,
  pathName,
  QueryBoolean,
  queryId,
  request,
} from '../../kit/codecs.ts'
import { empty, json, list, listWithin, packed, paged, versioned } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
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

const common = { tag: 'Identity - Organizations & Teams', scopeCategory: 'organization' } as const
const route = routesOf(common)
const organizationRoute = routesOf({ ...common, params: OrgPath })
const teamRoute = routesOf({ ...common, params: TeamPath })
const memberRoute = routesOf({ ...common, params: TeamMemberPath, failures: [MemberMissing] })

export const listTeams = organizationRoute({
  id: 'organizations.listTeams',
  method: 'GET',
  path: '/orgs/{orgname}/teams',
  summary: 'List the teams of an organization, Owners first, then by name',
  description: 'Needs the right to list the teams of the organization.',
  access: requires('can_list_teams', organizationInPath),
  ok: packed(list(Team, teamExample)),
  failures: [OrganizationMissing],
})

export const createTeam = organizationRoute({
  id: 'organizations.createTeam',
  method: 'POST',
  path: '/orgs/{orgname}/teams',
  summary: 'Create a team',
  description:
    'A team gives its level and the permissions of its roles. The caller must have every right that the team gives.',
  access: requires('can_create_team', organizationInPath),
  body: body(CreateTeamOption, {
    name: 'Operators',
    description: 'They keep the engines running',
    permission: 'write',
    type: 'kubernetes',
  }),
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

export const searchTeams = organizationRoute({
  id: 'organizations.searchTeams',
  method: 'GET',
  path: '/orgs/{orgname}/teams/search',
  summary: "Search the caller's teams by name",
  description: 'For owners and site admins, searches all teams.',
  access: requires('member', organizationInPath),
  query: request(
    {
      q: described(
        optional(naming(freeText(255), 'account', 'name')),
        'A part of the name of the team, without regard to case; all teams if absent or empty.',
      ),
      include_desc: described(optional(QueryBoolean), 'Whether descriptions are searched too; false by default.'),
    },
    'TeamSearchQuery',
  ),
  ok: packed(paged(listWithin(Team, teamExample, { codec: TeamSearchResult, key: 'data', constants: { ok: true } }))),
})

export const actOnTeam = route({
  id: 'organizations.actOnTeam',
  method: 'POST',
  path: '/orgs/{orgname}/teams/{teamid}/action/{action}',
  summary: 'Join, leave, or add or remove a member of a team',
  description:
    "`join` and `leave` act on the caller, and `uid` must be the caller's id; `add` acts on `uname` or " +
    '`uid`, `remove` on `uid`.',
  access: memberOf(path('orgname')),
  params: OrgTeamActionPath,
  query: request(
    {
      uid: described(queryId('member'), 'The id of the user; for `join` and `leave` that of the caller.'),
      uname: described(
        optional(pathName('member')),
        'For `add`, the name of the user, which takes precedence over `uid`; not used otherwise.',
      ),
    },
    'TeamActionQuery',
  ),
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

export const getTeam = teamRoute({
  id: 'organizations.getTeam',
  method: 'GET',
  path: '/teams/{teamid}',
  summary: 'Show a team',
  description: 'Needs the right to view the team. The `ETag` of the answer guards a later change.',
  access: requires('can_view', teamInPath),
  ok: versioned(200, Team, teamExample),
  failures: [TeamMissing],
})

export const listRepositoriesOfTeam = teamRoute({
  id: 'organizations.listRepositoriesOfTeam',
  method: 'GET',
  path: '/teams/{teamid}/repos',
  summary: 'List the repositories of a team: there are none',
  description:
    'This service does not store repositories. Some clients request them with the team, and treat an error ' +
    'as a missing team.',
  access: requires('can_view', teamInPath),
  ok: json(200, listOf(FreeObjectCodec, 0), [], 'Always an empty list'),
})

export const editTeam = teamRoute({
  id: 'organizations.editTeam',
  method: 'PATCH',
  path: '/teams/{teamid}',
  summary: 'Change a team',
  description: 'Omitted fields do not change. The name and level of the team Owners cannot be changed.',
  access: requires('can_edit', teamInPath),
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

export const deleteTeam = teamRoute({
  id: 'organizations.deleteTeam',
  method: 'DELETE',
  path: '/teams/{teamid}',
  summary: 'Delete a team',
  description: 'Members without another team leave the organization.',
  access: requires('can_delete', teamInPath),
  ok: empty(204),
  failures: [TeamMissing, OwnersTeamFixed, BeyondOwnRights],
})

export const listTeamMembers = teamRoute({
  id: 'organizations.listTeamMembers',
  method: 'GET',
  path: '/teams/{teamid}/members',
  summary: 'List the members of a team, by login',
  description: 'Needs the right to view the team.',
  access: requires('can_view', teamInPath),
  ok: packed(list(User, userExample)),
})

export const getTeamMember = memberRoute({
  id: 'organizations.getTeamMember',
  method: 'GET',
  path: '/teams/{teamid}/members/{username}',
  summary: 'Get a member of a team',
  description: 'Returns 404 if the user is not a member of the team.',
  access: requires('can_view', teamInPath),
  ok: json(200, User, userExample),
})

export const addTeamMember = memberRoute({
  id: 'organizations.addTeamMember',
  method: 'PUT',
  path: '/teams/{teamid}/members/{username}',
  summary: 'Add a user to a team, and so to its organization',
  description: 'The caller must have every right that the team gives.',
  access: requires('can_add_member', teamInPath),
  query: request(
    {
      autoConnectClusters: described(optional(QueryBoolean), 'Accepted for older clients and ignored.'),
    },
    'AddTeamMemberQuery',
  ),
  ok: empty(204),
  failures: [AccountNotEligible, BeyondOwnRights, TeamMissing, AlreadyTeamMember],
})

export const removeTeamMember = memberRoute({
  id: 'organizations.removeTeamMember',
  method: 'DELETE',
  path: '/teams/{teamid}/members/{username}',
  summary: 'Remove a user from a team; removal from the last team ends the membership',
  description: 'Members may remove themselves. The last owner cannot be removed.',
  access: requires('member', teamInPath),
  ok: empty(204),
  failures: [BeyondOwnRights, TeamMissing, LastOwner],
})

export const listOwnTeams = route({
  id: 'organizations.listOwnTeams',
  method: 'GET',
  path: '/user/teams',
  summary: "List the caller's teams in all organizations",
  description: 'Each with its organization.',
  tag: 'Identity - Users & Settings',
  access: signedIn,
  servesConfined: true,
  ok: packed(list(Team, teamExample)),
})
