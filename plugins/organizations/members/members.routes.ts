import { SecondFactorDemanded, TokenLifeTooLong } from '../../../core/kernel/access.ts'
import {
  AccountNotEligible,
  BeyondOwnRights,
  LastOwner,
  MemberMissing,
  MembershipActionUnknown,
  OrganizationMissing,
  OrganizationTokenMissing,
} from '../../../core/organizations/failures.ts'
import { TeamNameTaken } from '../../../core/organizations/ports.ts'
import { Profile, User, userExample } from '../../identity/codecs.ts'
import { anyone, evenWhenBarred, memberOf, path, read, requires, requiresWithin, signedIn, write } from '../../kit/access.ts'
import { QueryId, request } from '../../kit/codecs.ts'
import { empty, json, list, orRedirect } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import {
  AccessTokenInfo,
  membershipExample,
  MembershipOption,
  OrgActionPath,
  organizationInPath,
  OrgMemberPath,
  OrgMembership,
  OrgPath,
  OrgTokenPath,
  profileExample,
  tokenInfoExample,
} from '../codecs.ts'

const tag = 'Identity - Organizations & Teams'

export const listMembers = defineRoute({
  id: 'organizations.listMembers',
  method: 'GET',
  path: '/orgs/{orgname}/members',
  summary: 'List the members of an organization, by login',
  description: 'Outsiders see the public members only.',
  tag,
  access: signedIn,
  servesConfined: true,
  scope: read('organization'),
  params: OrgPath,
  ok: list(User, userExample),
  failures: [OrganizationMissing, SecondFactorDemanded, TokenLifeTooLong],
})

export const checkMember = defineRoute({
  id: 'organizations.checkMember',
  method: 'GET',
  path: '/orgs/{orgname}/members/{username}',
  summary: 'Check whether a user is a member',
  description: 'Returns 204 if the user is a member, and 404 otherwise. Redirects outsiders to the public members with 302.',
  tag,
  access: signedIn,
  servesConfined: true,
  scope: read('organization'),
  params: OrgMemberPath,
  ok: orRedirect(empty(204, 'The user is a member'), 302),
  failures: [OrganizationMissing, MemberMissing, SecondFactorDemanded, TokenLifeTooLong],
})

export const setMembership = defineRoute({
  id: 'organizations.setMembership',
  method: 'PUT',
  path: '/orgs/{orgname}/memberships/{username}',
  summary: 'Make a user a member with a role',
  description:
    'The role determines the team: `owner` is the team Owners, `admin` a team of level admin, `member` any team below. A member with a higher role leaves the teams above the new role.',
  tag,
  access: requires('can_add_member', organizationInPath),
  scope: write('organization'),
  params: OrgMemberPath,
  body: body(MembershipOption, { role: 'member' }),
  ok: json(200, OrgMembership, membershipExample),
  failures: [MemberMissing, AccountNotEligible, BeyondOwnRights, OrganizationMissing, LastOwner, TeamNameTaken],
  statusOf: { TeamNameTaken: 409 },
})

export const removeMember = defineRoute({
  id: 'organizations.removeMember',
  method: 'DELETE',
  path: '/orgs/{orgname}/members/{username}',
  summary: 'Remove a member from an organization and all of its teams',
  description: 'Members may remove themselves, even if they do not meet the entry requirements. To remove another member, the caller needs the right to remove members and a level above that of the member.',
  tag,
  access: evenWhenBarred(requires('member', organizationInPath)),
  scope: write('organization'),
  params: OrgMemberPath,
  ok: empty(204),
  failures: [MemberMissing, BeyondOwnRights, OrganizationMissing, LastOwner, SecondFactorDemanded, TokenLifeTooLong],
})

export const actOnMember = defineRoute({
  id: 'organizations.actOnMember',
  method: 'POST',
  path: '/orgs/{orgname}/members/action/{action}',
  summary: 'Make a membership public or private, remove a member, or leave',
  description: '`private`, `public`, `remove` and `leave` act on the user whose id is `uid`; for `leave` it must be the caller.',
  tag,
  access: evenWhenBarred(memberOf(path('orgname'))),
  scope: write('organization'),
  params: OrgActionPath,
  query: request({ uid: QueryId }, 'MemberActionQuery'),
  ok: empty(200),
  failures: [MembershipActionUnknown, MemberMissing, BeyondOwnRights, OrganizationMissing, LastOwner, SecondFactorDemanded, TokenLifeTooLong],
})

export const listPublicMembers = defineRoute({
  id: 'organizations.listPublicMembers',
  method: 'GET',
  path: '/orgs/{orgname}/public_members',
  summary: 'List the public members, by login',
  tag,
  access: anyone,
  params: OrgPath,
  ok: list(User, userExample),
  failures: [OrganizationMissing, SecondFactorDemanded, TokenLifeTooLong],
})

export const checkPublicMember = defineRoute({
  id: 'organizations.checkPublicMember',
  method: 'GET',
  path: '/orgs/{orgname}/public_members/{username}',
  summary: 'Check whether a user is a public member: 204, or 404',
  tag,
  access: anyone,
  params: OrgMemberPath,
  ok: empty(204, 'The user is a public member'),
  failures: [OrganizationMissing, MemberMissing, SecondFactorDemanded, TokenLifeTooLong],
})

export const publishMember = defineRoute({
  id: 'organizations.publishMember',
  method: 'PUT',
  path: '/orgs/{orgname}/public_members/{username}',
  summary: 'Make a membership public',
  tag,
  access: requires('member', organizationInPath),
  scope: write('organization'),
  params: OrgMemberPath,
  ok: empty(204),
  failures: [MemberMissing, BeyondOwnRights, OrganizationMissing, SecondFactorDemanded, TokenLifeTooLong],
})

export const concealMember = defineRoute({
  id: 'organizations.concealMember',
  method: 'DELETE',
  path: '/orgs/{orgname}/public_members/{username}',
  summary: 'Make a membership private',
  tag,
  access: requires('member', organizationInPath),
  scope: write('organization'),
  params: OrgMemberPath,
  ok: empty(204),
  failures: [MemberMissing, BeyondOwnRights, OrganizationMissing, SecondFactorDemanded, TokenLifeTooLong],
})

export const getMemberProfile = defineRoute({
  id: 'organizations.getMemberProfile',
  method: 'GET',
  path: '/orgs/{orgname}/user/{username}',
  summary: "Get the profile of a member, for the other members",
  tag,
  access: memberOf(path('orgname')),
  scope: read('organization'),
  params: OrgMemberPath,
  ok: json(200, Profile, profileExample),
  failures: [MemberMissing],
})

export const listOrganizationTokens = defineRoute({
  id: 'organizations.listTokens',
  method: 'GET',
  path: '/orgs/{orgname}/tokens/access-tokens',
  summary: 'List the access tokens that are confined to the organization',
  description: "Tokens that are not confined to the organization are not listed.",
  tag,
  access: requiresWithin('can_list_tokens', organizationInPath),
  scope: read('organization'),
  params: OrgPath,
  ok: list(AccessTokenInfo, tokenInfoExample),
  failures: [],
})

export const revokeOrganizationToken = defineRoute({
  id: 'organizations.revokeToken',
  method: 'DELETE',
  path: '/orgs/{orgname}/tokens/access-tokens/{id}',
  summary: 'Revoke an access token that is confined to the organization',
  tag,
  access: requiresWithin('can_delete_token', organizationInPath),
  scope: write('organization'),
  params: OrgTokenPath,
  ok: empty(200),
  failures: [OrganizationTokenMissing],
  refusesSudo: true,
})
