import * as t from 'io-ts'
import type { RoleId, TeamId, TokenId } from '../../core/kernel/ids.ts'
import type { InvitationId } from '../../core/organizations/invitations/ports.ts'
import { maxGraceDays, maxTokenLifeDays } from '../../core/organizations/organizations/policies.ts'
import { profileLimits } from '../../core/organizations/organizations/organization-rules.ts'
import { User, userExample } from '../identity/codecs.ts'
import { path } from '../kit/access.ts'
import { answer, bodyId, FreeObjectCodec, freeText, Instant, int32, listOf, noted, oneOf, optional, pathId, PathName, request, SafeInteger, textLines } from '../kit/codecs.ts'

export const Organization = answer(
  {
    id: SafeInteger,
    name: t.string,
    username: t.string,
    full_name: t.string,
    email: t.string,
    avatar_url: t.string,
    description: t.string,
    website: t.string,
    location: t.string,
    fleetManagementClusterEndPoint: t.string,
    visibility: t.string,
    orgType: SafeInteger,
    repo_admin_change_team_access: t.boolean,
  },
  'Organization',
)
export type OrganizationBody = t.TypeOf<typeof Organization>

export const organizationExample: OrganizationBody = {
  id: 12,
  name: 'analytical-engines',
  username: 'analytical-engines',
  full_name: 'Analytical Engines Ltd',
  email: 'office@analytical.example',
  avatar_url: 'https://platform.example/api/v1/avatars/drawn/analytical-engines',
  description: 'We compute by steam',
  website: 'https://analytical.example',
  location: 'London',
  fleetManagementClusterEndPoint: '',
  visibility: 'private',
  orgType: 0,
  repo_admin_change_team_access: false,
}

export const Team = answer(
  {
    id: SafeInteger,
    name: t.string,
    description: t.string,
    organization: Organization,
    permission: noted(t.string, { description: 'The level; `read` for a team that has only the permissions of its roles, for clients that know no other word.' }),
    is_custom: noted(t.boolean, { description: 'Whether the team has only the permissions of its roles, and no level.' }),
    units: t.readonlyArray(t.string),
    units_map: FreeObjectCodec,
    includes_all_repositories: t.boolean,
    can_create_org_repo: t.boolean,
    type: t.string,
    role_ids: t.readonlyArray(SafeInteger),
  },
  'Team',
)
export type TeamBody = t.TypeOf<typeof Team>

export const teamExample: TeamBody = {
  id: 40,
  name: 'Operators',
  description: 'They keep the engines running',
  organization: organizationExample,
  permission: 'write',
  is_custom: false,
  units: [],
  units_map: {},
  includes_all_repositories: false,
  can_create_org_repo: false,
  type: 'kubernetes',
  role_ids: [3],
}

const profile = {
  full_name: optional(freeText(profileLimits.fullName)),
  email: optional(freeText(profileLimits.email)),
  description: optional(textLines(profileLimits.description)),
  website: optional(freeText(profileLimits.website)),
  location: optional(freeText(profileLimits.location)),
  visibility: optional(oneOf('', 'public', 'limited', 'private')),
  orgType: optional(t.union([freeText(32), SafeInteger])),
  fleetManagementClusterEndPoint: optional(freeText(profileLimits.fleetEndpoint)),
}
export const CreateOrgOption = request({ username: freeText(255), ...profile }, 'CreateOrgOption')
export const EditOrgOption = request(profile, 'EditOrgOption')
export const RenameOrgOption = request({ new_name: freeText(255) }, 'RenameOrgOption')

const team = {
  description: optional(textLines(255)),
  assignedRoleIDs: optional(listOf(bodyId<RoleId>(), 500)),
  type: optional(freeText(32)),
  is_custom: optional(noted(t.boolean, { description: 'true: the team has only the permissions of its roles, as with the permission `custom`; false: it has the level of `permission`. Without it, `read` does not change the permission of a custom team.' })),
}
export const CreateTeamOption = request(
  { name: freeText(255), permission: optional(oneOf('', 'none', 'read', 'write', 'admin', 'custom')), ...team },
  'CreateTeamOption',
)
export const EditTeamOption = request(
  {
    name: optional(freeText(255)),
    permission: optional(oneOf('', 'none', 'read', 'write', 'admin', 'owner', 'custom')),
    ...team,
  },
  'EditTeamOption',
)

export const MembershipOption = request({ role: oneOf('member', 'admin', 'owner') }, 'MembershipOption')
export const OrgMembership = answer(
  { user: User, org: Organization, role: t.string, state: t.string },
  'OrgMembership',
)
export const membershipExample = { user: userExample, org: organizationExample, role: 'member', state: 'active' }

export const OrganizationPermissions = answer(
  {
    is_owner: t.boolean,
    is_admin: t.boolean,
    can_write: t.boolean,
    can_read: t.boolean,
    can_create_repository: t.boolean,
  },
  'OrganizationPermissions',
)
export const permissionsExample = { is_owner: false, is_admin: false, can_write: true, can_read: true, can_create_repository: false }

export const TeamSearchResult = answer({ ok: t.boolean, data: t.array(Team) }, 'TeamSearchResult')

/** An example of a member's card within an organization. */
export const profileExample = {
  name: 'ada',
  full_name: 'Ada Lovelace',
  email: 'ada@example.org',
  keep_email_private: false,
  website: '',
  location: 'London',
  language: 'en-US',
  description: '',
}

