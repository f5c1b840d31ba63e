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
import { read, requires, signedIn, write } from '../../kit/access.ts'
import { empty, json, list } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
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

export const inviteMember = defineRoute({
  id: 'organizations.inviteMember',
  method: 'POST',
  path: '/orgs/{orgname}/invitations',
  summary: 'Invite a person to an organization by mail',
  description:
    'The mail contains a link that is valid once, for seven days, for an account that has confirmed the address. The inviter must have every right that the invitation gives, both now and when it is accepted. A new invitation to the same address replaces the old one. The response does not show whether an account has the address. Returns 409 only for a member who shows the address.',
  tag,
  access: requires('can_add_member', organizationInPath),
  scope: write('organization'),
  params: OrgPath,
  body: body(CreateInvitationOption, { email: 'grace@example.org', role: 'member', team_ids: [40] }),
  ok: json(201, Invitation, invitationExample, 'Invited'),
  failures: [InvitationRefused, AlreadyMember, BeyondOwnRights, OrganizationMissing, TooManyInvitations],
})

export const listInvitations = defineRoute({
  id: 'organizations.listInvitations',
  method: 'GET',
  path: '/orgs/{orgname}/invitations',
  summary: 'List the pending invitations, newest first',
  tag,
  access: requires('can_add_member', organizationInPath),
  scope: read('organization'),
  params: OrgPath,
  ok: list(Invitation, invitationExample),
  failures: [],
})

export const withdrawInvitation = defineRoute({
  id: 'organizations.withdrawInvitation',
  method: 'DELETE',
  path: '/orgs/{orgname}/invitations/{id}',
  summary: 'Withdraw an invitation',
  tag,
  access: requires('can_add_member', organizationInPath),
  scope: write('organization'),
  params: OrgInvitationPath,
  ok: empty(204),
  failures: [InvitationMissing],
})

export const getOwnInvitation = defineRoute({
  id: 'organizations.getOwnInvitation',
  method: 'GET',
  path: '/user/invitations/{token}',
  summary: 'Get the invitation of a link',
  description: 'Returns 403 unless the caller has confirmed the invited address.',
  tag,
  access: signedIn,
  scope: read('user'),
  params: InvitationTokenPath,
  ok: json(200, OwnInvitation, ownInvitationExample),
  failures: [InvitationGone, InvitationForAnother],
})

export const acceptInvitation = defineRoute({
  id: 'organizations.acceptInvitation',
  method: 'PUT',
  path: '/user/invitations/{token}',
  summary: 'Accept an invitation',
  description: "Returns 410 if the invitation has expired, was withdrawn or used, or gives rights that the inviter no longer has.",
  tag,
  access: signedIn,
  scope: write('user'),
  params: InvitationTokenPath,
  ok: empty(204),
  failures: [InvitationGone, InvitationForAnother, AlreadyMember, TeamNameTaken],
  statusOf: { TeamNameTaken: 409 },
})
