import { right } from 'fp-ts/lib/Either.js'
import { AllowancesPort } from '../../../core/identity/attempt-ports.ts'
import { IdentitySettingsPort } from '../../../core/identity/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { PermissionLevelsPort } from '../../../core/kernel/rights.ts'
import {
  makeAcceptInvitation,
  makeShowInvitation,
  makeInviteMember,
  makeWithdrawInvitation,
} from '../../../core/organizations/invitations/invitations.ts'
import type { AddressReader, Invitation } from '../../../core/organizations/invitations/ports.ts'
import {
  AddressReaderPort,
  InvitationStorePort,
  InvitationTokensPort,
} from '../../../core/organizations/invitations/ports.ts'
import { OrganizationStorePort, OrganizationUnitOfWorkPort } from '../../../core/organizations/ports.ts'
import { orgOf } from '../../kit/access.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { organizationWire } from '../organizations/organization-wire.ts'
import {
  acceptInvitation,
  getOwnInvitation,
  inviteMember,
  listInvitations,
  withdrawInvitation,
} from './invitations.routes.ts'

const invitationWire = (addresses: AddressReader) => (invitation: Invitation) => ({
  id: invitation.id,
  email: invitation.address.text,
  display_email: addresses.readable(invitation.address.text),
  role: invitation.role,
  team_ids: invitation.teamIds,
  inviter: invitation.inviterLogin,
  created_at: invitation.createdAt,
  expires_at: invitation.expiresAt,
})

export const invitationGroup = defineGroup({
  needs: {
    invitations: InvitationStorePort,
    invitationTokens: InvitationTokensPort,
    organizations: OrganizationStorePort,
    addresses: AddressReaderPort,
    allowances: AllowancesPort,
    unitOfWork: OrganizationUnitOfWorkPort,
    catalogue: PermissionLevelsPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const toOrganization = organizationWire(given)
    const toWire = invitationWire(given.addresses)
    return [
      handle(inviteMember, makeInviteMember({ ...given, baseUrl: () => given.identitySettings.baseUrl() }), {
        input: ({ grant, body }) => ({
          orgId: orgOf(grant),
          email: body.email,
          role: body.role,
          teamIds: body.team_ids ?? [],
        }),
        reply: toWire,
      }),
      handle(
        listInvitations,
        async (_call, { grant, page }) => right(await given.invitations.list(orgOf(grant), given.clock.now(), page)),
        { reply: toWire },
      ),
      handle(withdrawInvitation, makeWithdrawInvitation(given), {
        input: ({ grant, params }) => ({ orgId: orgOf(grant), id: params.id }),
      }),
      handle(getOwnInvitation, makeShowInvitation(given), {
        input: ({ params }) => params.token,
        reply: ({ invitation, organization }, asked) => ({
          org: toOrganization(organization, asked),
          email: invitation.address.text,
          display_email: given.addresses.readable(invitation.address.text),
          role: invitation.role,
          inviter: invitation.inviterLogin,
          expires_at: invitation.expiresAt,
        }),
      }),
      handle(acceptInvitation, makeAcceptInvitation(given), { input: ({ params }) => params.token }),
    ]
  },
})
