import { NotAuthenticated } from '../../../core/identity/ports.ts'
import {
  AlreadyMember,
  BeyondOwnRights,
  InvitationForAnother,
  InvitationGone,
  InvitationMissing,
  InvitationRefused,
  OrganizationMissing,
  TooManyInvitations,
} from '../../../core/organizations/failures.ts'
import { TeamNameTaken } from '../../../core/organizations/ports.ts'
import { requires, signedIn } from '../../kit/access.ts'
import { empty, json, list, packed } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import {
  CreateInvitationOption,
  Invitation,
  invitationExample,
  InvitationTokenPath,
  organizationInPath,
  OrgInvitationPath,
  OrgPath,
  OwnInvitation,
  ownInvitationExample,
} from '../codecs.ts'

const tag = 'Identity - Organizations & Teams'
const route = routesOf({
  tag,
  access: requires('can_add_member', organizationInPath),
  scopeCategory: 'organization',
  params: OrgPath,
})
const invitedRoute = routesOf({
  tag,
  access: signedIn,
  scopeCategory: 'user',
  params: InvitationTokenPath,
  failures: [InvitationGone, InvitationForAnother],
})

export const inviteMember = route({
  id: 'organizations.inviteMember',
  method: 'POST',
  path: '/orgs/{orgname}/invitations',
  summary: 'Invite a person to an organization by mail',
  description:
    'The mail contains a link that is valid once, for seven days, for an account that has confirmed the ' +
    'address. The inviter must have every right that the invitation gives, both now and when it is ' +
    'accepted. A new invitation to the same address replaces the old one. The response does not show ' +
    'whether an account has the address. Returns 409 only for a member who shows the address.',
  body: body(CreateInvitationOption, { email: 'grace@example.org', role: 'member', team_ids: [40] }),
  ok: json(201, Invitation, invitationExample, 'Invited'),
  failures: [
    InvitationRefused,
    AlreadyMember,
    BeyondOwnRights,
    OrganizationMissing,
    TooManyInvitations,
    NotAuthenticated,
  ],
})

export const listInvitations = route({
  id: 'organizations.listInvitations',
  method: 'GET',
  path: '/orgs/{orgname}/invitations',
  summary: 'List the pending invitations, newest first',
  description: 'Invitations that were accepted, withdrawn or have expired are not listed.',
  ok: packed(list(Invitation, invitationExample)),
})

export const withdrawInvitation = route({
  id: 'organizations.withdrawInvitation',
  method: 'DELETE',
  path: '/orgs/{orgname}/invitations/{id}',
  summary: 'Withdraw an invitation',
  description: 'Its link is rejected from now on.',
  params: OrgInvitationPath,
  ok: empty(204),
  failures: [InvitationMissing],
})

export const getOwnInvitation = invitedRoute({
  id: 'organizations.getOwnInvitation',
  method: 'GET',
  path: '/user/invitations/{token}',
  summary: 'Get the invitation of a link',
  description: 'Returns 403 unless the caller has confirmed the invited address.',
  ok: json(200, OwnInvitation, ownInvitationExample),
})

export const acceptInvitation = invitedRoute({
  id: 'organizations.acceptInvitation',
  method: 'PUT',
  path: '/user/invitations/{token}',
  summary: 'Accept an invitation',
  description:
    'Returns 410 if the invitation has expired, was withdrawn or used, or gives rights that the inviter no longer has.',
  ok: empty(204),
  failures: [AlreadyMember, TeamNameTaken],
  statusOf: { TeamNameTaken: 409 },
})
