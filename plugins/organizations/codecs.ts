import { accountNameRule } from '../../core/kernel/ids.ts'
import * as t from 'io-ts'
import type { RoleId, TeamId, TokenId } from '../../core/kernel/ids.ts'
import type { InvitationId } from '../../core/organizations/invitations/ports.ts'
import { maxGraceDays, maxTokenLifeDays } from '../../core/organizations/organizations/policies.ts'
import { User, userExample } from '../identity/codecs.ts'
import { path } from '../kit/access.ts'
import {
  answer,
  bodyId,
  described,
  FreeObjectCodec,
  freeText,
  Instant,
  int32,
  linePattern,
  listOf,
  naming,
  noted,
  oneOf,
  optional,
  OrgPathName,
  pathId,
  PathName,
  pathName,
  patternText,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'
import { exampleOf, inOrder, sentProps, shownProps } from '../kit/fields.ts'
import { organizationFields } from './organizations/organization-fields.ts'

export const Organization = answer(
  inOrder(
    {
      id: described(SafeInteger, 'The id of the organization, from 1; it never changes and is never used again.'),
      name: described(
        t.string,
        'The name of the organization, unique among users and organizations without regard to case.',
      ),
      username: described(t.string, 'The same as `name`.'),
      ...shownProps(organizationFields, 'owner'),
      avatar_url: described(t.string, 'The URL of the picture, which needs no credential.'),
      orgType: described(
        SafeInteger,
        'The kind as a number; 0 for an ordinary organization, 2 for a client organization.',
      ),
      repo_admin_change_team_access: described(t.boolean, 'Always false: this service does not store repositories.'),
    },
    'id',
    'name',
    'username',
    'full_name',
    'email',
    'avatar_url',
  ),
  'Organization',
)
export type OrganizationBody = t.TypeOf<typeof Organization>

export const organizationExample: OrganizationBody = {
  id: 12,
  name: 'analytical-engines',
  username: 'analytical-engines',
  ...exampleOf(organizationFields, 'owner'),
  avatar_url: 'https://platform.example/api/v1/avatars/drawn/analytical-engines',
  orgType: 0,
  repo_admin_change_team_access: false,
}

export const Team = answer(
  {
    id: described(SafeInteger, 'The id of the team, from 1.'),
    name: described(t.string, 'The name of the team, unique in the organization without regard to case.'),
    description: described(t.string, 'The text about the team; empty if not set.'),
    organization: described(Organization, 'The organization of the team.'),
    permission: noted(t.string, {
      description:
        'The level; `read` for a team that has only the permissions of its roles, for clients that know no other word.',
    }),
    is_custom: noted(t.boolean, {
      description: 'Whether the team has only the permissions of its roles, and no level.',
    }),
    units: described(t.readonlyArray(t.string), 'Always empty: this service has no units of repositories.'),
    units_map: described(FreeObjectCodec, 'Always empty: this service has no units of repositories.'),
    includes_all_repositories: described(t.boolean, 'Always false: this service does not store repositories.'),
    can_create_org_repo: described(t.boolean, 'Always false: repositories cannot be created here.'),
    type: described(t.string, 'The type of the team: `kubernetes`, or empty.'),
    role_ids: described(
      t.readonlyArray(SafeInteger),
      'The ids of the custom roles that the team gives to its members.',
    ),
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

const profile = inOrder(
  {
    ...sentProps(organizationFields),
    orgType: described(
      optional(t.union([freeText(32), SafeInteger])),
      'Accepted for older clients: a word without effect, or the number that answers show; `client` and any other ' +
        'number are refused.',
    ),
  },
  'full_name',
  'email',
  'description',
  'website',
  'location',
  'visibility',
  'orgType',
)
/** Other texts decode too, so that the rule can say what is wrong with them. A missing name is answered with the rule. */
const NewName = patternText(linePattern, 255, `a name of ${accountNameRule}`)

export const CreateOrgOption = request(
  {
    username: described(
      NewName,
      'The name of the new organization, unique among users and organizations without regard to case.',
    ),
    ...profile,
  },
  'CreateOrgOption',
)
export const EditOrgOption = request(profile, 'EditOrgOption')
export const RenameOrgOption = request(
  {
    new_name: described(NewName, 'The new name, unique among users and organizations without regard to case.'),
  },
  'RenameOrgOption',
)

const team = {
  description: described(
    optional(textLines(255)),
    'A text about the team, at most 255 characters, with line breaks; absent: empty for a new team, else unchanged.',
  ),
  assignedRoleIDs: described(
    optional(listOf(bodyId<RoleId>(), 500)),
    'The ids of custom roles of the organization that the team gives, at most 50; absent: none for a new team, ' +
      'else unchanged; empty: none.',
  ),
  type: described(
    optional(freeText(32)),
    'The type of the team: `kubernetes` or empty; absent: `kubernetes` for a new team, else unchanged.',
  ),
  is_custom: optional(
    noted(t.boolean, {
      description:
        'true: the team has only the permissions of its roles, as with the permission `custom`; false: it ' +
        'has the level of `permission`. Without it, `read` does not change the permission of a custom team.',
    }),
  ),
}
export const CreateTeamOption = request(
  {
    name: described(
      freeText(255),
      'The name of the team, 1 to 255 letters, digits, `-`, `_` or `.`; unique in the organization without ' +
        'regard to case.',
    ),
    permission: described(
      optional(oneOf('', 'none', 'read', 'write', 'admin', 'custom')),
      'The level of the team, or `custom` for only the permissions of its roles; absent or empty: `custom` if it ' +
        'has roles, else `read`.',
    ),
    ...team,
  },
  'CreateTeamOption',
)
export const EditTeamOption = request(
  {
    name: described(
      optional(freeText(255)),
      'The new name, 1 to 255 letters, digits, `-`, `_` or `.`; absent or empty: unchanged.',
    ),
    permission: described(
      optional(oneOf('', 'none', 'read', 'write', 'admin', 'owner', 'custom')),
      'The level of the team, or `custom` for only the permissions of its roles; `owner` only for the team ' +
        'Owners; absent or empty: unchanged.',
    ),
    ...team,
  },
  'EditTeamOption',
)

export const MembershipOption = request(
  {
    role: described(
      oneOf('member', 'admin', 'owner'),
      'The role of the member, which determines the team: `owner` Owners, `admin` a team of level admin, ' +
        '`member` any team below.',
    ),
  },
  'MembershipOption',
)
export const OrgMembership = answer(
  {
    user: described(User, 'The member.'),
    org: described(Organization, 'The organization.'),
    role: described(t.string, 'The role of the member in the organization: `member`, `admin` or `owner`.'),
    state: described(t.string, 'Always `active`.'),
  },
  'OrgMembership',
)
export const membershipExample = { user: userExample, org: organizationExample, role: 'member', state: 'active' }

export const OrganizationPermissions = answer(
  {
    is_owner: described(t.boolean, 'Whether the user is an owner of the organization.'),
    is_admin: described(t.boolean, 'Whether the level of the user is at least admin.'),
    can_write: described(t.boolean, 'Whether the level of the user is at least write.'),
    can_read: described(t.boolean, 'Whether the level of the user is at least read.'),
    can_create_repository: described(t.boolean, 'Always false: this service does not store repositories.'),
  },
  'OrganizationPermissions',
)
export const permissionsExample = {
  is_owner: false,
  is_admin: false,
  can_write: true,
  can_read: true,
  can_create_repository: false,
}

export const TeamSearchResult = answer(
  {
    ok: described(t.boolean, 'Always true.'),
    data: described(t.array(Team), 'The teams of the page.'),
  },
  'TeamSearchResult',
)

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
    id: described(SafeInteger, 'The id of the token, from 1.'),
    uid: described(SafeInteger, 'The id of the user who owns the token.'),
    name: described(t.string, 'The name of the token, unique among the tokens of its owner.'),
    token: described(t.string, 'Always empty: the value is shown only to its owner, at creation.'),
    tokenLastEight: described(t.string, 'The last eight characters of the value, to recognize the token.'),
    createdAt: described(SafeInteger, 'The creation of the token, in seconds since the epoch.'),
    updatedAt: described(
      SafeInteger,
      'The last use of the token, or its creation if it was never used, in seconds since the epoch.',
    ),
    hasRecentActivity: described(t.boolean, 'Whether the token was used within the last seven days.'),
    hasUsed: described(t.boolean, 'Whether the token was ever used.'),
    expDate: described(SafeInteger, 'The end of the token, in seconds since the epoch; 0 if it does not expire.'),
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
  {
    email: described(freeText(254), 'The address that gets the invitation, at most 254 characters.'),
    role: described(
      oneOf('member', 'admin', 'owner'),
      'The role that the invited person gets: `member`, `admin` or `owner`.',
    ),
    team_ids: described(
      optional(listOf(bodyId<TeamId>(), 50)),
      'The ids of teams of the organization that the person joins as well, at most 50; none by default.',
    ),
  },
  'CreateInvitationOption',
)
export const Invitation = answer(
  {
    id: described(SafeInteger, 'The id of the invitation, from 1.'),
    email: described(t.string, 'The invited address. An internationalized domain is in ASCII.'),
    display_email: described(
      t.string,
      'The invited address for people to read: an internationalized domain is in Unicode.',
    ),
    role: described(t.string, 'The role that the invited person gets: `member`, `admin` or `owner`.'),
    team_ids: described(t.readonlyArray(SafeInteger), 'The ids of the teams that the person joins as well.'),
    inviter: described(t.string, 'The name of the user who sent the invitation.'),
    created_at: described(Instant, 'When the invitation was sent, RFC 3339 in UTC.'),
    expires_at: described(Instant, 'The end of the invitation, RFC 3339 in UTC.'),
  },
  'Invitation',
)
export const invitationExample = {
  id: 9,
  email: 'grace@example.org',
  display_email: 'grace@example.org',
  role: 'member',
  team_ids: [40],
  inviter: 'ada',
  created_at: '2026-11-21T08:00:00.000Z',
  expires_at: '2026-11-28T08:00:00.000Z',
}
/** An invitation as shown to the invited user. */
export const OwnInvitation = answer(
  {
    org: described(Organization, 'The organization that invites.'),
    email: described(t.string, 'The invited address. An internationalized domain is in ASCII.'),
    display_email: described(
      t.string,
      'The invited address for people to read: an internationalized domain is in Unicode.',
    ),
    role: described(t.string, 'The role that the invited person gets: `member`, `admin` or `owner`.'),
    inviter: described(t.string, 'The name of the user who sent the invitation.'),
    expires_at: described(Instant, 'The end of the invitation, RFC 3339 in UTC.'),
  },
  'OwnInvitation',
)
export const ownInvitationExample = {
  org: organizationExample,
  email: 'grace@example.org',
  display_email: 'grace@example.org',
  role: 'member',
  inviter: 'ada',
  expires_at: '2026-11-28T08:00:00.000Z',
}

/**
 * `two_factor_from` is present while a second factor is required. From that instant members without one are refused.
 */
export const OrgPolicies = answer(
  {
    require_two_factor: described(t.boolean, 'Whether members must have a second factor.'),
    two_factor_grace_days: described(SafeInteger, 'The days between the requirement and its enforcement, 0 to 90.'),
    two_factor_from: described(
      optional(Instant),
      'When members without a second factor are refused, RFC 3339 in UTC; absent if none is required.',
    ),
    max_token_life_days: described(SafeInteger, 'The longest life of an access token in days; 0 for no limit.'),
    require_passkey: described(t.boolean, 'Whether members must sign in with a passkey.'),
  },
  'OrgPolicies',
)
export const policiesExample = {
  require_two_factor: true,
  two_factor_grace_days: 14,
  two_factor_from: '2026-12-05T08:00:00.000Z',
  max_token_life_days: 90,
  require_passkey: false,
}
export const EditPoliciesOption = request(
  {
    require_two_factor: described(optional(t.boolean), 'Whether members must have a second factor; absent: unchanged.'),
    two_factor_grace_days: described(
      optional(int32(0, maxGraceDays)),
      'The days between the requirement and its enforcement, 0 to 90; absent: unchanged.',
    ),
    max_token_life_days: described(
      optional(int32(0, maxTokenLifeDays)),
      'The longest life of an access token in days, 1 to 3,650, or 0 for no limit; absent: unchanged.',
    ),
    require_passkey: described(optional(t.boolean), 'Whether members must sign in with a passkey; absent: unchanged.'),
  },
  'EditPoliciesOption',
)

const TeamPathId = described(pathId<TeamId>('team'), 'The id of the team, from 1.')

export const OrgInvitationPath = request(
  {
    orgname: OrgPathName,
    id: described(pathId<InvitationId>('invitation'), 'The id of the invitation to withdraw, from 1.'),
  },
  'OrgInvitationPath',
)
export const InvitationTokenPath = request(
  {
    token: described(naming(PathName, 'invitation', 'token'), "The secret from the link of the invitation's mail."),
  },
  'InvitationTokenPath',
)
export const OrgPath = request({ orgname: OrgPathName }, 'OrgPath')
export const organizationInPath = { type: 'organization', name: path('orgname') } as const
const MemberPathName = described(pathName('member'), 'The name of the user, without regard to case.')
export const OrgMemberPath = request({ orgname: OrgPathName, username: MemberPathName }, 'OrgMemberPath')
export const OrgActionPath = request(
  {
    orgname: OrgPathName,
    action: described(
      pathName('membership action'),
      'What is done to the membership: `private`, `public`, `remove` or `leave`.',
    ),
  },
  'OrgActionPath',
)
export const OrgTeamActionPath = request(
  {
    orgname: OrgPathName,
    teamid: TeamPathId,
    action: described(
      pathName('team action'),
      'What is done to the membership in the team: `join`, `leave`, `add` or `remove`.',
    ),
  },
  'OrgTeamActionPath',
)
export const OrgTokenPath = request(
  {
    orgname: OrgPathName,
    id: described(pathId<TokenId>('token'), 'The id of the token to revoke, from 1.'),
  },
  'OrgTokenPath',
)
export const TeamPath = request({ teamid: TeamPathId }, 'TeamPath')
export const teamInPath = { type: 'team', id: path('teamid') } as const
export const TeamMemberPath = request({ teamid: TeamPathId, username: MemberPathName }, 'TeamMemberPath')
const UserPathName = described(pathName('user'), 'The name of the user, without regard to case.')
export const UserPath = request({ username: UserPathName }, 'OrgUserPath')
export const UserOrgPath = request(
  {
    username: UserPathName,
    org: described(pathName('organization'), 'The name of an organization, without regard to case.'),
  },
  'UserOrgPath',
)