/** A token without its secret. Instants are in Unix seconds; 0 means never. */
export const AccessTokenInfo = answer(
  {
    id: SafeInteger,
    uid: SafeInteger,
    name: t.string,
    token: t.string,
    tokenLastEight: t.string,
    createdAt: SafeInteger,
    updatedAt: SafeInteger,
    hasRecentActivity: t.boolean,
    hasUsed: t.boolean,
    expDate: SafeInteger,
  },
  'AccessTokenInfo',
)
export const tokenInfoExample = {
  id: 5,
  uid: 7,
  name: 'ci',
  token: '',
  tokenLastEight: 'Zq3k81Xw',
  createdAt: 1795248000,
  updatedAt: 1795334400,
  hasRecentActivity: true,
  hasUsed: true,
  expDate: 0,
}

export const CreateInvitationOption = request(
  { email: freeText(254), role: oneOf('member', 'admin', 'owner'), team_ids: optional(listOf(bodyId<TeamId>(), 50)) },
  'CreateInvitationOption',
)
export const Invitation = answer(
  {
    id: SafeInteger,
    email: t.string,
    role: t.string,
    team_ids: t.readonlyArray(SafeInteger),
    inviter: t.string,
    created_at: Instant,
    expires_at: Instant,
  },
  'Invitation',
)
export const invitationExample = {
  id: 9,
  email: 'grace@example.org',
  role: 'member',
  team_ids: [40],
  inviter: 'ada',
  created_at: '2026-11-21T08:00:00.000Z',
  expires_at: '2026-11-28T08:00:00.000Z',
}
/** An invitation as shown to the invited user. */
export const OwnInvitation = answer(
  { org: Organization, email: t.string, role: t.string, inviter: t.string, expires_at: Instant },
  'OwnInvitation',
)
export const ownInvitationExample = {
  org: organizationExample,
  email: 'grace@example.org',
  role: 'member',
  inviter: 'ada',
  expires_at: '2026-11-28T08:00:00.000Z',
}

/** `two_factor_from` is present while a second factor is required. From that instant members without one are refused. */
export const OrgPolicies = answer(
  {
    require_two_factor: t.boolean,
    two_factor_grace_days: SafeInteger,
    two_factor_from: optional(Instant),
    max_token_life_days: SafeInteger,
  },
  'OrgPolicies',
)
export const policiesExample = {
  require_two_factor: true,
  two_factor_grace_days: 14,
  two_factor_from: '2026-12-05T08:00:00.000Z',
  max_token_life_days: 90,
}
export const EditPoliciesOption = request(
  {
    require_two_factor: optional(t.boolean),
    two_factor_grace_days: optional(int32(0, maxGraceDays)),
    max_token_life_days: optional(int32(0, maxTokenLifeDays)),
  },
  'EditPoliciesOption',
)

export const RobotAccount = answer(
  {
    id: SafeInteger,
    name: t.string,
    login: t.string,
    description: t.string,
    team_ids: t.readonlyArray(SafeInteger),
    created_at: Instant,
    active: t.boolean,
  },
  'RobotAccount',
)
export const robotExample = {
  id: 77,
  name: 'deployer',
  login: 'analytical-engines+deployer',
  description: 'Rolls out from the pipeline',
  team_ids: [40],
  created_at: '2026-11-21T08:00:00.000Z',
  active: true,
}
const robotTeams = optional(listOf(bodyId<TeamId>(), 50))
export const CreateRobotOption = request(
  { name: freeText(255), description: optional(textLines(255)), team_ids: robotTeams },
  'CreateRobotOption',
)
export const EditRobotOption = request(
  { description: optional(textLines(255)), team_ids: robotTeams, active: optional(t.boolean) },
  'EditRobotOption',
)

export const OrgInvitationPath = request({ orgname: PathName, id: pathId<InvitationId>() }, 'OrgInvitationPath')
export const InvitationTokenPath = request({ token: PathName }, 'InvitationTokenPath')
export const RobotPath = request({ orgname: PathName, robot: PathName }, 'RobotPath')
export const RobotTokenPath = request({ orgname: PathName, robot: PathName, id: pathId<TokenId>() }, 'RobotTokenPath')
export const robotInPath = { type: 'robot_ac', account: path('orgname'), name: path('robot') } as const
export const OrgPath = request({ orgname: PathName }, 'OrgPath')
export const organizationInPath = { type: 'organization', name: path('orgname') } as const
export const OrgMemberPath = request({ orgname: PathName, username: PathName }, 'OrgMemberPath')
export const OrgActionPath = request({ orgname: PathName, action: PathName }, 'OrgActionPath')
export const OrgTeamActionPath = request({ orgname: PathName, teamid: pathId<TeamId>(), action: PathName }, 'OrgTeamActionPath')
export const OrgTokenPath = request({ orgname: PathName, id: pathId<TokenId>() }, 'OrgTokenPath')
export const TeamPath = request({ teamid: pathId<TeamId>() }, 'TeamPath')
export const teamInPath = { type: 'team', id: path('teamid') } as const
export const TeamMemberPath = request({ teamid: pathId<TeamId>(), username: PathName }, 'TeamMemberPath')
export const UserPath = request({ username: PathName }, 'OrgUserPath')
export const UserOrgPath = request({ username: PathName, org: PathName }, 'UserOrgPath')
