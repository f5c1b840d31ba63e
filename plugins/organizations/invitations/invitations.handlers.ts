import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { TeamId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { makeAcceptInvitation, makeShowInvitation } from '../../../core/organizations/invitations/acceptance.ts'
import type { Invitation, InvitationId } from '../../../core/organizations/invitations/ports.ts'
import { makeInviteMember, makeWithdrawInvitation } from '../../../core/organizations/invitations/invitations.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import { acceptInvitation, getOwnInvitation, inviteMember, listInvitations, withdrawInvitation } from './invitations.routes.ts'
import type { OrganizationGiven } from '../needs.ts'
import { organizationWire } from '../organizations/organization-wire.ts'
import { orgOf } from '../organizations/organizations.handlers.ts'

const invitationWire = (invitation: Invitation) => ({
  id: invitation.id,
  email: invitation.address.text,
  role: invitation.role,
  team_ids: invitation.teamIds,
  inviter: invitation.inviterLogin,
  created_at: invitation.createdAt.toISOString(),
  expires_at: invitation.expiresAt.toISOString(),
})

export const invitationRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const invite = makeInviteMember({ ...given, baseUrl: () => given.identitySettings.baseUrl() })
  const withdraw = makeWithdrawInvitation(given)
  const show = makeShowInvitation(given)
  const accept = makeAcceptInvitation(given)
  return [
    handleChange(inviteMember, invitationWire, ({ call, grant, body }) => {
      const teamIds = (body.team_ids ?? []).map((id) => id as TeamId)
      return invite(call, orgOf(grant), { email: body.email, role: body.role, teamIds })
    }),
    handle(listInvitations, async ({ grant, page }) =>
      right(mapPage(await given.invitations.list(orgOf(grant), given.clock.now(), page), invitationWire)),
    ),
    handle(withdrawInvitation, ({ call, grant, params }) => withdraw(call, orgOf(grant), params.id as InvitationId)),
    handle(getOwnInvitation, async ({ call, params }) => {
      const shown = await show(call, params.token)
      if (isLeft(shown)) return shown
      const { invitation, organization } = shown.right
      return right({
        org: organizationWire(given, call, organization),
        email: invitation.address.text,
        role: invitation.role,
        inviter: invitation.inviterLogin,
        expires_at: invitation.expiresAt.toISOString(),
      })
    }),
    handle(acceptInvitation, ({ call, params }) => accept(call, params.token)),
  ]
}
