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
  summary: 'Invite somebody to an organization by mail',
  description:
    'The mail carries a link that works once, for seven days, for an account that has confirmed the address. Nobody invites to more than they could give themselves, then or when the invitation is accepted. A new invitation to the same address takes the place of the old one. The answer does not tell whether an account has the address; 409 only for a member who shows it.',
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
  summary: 'List the invitations that nobody answered yet, newest first',
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
  summary: 'Take an invitation back',
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
  summary: 'Show the invitation that a link stands for',
  description: 'For an account that has confirmed the invited address; others are told 403.',
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
  description: "410 when it has expired, was withdrawn or used, or is no longer the inviter's to give.",
  tag,
  access: signedIn,
  scope: write('user'),
  params: InvitationTokenPath,
  ok: empty(204),
  failures: [InvitationGone, InvitationForAnother, AlreadyMember, TeamNameTaken],
  statusOf: { TeamNameTaken: 409 },
})
