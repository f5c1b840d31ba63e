import { PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong } from '../../../core/kernel/access.ts'
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
import { anyone, evenWhenBarred, memberOf, path, requires, requiresWithin, signedIn } from '../../kit/access.ts'
import { described, queryId, request } from '../../kit/codecs.ts'
import { empty, json, list, orRedirect, packed } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
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
const common = { tag, scopeCategory: 'organization' } as const
const failures = [OrganizationMissing, PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong] as const
const publicRoute = routesOf({ tag, access: anyone, failures })
const callerRoute = routesOf({ ...common, access: signedIn, servesConfined: true, failures })
const memberRoute = routesOf({ ...common, params: OrgMemberPath, failures: [MemberMissing] })
const tokenRoute = routesOf({ ...common, params: OrgPath })

export const listMembers = callerRoute({
  id: 'organizations.listMembers',
  method: 'GET',
  path: '/orgs/{orgname}/members',
  summary: 'List the members of an organization, by login',
  description: 'Outsiders see the public members only.',
  params: OrgPath,
  ok: packed(list(User, userExample)),
})

export const checkMember = callerRoute({
  id: 'organizations.checkMember',
  method: 'GET',
  path: '/orgs/{orgname}/members/{username}',
  summary: 'Check whether a user is a member',
  description:
    'Returns 204 if the user is a member, and 404 otherwise. Redirects outsiders to the public members with 302.',
  params: OrgMemberPath,
  ok: orRedirect(empty(204, 'The user is a member'), 302),
  failures: [MemberMissing],
})

export const setMembership = memberRoute({
  id: 'organizations.setMembership',
  method: 'PUT',
  path: '/orgs/{orgname}/memberships/{username}',
  summary: 'Make a user a member with a role',
  description:
    'The role determines the team: `owner` is the team Owners, `admin` a team of level admin, `member` any ' +
    'team below. A member with a higher role leaves the teams above the new role.',
  access: requires('can_add_member', organizationInPath),
  body: body(MembershipOption, { role: 'member' }),
  ok: json(200, OrgMembership, membershipExample),
  failures: [AccountNotEligible, BeyondOwnRights, OrganizationMissing, LastOwner, TeamNameTaken],
  statusOf: { TeamNameTaken: 409 },
})

export const removeMember = memberRoute({
  id: 'organizations.removeMember',
  method: 'DELETE',
  path: '/orgs/{orgname}/members/{username}',
  summary: 'Remove a member from an organization and all of its teams',
  description:
    'Members may remove themselves, even if they do not meet the entry requirements. To remove another ' +
    'member, the caller needs the right to remove members and a level above that of the member.',
  access: evenWhenBarred(requires('member', organizationInPath)),
  ok: empty(204),
  failures: [BeyondOwnRights, OrganizationMissing, LastOwner, PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong],
})

export const actOnMember = memberRoute({
  id: 'organizations.actOnMember',
  method: 'POST',
  path: '/orgs/{orgname}/members/action/{action}',
  summary: 'Make a membership public or private, remove a member, or leave',
  description:
    '`private`, `public`, `remove` and `leave` act on the user whose id is `uid`; for `leave` it must be the caller.',
  access: evenWhenBarred(memberOf(path('orgname'))),
  params: OrgActionPath,
  query: request(
    {
      uid: described(queryId('member'), 'The id of the member; for `leave` that of the caller.'),
    },
    'MemberActionQuery',
  ),
  ok: empty(200),
  failures: [
    MembershipActionUnknown,
    BeyondOwnRights,
    OrganizationMissing,
    LastOwner,
    PasskeyDemanded,
    SecondFactorDemanded,
    TokenLifeTooLong,
  ],
})

export const listPublicMembers = publicRoute({
  id: 'organizations.listPublicMembers',
  method: 'GET',
  path: '/orgs/{orgname}/public_members',
  summary: 'List the public members, by login',
  description: 'Needs no credential for a public organization. Members choose whether their membership is public.',
  params: OrgPath,
  ok: packed(list(User, userExample)),
})

export const checkPublicMember = publicRoute({
  id: 'organizations.checkPublicMember',
  method: 'GET',
  path: '/orgs/{orgname}/public_members/{username}',
  summary: 'Check whether a user is a public member: 204, or 404',
  description:
    'Returns 404 as well for a member whose membership is private, and for an organization that the caller may ' +
    'not see.',
  params: OrgMemberPath,
  ok: empty(204, 'The user is a public member'),
  failures: [MemberMissing],
})

export const publishMember = memberRoute({
  id: 'organizations.publishMember',
  method: 'PUT',
  path: '/orgs/{orgname}/public_members/{username}',
  summary: 'Make a membership public',
  description: 'Members decide this for themselves, and owners for every member.',
  access: requires('member', organizationInPath),
  ok: empty(204),
  failures: [BeyondOwnRights, OrganizationMissing, PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong],
})

export const concealMember = memberRoute({
  id: 'organizations.concealMember',
  method: 'DELETE',
  path: '/orgs/{orgname}/public_members/{username}',
  summary: 'Make a membership private',
  description:
    'Members decide this for themselves, and owners for every member. Outsiders then do not see the membership.',
  access: requires('member', organizationInPath),
  ok: empty(204),
  failures: [BeyondOwnRights, OrganizationMissing, PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong],
})

export const getMemberProfile = memberRoute({
  id: 'organizations.getMemberProfile',
  method: 'GET',
  path: '/orgs/{orgname}/user/{username}',
  summary: 'Get the profile of a member, for the other members',
  description: 'Needs membership in the organization. The address is a placeholder if the member hides it.',
  access: memberOf(path('orgname')),
  ok: json(200, Profile, profileExample),
})

export const listOrganizationTokens = tokenRoute({
  id: 'organizations.listTokens',
  method: 'GET',
  path: '/orgs/{orgname}/tokens/access-tokens',
  summary: 'List the access tokens that are confined to the organization',
  description: 'Tokens that are not confined to the organization are not listed.',
  access: requiresWithin('can_list_tokens', organizationInPath),
  ok: list(AccessTokenInfo, tokenInfoExample),
})

export const revokeOrganizationToken = tokenRoute({
  id: 'organizations.revokeToken',
  method: 'DELETE',
  path: '/orgs/{orgname}/tokens/access-tokens/{id}',
  summary: 'Revoke an access token that is confined to the organization',
  description:
    'The token is rejected from now on. Tokens that are not confined to the organization cannot be revoked here.',
  access: requiresWithin('can_delete_token', organizationInPath),
  params: OrgTokenPath,
  ok: empty(200),
  failures: [OrganizationTokenMissing],
  refusesSudo: true,
})
